"""What every promise has: a name, a meaning, its paper, and how the search checks it.

A promise of its own file gives its parameters as a small model, and here as much of the fast check as it needs. The audit
repeats every check by SQL of its own (`kohort.auditor.promise_checks`).
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
    """The parameters of one promise, as settings of a job. None where nothing is promised."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True, eq=False)
class TableCounts:
    """The values of one sensitive column in the whole table, for promises that not even all rows as one group would keep."""

    column: str
    counts: NDArray[np.int64]
    """Per value: how many rows, or persons, hold it."""
    size: int
    """How many rows, or persons, there are."""
    who: str
    """What is counted: `rows` or `persons`."""
    limits: Shares
    """Per value: the largest share that alpha allows."""

    @property
    def values(self) -> str:
        """How many different values there are, in words."""
        return "one value only" if len(self.counts) == 1 else f"{len(self.counts)} different values"

    @property
    def cannot_be_kept(self) -> str:
        return f"cannot be kept for {self.column!r}:"


NO_WAY_OUT = " No such promise can be made about it: drop the column, or ask for another."


@dataclass(frozen=True, kw_only=True)
class Definition:
    """One promise: what it means, where it comes from, and what a check must know of a group."""

    name: str
    meaning: str
    paper: str
    parameters: str
    needs: tuple[str, ...]
    """Statistics of a group: size, counts (of each sensitive value), shares (of each value in the whole table)."""
    merging_keeps: bool = True
    """Two valid groups of rows are valid as one. Generalising merges groups, so it keeps what merging keeps."""
    growing_keeps: bool = False
    """A valid group stays valid with any row more. Where persons have several rows, merging keeps nothing else: the merged group
    holds some of them twice, so shares can rise.
    """
    column_rules: Callable[[Any], Mapping[str, float]] | None = None
    """The fast check of a column, from its promise: numbers by the names of `kohort.kernels.core.promise_rules`."""
    bounds: Callable[[Any, Shares], tuple[Shares, Shares]] | None = None
    """The fast check of each value, from the promise and the shares in the table: its largest and smallest share in a group."""
    distinct: Callable[[Any, int], int] | None = None
    """How many different values a group must hold, from the promise and the number of values in the table."""
    shortfall: Callable[[Any, TableCounts], list[str]] | None = None
    """Why not even the whole table as one group keeps the promise, and what could be kept; empty if it does."""

    @property
    def limits_shares(self) -> bool:
        """Whether the fast check must look at the share of each value in a group."""
        return self.column_rules is not None or self.bounds is not None
