"""Interface of a method: it takes codes and returns one label per row. It uses no files, no clock and no globals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args, get_origin

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from kohort.constraints.constraints import Constraints
from kohort.encoding.points import Points
from kohort.methods.search.decisions import Decisions, Improvement
from kohort.progress import Progress
from kohort.schema.promises import DEFINITIONS


class Options(BaseModel):
    """Base class for the options of one method. Options are frozen, every field has a description, unknown names are errors.

    The contract suite tests the default of each field and the values in its `examples`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True, eq=False)
class Partition:
    """Groups of a table: one label per row, numbered 0, 1, ... without gaps. The label -1 means suppressed."""

    labels: NDArray[np.int64]
    boxes: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
    """(low, high), each of shape (groups, axes). Only methods set it whose boxes are wider than the values of the rows inside."""
    suppressed_group: int | None = None
    """Number of the group of suppressed rows that are published as `*` in every column; None if there is none."""
    blocks: int = 1
    """Number of blocks: parts of the table that were processed separately."""
    start: str = ""
    """Name of the method that made the groups, if `auto` chose it; else empty."""
    starts: tuple[str, ...] = ()
    """Names of the methods that `auto` tried."""
    notes: tuple[str, ...] = ()
    """Sentences for the user: what was done and why."""
    decisions: Decisions | None = None
    """The cuts before repair and improvement; None if they were not recorded or the method does not cut."""
    improvement: Improvement | None = None
    """What improvement changed; None if the groups were not improved."""
    merged: int = 0
    """Number of groups that were merged with others because they were not valid."""

    def of_rows(self, rows: NDArray[np.int64]) -> Partition:
        """Return the same groups for a table whose rows are numbered differently: row i here is row `rows[i]` there."""
        labels = np.empty_like(self.labels)
        labels[rows] = self.labels
        return replace(self, labels=labels, decisions=None if self.decisions is None else self.decisions.of_rows(rows))

    def with_suppressed_group(self) -> Partition:
        """Return the groups with all suppressed rows as one additional group, which gets the highest number."""
        suppressed_group = int(self.labels.max(initial=-1)) + 1
        return replace(self, labels=np.where(self.labels < 0, suppressed_group, self.labels), suppressed_group=suppressed_group)


PartitionFunction = Callable[[Points, Constraints, Any, int, Progress], Partition]
"""(points, constraints, options, seed, progress) -> Partition. Methods draw random numbers by hashing the seed and a counter."""


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method with its description, its options and what it supports."""

    name: str
    summary: str
    paper: str
    cost: str
    good_for: str
    options: type[Options]
    partition: PartitionFunction
    promises: tuple[str, ...] = tuple(DEFINITIONS)
    """Promises that the method can keep, by their names in `kohort.schema.promises.DEFINITIONS`."""
    uses_row_order: Callable[[Any], bool] = lambda _options: True
    """Whether the labels depend on the order of the rows with these options. If so, kohort sorts the rows canonically first."""
    uses_promises: bool = False
    """Whether other promises change the groups even if the groups for k alone keep them. kohort then tries k alone first."""
    may_refuse: bool = False
    """Whether the method may fail although all rows as one group would be valid. Its options set how far it searches."""
    recodes_globally: bool = False
    """Whether the whole table has one set of intervals or levels per column, so that equal values are published identically."""
    in_blocks: bool = False
    """Whether the method costs more than n log n, so that kohort first cuts a large table into blocks."""
    effort: int = 0
    """Default number of rounds of improvement."""
    uses_workload: bool = False
    """Whether the method itself uses the workload, if there is one. Improvement always uses it."""
    uses_sensitive: Callable[[Any], bool] = lambda _options: False
    """Whether the method compares the sensitive columns too with these options. They are then in `points.extra`."""

    def to_dict(self) -> dict[str, Any]:
        """Return the description of the method, as `kohort methods --json` prints it."""
        facts = {name: getattr(self, name) for name in ("name", "summary", "paper", "cost", "good_for")}
        options = {
            name: {"default": option.default, "choices": _choices(option.annotation), "description": option.description}
            for name, option in self.options.model_fields.items()
        }
        flags = {"in_blocks": self.in_blocks, "recodes_globally": self.recodes_globally, "effort": self.effort}
        return {**facts, **flags, "promises": list(self.promises), "options": options}


def _choices(annotation: Any) -> list[Any] | None:
    """Return the values that an option can have; None if its type does not list them.

    >>> _choices(Literal["a", "b"] | None), _choices(int)
    (['a', 'b'], None)
    """
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    found = [choice for part in get_args(annotation) for choice in _choices(part) or ()]
    return found or None
