"""Boxes of groups, their costs, and rows sorted by group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.core.widths import AxisTables, width


@kernel
def bound_members(
    codes: NDArray[np.unsignedinteger],  # IN (rows, axes)
    labels: NDArray[np.int64],  # IN (rows): the group of each row; rows with a label below 0 are skipped
    low: NDArray[np.integer],  # IN OUT (groups, axes): filled with the largest code before the call
    high: NDArray[np.integer],  # IN OUT (groups, axes): filled with zeros before the call
) -> None:
    """Find the smallest and largest code of each group on each axis."""
    rows, axes = codes.shape
    for i in range(rows):
        label = labels[i]
        if label < 0:
            continue
        for j in range(axes):
            code = codes[i, j]
            low[label, j] = min(low[label, j], code)
            high[label, j] = max(high[label, j], code)


@kernel
def group_rows(
    labels: NDArray[np.int64],  # IN (rows): the group of each row; rows with a label below 0 are skipped
    first: NDArray[np.int64],  # IN OUT (groups + 1): where each group begins in `order`; on return, where each group ends
    order: NDArray[np.int64],  # OUT (rows): the rows, group by group, in row order within each group
) -> None:
    """Sort rows by label, with a counting sort. On return `first[g]` is the end of group g."""
    for i in range(labels.size):
        if labels[i] >= 0:
            order[first[labels[i]]] = i
            first[labels[i]] += 1


@kernel
def box_costs(
    axes: AxisTables,
    low: NDArray[np.int64],  # IN (boxes, axes)
    high: NDArray[np.int64],  # IN (boxes, axes)
    costs: NDArray[np.int64],  # OUT (boxes)
) -> None:
    """Compute the cost of one row in each box."""
    for box in range(low.shape[0]):
        costs[box] = 0
        for j in range(low.shape[1]):
            costs[box] += width(axes, j, low[box, j], high[box, j])
