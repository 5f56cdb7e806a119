"""Full-domain recoding: each column is published at one level, the same for the whole table. A vector names the levels.

A tree has the levels that it was given. A number or date has its values, then intervals of equal width, halves of one another:
32 (fewer, so that two values share one on average), ..., 4, 2, 1. An interval is published from the smallest to the largest
value in it. Intervals that would be told by the same text (their ends lie on a grid) are one, with all that lies between.

Missing stays a value of its own at every level but the last, where everything is one: `*` if any is missing, else the root of
the tree or the range of the table. A node with a single child is told as that child: both are the same leaves.
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
    """The levels of one axis, from its values to everything: each array is (levels, codes)."""

    low: NDArray[np.int64]
    """The first code of the box that a code is published in."""
    high: NDArray[np.int64]
    cost: NDArray[np.int64]
    """Leaf loss of that box, in units, weighted."""

    @classmethod
    def of(cls, axis: Axis, weight: float, *, some_missing: bool) -> Levels:
        """The levels of an axis; what is missing in the table joins the others at the last."""
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
    """Per level: whether a box begins at each present value."""
    if isinstance(axis, TreeAxis):
        return [_changes(nodes) for nodes in axis.tree.ancestors]
    if isinstance(axis, NumericAxis):
        return _halvings(axis)
    raise TypeError(type(axis).__name__)


def _halvings(axis: NumericAxis) -> list[NDArray[np.bool_]]:
    values = len(axis.first)
    share = axis.offset(axis.first) / (axis.range or 1.0)
    begins = [_told_apart(axis, np.ones(values, np.bool_))]
    for halvings in range(min(MOST_HALVINGS, max(0, (values // 2).bit_length() - 1)), -1, -1):
        interval = np.minimum((share * 2**halvings).astype(np.int64), 2**halvings - 1)
        begins.append(_told_apart(axis, _changes(interval) & begins[-1]))
    return begins


def _changes(along: NDArray[np.integer]) -> NDArray[np.bool_]:
    return np.concatenate([np.ones(len(along[:1]), np.bool_), along[1:] != along[:-1]])


def _told_apart(axis: NumericAxis, begin: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Only those that begin a box whose text no box before it has, nor stands between two that have the same."""
    first = np.flatnonzero(begin)
    if not len(first):
        return begin
    ends = axis.published(first + 1, np.append(first[1:], len(begin)), None)
    _texts, text = np.unique(np.column_stack(ends), axis=0, return_inverse=True)
    last_of, here = np.zeros(len(first), np.int64), np.arange(len(first))
    np.maximum.at(last_of, text, here)
    reaches = np.maximum.accumulate(last_of[text])
    alone = np.append(True, reaches[:-1] < here[1:])
    apart = np.zeros(len(begin), np.bool_)
    apart[first[alone]] = True
    return apart


class FrequencySet(NamedTuple):
    """Combinations of codes, packed into words, and how many rows share each."""

    words: NDArray[np.uint64]
    """(words, combinations)."""
    counts: NDArray[np.int64]

    @classmethod
    def empty(cls, words: int, entries: int) -> FrequencySet:
        return cls(np.zeros((words, entries), np.uint64), np.empty(entries, np.int64))


def slots_for(entries: int) -> NDArray[np.int32]:
    """Scratch to tell so many entries apart."""
    return np.empty(1 << (2 * max(entries, 1) - 1).bit_length(), np.int32)


@dataclass(frozen=True, eq=False)
class Classes:
    """What a vector makes of a table: its classes, and which of them keep the promise."""

    vector: Vector
    of_combination: NDArray[np.int64]
    low: NDArray[np.int64]
    """(classes, axes): the first codes of its boxes."""
    sizes: NDArray[np.int64]
    valid: NDArray[np.bool_]

    @property
    def failing(self) -> int:
        """How many rows are in classes that do not stand."""
        return int(self.sizes[~self.valid].sum())


class FullDomain:
    """A table that can be seen at any vector of levels."""

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
        """The classes of entries when these axes are recoded, and the class of each entry; level -1: does not count."""
        from kohort.kernels.clusters.frequencies import roll_up

        size = len(entries.counts)
        made, class_of = FrequencySet.empty(self._word_count, size), np.empty(size, np.int64)
        recoded = np.array(axes, np.int64), np.array(levels, np.int64)
        count = roll_up(self.tables, self.layout, *entries, size, *recoded, slots_for(size), class_of, *made)
        return FrequencySet(np.ascontiguousarray(made.words[:, :count]), made.counts[:count].copy()), class_of

    def classes(self, vector: Vector) -> Classes:
        """What a vector makes of the table."""
        self._progress.check()
        made, of_combination = self.roll_up(self.combinations, range(len(vector)), vector)
        valid = made.counts >= self.constraints.k
        if self.constraints.beyond_k:
            valid = self.constraints.valid_groups(of_combination[self._combination_of])
        fields = (made.words[self.layout.word].T >> self.layout.shift) & self.layout.mask
        return Classes(vector, of_combination, fields.astype(np.int64), made.counts, valid)

    def may_be_published(self, classes: Classes) -> bool:
        """Whether the rows that must be left out are no more than allowed, and the others stand without them."""
        if not classes.failing:
            return True
        if classes.failing > self.constraints.budget or classes.failing == self.points.rows:
            return False
        return self.constraints.valid_without_suppressed(self._labels(classes, np.flatnonzero(classes.valid)))

    def partition(self, classes: Classes) -> Partition:
        """The classes that stand, in the order of their boxes; the other rows are left out."""
        order = np.lexsort(classes.low.T[::-1])
        order = order[classes.valid[order]]
        low = classes.low[order]
        boxes = zip(self.levels, classes.vector, low.T, strict=True)
        high = np.array([levels.high[level][first] for levels, level, first in boxes], np.int64).T
        return Partition(self._labels(classes, order), (low, high))

    def _labels(self, classes: Classes, kept: NDArray[np.int64]) -> NDArray[np.int64]:
        """Per row: the place of its class among those kept; -1 for the others."""
        label_of = np.full(len(classes.sizes), -1, np.int64)
        label_of[kept] = np.arange(len(kept))
        return label_of[classes.of_combination[self._combination_of]]
