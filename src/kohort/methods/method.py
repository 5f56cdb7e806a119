"""What a method is: codes in, one label per row out. Pure: no files, no clock, no globals."""

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
    """A method's own options: frozen, each field described, unknown names refused.

    A field's `examples` are the values beside its default that the contract suite tries.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True, eq=False)
class Partition:
    """A label per row, 0, 1, ... without gaps; -1 = suppressed."""

    labels: NDArray[np.int64]
    boxes: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
    """(low, high), each (clusters, axes): given by methods whose boxes are wider than their members' ends."""
    suppressed_group: int | None = None
    """The group of suppressed rows that stay, published as * in every column."""
    blocks: int = 1
    """Parts of the table that were worked on by themselves."""
    start: str = ""
    """The method that made the groups, where one was chosen among several."""
    starts: tuple[str, ...] = ()
    """Those that were tried."""
    notes: tuple[str, ...] = ()
    """What was done and why, in sentences."""
    decisions: Decisions | None = None
    """The cuts, before repair and improvement; None if they were not recorded, or the method does not cut."""
    improvement: Improvement | None = None
    """What improvement changed; None if there was none."""
    merged: int = 0
    """How many groups were merged with others because they were not valid."""

    def of_rows(self, rows: NDArray[np.int64]) -> Partition:
        """The same groups in a table where each row has another number: `rows[i]` is that of row i."""
        labels = np.empty_like(self.labels)
        labels[rows] = self.labels
        return replace(self, labels=labels, decisions=None if self.decisions is None else self.decisions.of_rows(rows))

    def with_suppressed_group(self) -> Partition:
        """The suppressed rows as one group more, the last."""
        suppressed_group = int(self.labels.max(initial=-1)) + 1
        return replace(self, labels=np.where(self.labels < 0, suppressed_group, self.labels), suppressed_group=suppressed_group)


PartitionFunction = Callable[[Points, Constraints, Any, int, Progress], Partition]
"""(points, constraints, options, seed, progress) -> Partition. Random numbers are hashes of the seed and a counter."""


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method as the registry knows it."""

    name: str
    summary: str
    paper: str
    cost: str
    good_for: str
    options: type[Options]
    partition: PartitionFunction
    promises: tuple[str, ...] = tuple(DEFINITIONS)
    """Names of `kohort.schema.promises.DEFINITIONS` that it can keep."""
    uses_row_order: Callable[[Any], bool] = lambda _options: True
    """Whether the labels depend on the order of the rows, given these options; if so they are put in canonical order."""
    asks_while_grouping: bool = False
    """Whether a promise changes how it groups even where its groups would keep it anyway: it is first tried with k alone."""
    may_refuse: bool = False
    """Whether it may say that it cannot where all rows as one group could; its options then say how far it goes."""
    recodes_globally: bool = False
    """One set of intervals or levels a column for the whole table: the same value is published alike everywhere."""
    in_blocks: bool = False
    """Dearer than n log n, so that a large table is cut into blocks first."""
    effort: int = 0
    """Rounds by which its groups are improved, if nothing else is asked."""
    goes_by_workload: bool = False
    """Whether it groups by a workload, if there is one, also before improvement."""
    uses_sensitive: Callable[[Any], bool] = lambda _options: False
    """Whether it looks at the sensitive columns too, given these options: they are then `points.extra`."""

    def to_dict(self) -> dict[str, Any]:
        """What a user may want to know of it, as `kohort methods --json` prints it."""
        facts = {name: getattr(self, name) for name in ("name", "summary", "paper", "cost", "good_for")}
        options = {
            name: {"default": option.default, "choices": _choices(option.annotation), "description": option.description}
            for name, option in self.options.model_fields.items()
        }
        rooms = {"in_blocks": self.in_blocks, "recodes_globally": self.recodes_globally, "effort": self.effort}
        return {**facts, **rooms, "promises": list(self.promises), "options": options}


def _choices(annotation: Any) -> list[Any] | None:
    """The values that an option may have, if they are few.

    >>> _choices(Literal["a", "b"] | None), _choices(int)
    (['a', 'b'], None)
    """
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    found = [choice for part in get_args(annotation) for choice in _choices(part) or ()]
    return found or None
