"""What is promised: pure definitions. Whether a group of rows keeps a promise is asked of `checks`."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field


@dataclass(frozen=True, kw_only=True)
class Definition:
    """One kind of promise: what it means, where it comes from, and what a check must know of a group."""

    name: str
    meaning: str
    paper: str
    needs: tuple[str, ...]
    merging_keeps: bool
    """Two groups that may stand may stand as one."""


DEFINITIONS: dict[str, Definition] = {
    definition.name: definition
    for definition in (
        Definition(
            name="k",
            meaning="every published combination of quasi-identifiers is shared by at least k records",
            paper="Sweeney, k-anonymity: a model for protecting privacy, 2002",
            needs=("size",),
            merging_keeps=True,
        ),
    )
}


class Promise(BaseModel):
    """The promises of one job and their parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    k: int = Field(default=5, ge=2, description=DEFINITIONS["k"].meaning)
