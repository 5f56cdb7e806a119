"""Groups given by the labels of rows: their rows, boxes and costs. Label -1 means that the row is suppressed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kohort.encoding.points import Points

if TYPE_CHECKING:
    from kohort.kernels.core.widths import AxisTables


def grouped_rows(labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows, group by group and in row order within a group, and where each group begins. The last entry is the end.

    Suppressed rows (-1) are not included.
    """
    from kohort.kernels.core.group_boxes import group_rows

    first = np.concatenate([[0], np.cumsum(np.bincount(labels[labels >= 0]))])
    order = np.empty(int(first[-1]), np.int64)
    group_rows(labels, first.copy(), order)
    return order, first


def group_boxes(points: Points, labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the lowest and the highest code of each group on each axis, both (groups, axes)."""
    from kohort.kernels.core.group_boxes import bound_members

    shape = int(labels.max(initial=-1)) + 1, len(points.axes)
    low, high = np.full(shape, np.iinfo(np.int64).max), np.zeros(shape, np.int64)
    bound_members(points.codes, labels, low, high)
    return low, high


def total_cost(points: Points, labels: NDArray[np.int64], tables: AxisTables) -> int:
    """Return the total cost of all rows, in the units of the search. A suppressed row costs the full width of every axis."""
    from kohort.kernels.core.group_boxes import box_costs

    low, high = group_boxes(points, labels)
    costs = np.empty(len(low), np.int64)
    box_costs(tables, low, high, costs)
    return int(costs @ np.bincount(labels[labels >= 0])) + int(np.count_nonzero(labels < 0)) * int(tables.full.sum())


def merged_groups(before: NDArray[np.int64], after: NDArray[np.int64]) -> int:
    """Return how many groups were merged with others. Groups whose rows were all suppressed are not counted.

    >>> merged_groups(np.array([0, 0, 1, 1, 2, 2, 3]), np.array([0, 0, 0, 0, -1, -1, 1]))
    1
    """
    if after is before:
        return 0
    sizes, kept = np.bincount(before[before >= 0]), np.bincount(before[(before >= 0) & (after >= 0)])
    suppressed = np.count_nonzero(sizes) - np.count_nonzero(kept)
    return int(np.count_nonzero(sizes) - suppressed - np.count_nonzero(np.bincount(after[after >= 0])))


def merged(labels: NDArray[np.int64], goes_to: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Return labels renumbered 0, 1, ... in the same order. If `goes_to` is given, first replace each group by goes_to[group]."""
    moved = labels if goes_to is None else np.append(goes_to, -1)[labels]
    numbers = np.append(np.cumsum(np.bincount(moved[moved >= 0]) > 0) - 1, -1)  # the last entry is for label -1
    return numbers[moved]
