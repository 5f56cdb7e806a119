"""Boxes of clusters, and rows grouped by cluster."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.core.widths import AxisTables, width


@kernel
def bound_members(
    codes: NDArray[np.unsignedinteger],  # IN (rows, axes)
    labels: NDArray[np.int64],  # IN (rows); rows below 0 are left out
    low: NDArray[np.integer],  # OUT (clusters, axes), comes in as the largest code
    high: NDArray[np.integer],  # OUT (clusters, axes), comes in as zeros
) -> None:
    """Smallest and largest code of each cluster on each axis."""
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
    labels: NDArray[np.int64],  # IN (rows); rows below 0 are left out
    first: NDArray[np.int64],  # IN OUT (clusters + 1): where each cluster begins in `order`; ends one cluster further
    order: NDArray[np.int64],  # OUT (rows): the rows, cluster by cluster, each cluster's in row order
) -> None:
    """A counting sort of rows by label. On return `first[c]` is the end of cluster c."""
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
    """What a row of each box costs."""
    for box in range(low.shape[0]):
        costs[box] = 0
        for j in range(low.shape[1]):
            costs[box] += width(axes, j, low[box, j], high[box, j])
