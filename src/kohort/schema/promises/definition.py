"""Base classes of promises: a promise has a name, a paper, parameters, and a fast check that the search uses.

Each promise has its own file. It defines its parameters (`Parameters`) and those parts of the fast check (`Definition`) that it
needs. The audit repeats every check with separate SQL (`kohort.auditor.promise_checks`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

Shares = NDArray[np.float64]
"""Per value of a sensitive column: a share between 0 and 1."""


class Parameters(BaseModel):
    """The parameters of one promise, as settings of a job. None means that the promise is not made."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True, eq=False)
class TableCounts:
    """The values of one sensitive column in the whole table. They show which promises not even a single group can keep."""

    column: str
    counts: NDArray[np.int64]
    """Per value: the number of rows (or people) with this value."""
    size: int
    """The number of rows (or people) in the table."""
    who: str
    """What is counted: `rows` or `persons`."""
    limits: Shares
    """Per value: the largest share that alpha allows."""

    @property
    def counted(self) -> str:
        """What is counted, in the words of messages."""
        return "people" if self.who == "persons" else self.who

    @property
    def values(self) -> str:
        """The number of different values, in words."""
        return "only one value" if len(self.counts) == 1 else f"{len(self.counts)} different values"

    @property
    def cannot_be_kept(self) -> str:
        """The middle of a message that starts with a promise."""
        return f"cannot be kept for column {self.column!r}:"


NO_WAY_OUT = " No release can keep this promise for this column. Drop the column, or set another promise."


@dataclass(frozen=True, kw_only=True)
class Definition:
    """One promise: its source, and what a check of a group needs. `kohort.schema.setting_texts` says what it means."""

    name: str
    paper: str
    parameters: str
    needs: tuple[str, ...]
    """Statistics of a group that the check needs: size, counts (of each sensitive value), shares (in the whole table)."""
    merging_keeps: bool = True
    """Whether the union of two valid groups is always valid. Generalising merges groups, so it then keeps the promise."""
    growing_keeps: bool = False
    """Whether a valid group is still valid after any row is added. If people have several rows, merging two valid groups keeps
    only such promises: people with rows in both groups count once in the merged group, so shares can increase.
    """
    column_rules: Callable[[Any], Mapping[str, float]] | None = None
    """Fast check of a column: returns the numbers of the promise by their names in `kohort.kernels.core.promise_rules`."""
    bounds: Callable[[Any, Shares], tuple[Shares, Shares]] | None = None
    """Fast check of each value: takes its share in the table, returns its largest and smallest valid share in a group."""
    distinct: Callable[[Any, int], int] | None = None
    """Takes the number of different values in the table, returns how many different values a group must have."""
    shortfall: Callable[[Any, TableCounts], list[str]] | None = None
    """Returns why the whole table as one group does not keep the promise, and what it could keep; empty if it does."""

    @property
    def limits_shares(self) -> bool:
        """Whether the fast check needs the share of each value in a group."""
        return self.column_rules is not None or self.bounds is not None
