"""Full-domain recoding: each column is published at one level, the same for the whole table. A vector contains the levels.

A tree has the levels of its hierarchy. A number or date has its values as the first level, then intervals of equal width: 32
intervals (fewer if an interval would have fewer than two values on average), then half as many at each level down to 4, 2 and 1.
An interval is published from the smallest to the largest value in it. Published ends are rounded to a grid, so two intervals can
have the same text. Such intervals are joined, together with everything between them.

A missing value is a separate value at every level except the last. At the last level all values are one: `*` if the table has a
missing value, else the root of the tree or the range of the table. A node with a single child is published as that child,
because both have the same leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.constraints.constraints import Constraints
from kohort.encoding.axes import Axis
from kohort.encoding.number_axis import NumericAxis
from kohort.encoding.points import UNIT, Points
from kohort.encoding.tree_axis import TreeAxis
from kohort.methods.method import Partition
from kohort.methods.search.median_cuts import layout_of
from kohort.progress import Progress

if TYPE_CHECKING:
    from kohort.kernels.clusters.frequencies import LevelTables

MOST_HALVINGS = 5
Vector = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Levels:
    """The levels of one axis, from single values to one box of all values. Each array has the shape (levels, codes)."""

    low: NDArray[np.int64]
    """First code of the box in which a code is published."""
    high: NDArray[np.int64]
    """Last code of that box."""
    cost: NDArray[np.int64]
    """Weighted leaf loss of that box, in units."""

    @classmethod
    def of(cls, axis: Axis, weight: float, *, some_missing: bool) -> Levels:
        """Return the levels of an axis. If the table has missing values, they join all other values at the last level."""
        begins = _begins(axis)
        last = axis.size - 1
        low, high = np.zeros((2, len(begins), axis.size), np.int64)
        for level, begin in enumerate(begins):
            first = np.flatnonzero(begin) + 1
            box = np.cumsum(begin) - 1
            low[level, 1:], high[level, 1:] = first[box], np.append(first[1:] - 1, last)[box]
        if some_missing:
            low[-1], high[-1] = 0, last
        cost = [np.rint(axis.width(*box, "leaf", None) * (UNIT * weight)) for box in zip(low, high, strict=True)]
        return cls(low, high, np.array(cost, np.int64))

    def __len__(self) -> int:
        return len(self.low)


def _begins(axis: Axis) -> list[NDArray[np.bool_]]:
    """Return for each level whether a box begins at each value; missing values are not included."""
    if isinstance(axis, TreeAxis):
        return [_changes(nodes) for nodes in axis.tree.ancestors]
    if isinstance(axis, NumericAxis):
        return _halvings(axis)
    raise TypeError(type(axis).__name__)


def _halvings(axis: NumericAxis) -> list[NDArray[np.bool_]]:
    values = len(axis.first)
    share = axis.offset(axis.first) / (axis.range or 1.0)
    begins = [_with_distinct_texts(axis, np.ones(values, np.bool_))]
    for halvings in range(min(MOST_HALVINGS, max(0, (values // 2).bit_length() - 1)), -1, -1):
        interval = np.minimum((share * 2**halvings).astype(np.int64), 2**halvings - 1)
        begins.append(_with_distinct_texts(axis, _changes(interval) & begins[-1]))
    return begins


def _changes(along: NDArray[np.integer]) -> NDArray[np.bool_]:
    return np.concatenate([np.ones(len(along[:1]), np.bool_), along[1:] != along[:-1]])


def _with_distinct_texts(axis: NumericAxis, begin: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return where boxes begin after boxes with the same text are joined, together with all boxes between them."""
    first = np.flatnonzero(begin)
    if not len(first):
        return begin
    ends = axis.published(first + 1, np.append(first[1:], len(begin)), None)
    _texts, text = np.unique(np.column_stack(ends), axis=0, return_inverse=True)
    last_of, here = np.zeros(len(first), np.int64), np.arange(len(first))
    np.maximum.at(last_of, text, here)
    reaches = np.maximum.accumulate(last_of[text])
    is_first = np.append(True, reaches[:-1] < here[1:])
    joined = np.zeros(len(begin), np.bool_)
    joined[first[is_first]] = True
    return joined


class FrequencySet(NamedTuple):
    """Combinations of codes, packed into words, and the number of rows with each combination."""

    words: NDArray[np.uint64]
    """Shape (words, combinations)."""
    counts: NDArray[np.int64]

    @classmethod
    def empty(cls, words: int, entries: int) -> FrequencySet:
        return cls(np.zeros((words, entries), np.uint64), np.empty(entries, np.int64))


