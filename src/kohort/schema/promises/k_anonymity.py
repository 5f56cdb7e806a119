"""k-anonymity (Sweeney 2002): the promise that applies to every row."""

from __future__ import annotations

from pydantic import Field

from kohort.schema.promises.definition import Definition, Parameters

DEFINITION = Definition(
    name="k",
    paper="Sweeney, k-anonymity: a model for protecting privacy, 2002",
    parameters="k >= 2",
    needs=("size",),
    growing_keeps=True,
)


class KAnonymity(Parameters):
    """The parameter k."""

    k: int = Field(default=5, ge=2, lt=1 << 31)
