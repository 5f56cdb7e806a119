"""Labels as groups: their rows side by side, their boxes, and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kohort.encoding.points import Points

if TYPE_CHECKING:
    from kohort.kernels.core.widths import AxisTables


def grouped_rows(labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows, group by group, each group's in row order; where each group begins, and the last one ends. -1 is left out."""
    from kohort.kernels.core.group_boxes import group_rows

    first = np.concatenate([[0], np.cumsum(np.bincount(labels[labels >= 0]))])
    order = np.empty(int(first[-1]), np.int64)
    group_rows(labels, first.copy(), order)
    return order, first


def group_boxes(points: Points, labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(groups, axes): the lowest and the highest code of each group."""
    from kohort.kernels.core.group_boxes import bound_members

    shape = int(labels.max(initial=-1)) + 1, len(points.axes)
    low, high = np.full(shape, np.iinfo(np.int64).max), np.zeros(shape, np.int64)
    bound_members(points.codes, labels, low, high)
    return low, high


def total_cost(points: Points, labels: NDArray[np.int64], tables: AxisTables) -> int:
    """What all rows cost, in the units of the search; one that is left out costs everything."""
    from kohort.kernels.core.group_boxes import box_costs

    low, high = group_boxes(points, labels)
    costs = np.empty(len(low), np.int64)
    box_costs(tables, low, high, costs)
    return int(costs @ np.bincount(labels[labels >= 0])) + int(np.count_nonzero(labels < 0)) * int(tables.full.sum())


def merged_groups(before: NDArray[np.int64], after: NDArray[np.int64]) -> int:
    """How many of some groups were merged with others: they are gone, but not because all of their rows were suppressed.

    >>> merged_groups(np.array([0, 0, 1, 1, 2, 2, 3]), np.array([0, 0, 0, 0, -1, -1, 1]))
    1
    """
    if after is before:
        return 0
    sizes, kept = np.bincount(before[before >= 0]), np.bincount(before[(before >= 0) & (after >= 0)])
    suppressed = np.count_nonzero(sizes) - np.count_nonzero(kept)
    return int(np.count_nonzero(sizes) - suppressed - np.count_nonzero(np.bincount(after[after >= 0])))


def merged(labels: NDArray[np.int64], goes_to: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Groups renumbered 0, 1, ... in their order, after those that `goes_to` says were merged into others."""
    moved = labels if goes_to is None else np.append(goes_to, -1)[labels]
    numbers = np.append(np.cumsum(np.bincount(moved[moved >= 0]) > 0) - 1, -1)  # the last entry is for -1
    return numbers[moved]