def slots_for(entries: int) -> NDArray[np.int32]:
    """Return the scratch array of a hash table for this many entries."""
    return np.empty(1 << (2 * max(entries, 1) - 1).bit_length(), np.int32)


@dataclass(frozen=True, eq=False)
class RecodedGroups:
    """The groups of a table that is recoded at one vector, and which of them are valid."""

    vector: Vector
    of_combination: NDArray[np.int64]
    """The group of each distinct combination of codes."""
    low: NDArray[np.int64]
    """Shape (groups, axes): first codes of the boxes."""
    sizes: NDArray[np.int64]
    valid: NDArray[np.bool_]

    @property
    def failing(self) -> int:
        """Number of rows in invalid groups."""
        return int(self.sizes[~self.valid].sum())


class FullDomain:
    """A table that can be recoded at any vector of levels."""

    def __init__(self, points: Points, constraints: Constraints, progress: Progress) -> None:
        from kohort.kernels.core.packed import pack

        self.points, self.constraints, self._progress = points, constraints, progress
        self.state = progress.slot()
        progress.check()
        self.levels = [
            Levels.of(axis, weight, some_missing=some)
            for axis, weight, some in zip(points.axes, points.weights, points.some_missing, strict=True)
        ]
        self.heights: Vector = tuple(map(len, self.levels))
        self.top: Vector = tuple(height - 1 for height in self.heights)
        self.layout, self._word_count = layout_of([axis.size for axis in points.axes], len(points.axes))
        rows = FrequencySet.empty(self._word_count, points.rows)
        pack(points.codes, self.layout, 0, rows.words)
        rows.counts[:] = 1
        self.combinations, self._combination_of = self.roll_up(rows, range(len(self.levels)), [0] * len(self.levels))

    @cached_property
    def tables(self) -> LevelTables:
        from kohort.kernels.clusters.frequencies import LevelTables

        start = np.cumsum([0, *(levels.low.size for levels in self.levels[:-1])])
        low = np.concatenate([levels.low.ravel() for levels in self.levels])
        return LevelTables(low, start, np.array([axis.size for axis in self.points.axes], np.int64))

    def roll_up(
        self, entries: FrequencySet, axes: Sequence[int], levels: Sequence[int]
    ) -> tuple[FrequencySet, NDArray[np.int64]]:
        """Recode these axes. Return the resulting frequency set and for each entry its number in it.

        An axis at level -1 is ignored.
        """
        from kohort.kernels.clusters.frequencies import roll_up

        size = len(entries.counts)
        made, group_of = FrequencySet.empty(self._word_count, size), np.empty(size, np.int64)
        recoded = np.array(axes, np.int64), np.array(levels, np.int64)
        count = roll_up(self.tables, self.layout, *entries, size, *recoded, slots_for(size), group_of, *made)
        return FrequencySet(np.ascontiguousarray(made.words[:, :count]), made.counts[:count].copy()), group_of

    def groups(self, vector: Vector) -> RecodedGroups:
        """Return the groups of the table at a vector."""
        self._progress.check()
        made, of_combination = self.roll_up(self.combinations, range(len(vector)), vector)
        valid = made.counts >= self.constraints.k
        if self.constraints.beyond_k:
            valid = self.constraints.valid_groups(of_combination[self._combination_of])
        fields = (made.words[self.layout.word].T >> self.layout.shift) & self.layout.mask
        return RecodedGroups(vector, of_combination, fields.astype(np.int64), made.counts, valid)

    def can_be_published(self, groups: RecodedGroups) -> bool:
        """Return whether the invalid rows can be suppressed and the other groups are valid without them."""
        if not groups.failing:
            return True
        if groups.failing > self.constraints.budget or groups.failing == self.points.rows:
            return False
        return self.constraints.valid_without_suppressed(self._labels(groups, np.flatnonzero(groups.valid)))

    def partition(self, groups: RecodedGroups) -> Partition:
        """Return the valid groups, in the order of their boxes. The other rows are suppressed."""
        order = np.lexsort(groups.low.T[::-1])
        order = order[groups.valid[order]]
        low = groups.low[order]
        boxes = zip(self.levels, groups.vector, low.T, strict=True)
        high = np.array([levels.high[level][first] for levels, level, first in boxes], np.int64).T
        return Partition(self._labels(groups, order), (low, high))

    def _labels(self, groups: RecodedGroups, kept: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each row the index of its group in `kept`; -1 for rows of other groups."""
        label_of = np.full(len(groups.sizes), -1, np.int64)
        label_of[kept] = np.arange(len(kept))
        return label_of[groups.of_combination[self._combination_of]]
