"""The width, and so the cost, of a box on one axis. All methods compare costs computed here."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import inlined, kernel


class AxisTables(NamedTuple):
    """All axes of a table as flat arrays, for kernels. Costs are integers: width x 2^24, times the weight of the column."""

    full: NDArray[np.int64]  # per axis: the cost of the whole axis, and of a box with both missing and present values
    numeric: NDArray[np.bool_]  # per axis: True for numbers and dates, False for a tree
    start: NDArray[np.int64]  # per axis: where its codes begin in `down` and `up`, or its levels in `ancestors`
    size: NDArray[np.int64]  # per axis: number of codes, including the code of missing values
    height: NDArray[np.int64]  # per axis: levels of its tree
    scale: NDArray[np.float64]  # per numeric axis: cost of one unit of its numbers
    coarse_from: NDArray[np.float64]  # per axis: boxes from this width on use the coarse ends (dates: whole years; grids: any)
    down: NDArray[np.float64]  # per numeric code: published lower end of a box that begins with this code
    up: NDArray[np.float64]  # per numeric code: published upper end of a box that ends with this code
    coarse_down: NDArray[np.float64]  # as `down`, for boxes with coarse ends
    coarse_up: NDArray[np.float64]  # as `up`, for boxes with coarse ends
    ancestors: NDArray[np.int32]  # per tree, level by level from the leaves up: the node above each code
    node_cost: NDArray[np.int64]  # per node of all trees: the cost of publishing it


@kernel
def width(axes: AxisTables, axis: int, low: int | np.int64, high: int | np.int64) -> int:
    """Return the cost of publishing the codes low..high (inclusive) of one axis as one generalised value."""
    if low == 0:
        return axes.full[axis] if high > 0 else 0
    start = axes.start[axis]
    if axes.numeric[axis]:
        return number_width(
            axes.down, axes.up, axes.coarse_down, axes.coarse_up, axes.coarse_from[axis], axes.scale[axis], axes.full[axis],
            start + low, start + high,
        )  # fmt: skip
    if low == high:
        return 0
    size = axes.size[axis]
    row = start
    for _ in range(axes.height[axis]):
        row += size
        if axes.ancestors[row + low] == axes.ancestors[row + high]:
            return axes.node_cost[axes.ancestors[row + low]]
    return axes.full[axis]


@inlined
def number_width(
    down: NDArray[np.float64],
    up: NDArray[np.float64],
    coarse_down: NDArray[np.float64],
    coarse_up: NDArray[np.float64],
    coarse_from: float,
    scale: float,
    full: int | np.int64,
    low: int | np.int64,
    high: int | np.int64,
) -> int:
    """Return the cost of the codes low..high of a numeric axis, given as indices in the arrays. Neither code is missing.

    It takes arrays instead of a tuple, for loops over many boxes: such loops unpack the tuple once. Unpacking it each time
    takes longer than the arithmetic.
    """
    span = up[high] - down[low]
    if span >= coarse_from and (low < high or span > 0):  # a single value is published unchanged
        span = coarse_up[high] - coarse_down[low]
    # Rounded once, after the difference, because equal widths must have equal costs anywhere on the axis.
    # The minimum is taken of floats, because a grid step far wider than the range can exceed the largest integer.
    return int(min(np.rint(span * scale), np.float64(full)))


@kernel
def tree_widths(
    axes: AxisTables,
    axis: int,
    low: int | np.int64,
    high: int | np.int64,
    costs: NDArray[np.int64],  # OUT: by code
) -> None:
    """Compute, for each code of a tree, the cost of the box low..high after it is extended to include the code.

    The leaves below one node have consecutive codes.
    """
    size, full = axes.size[axis], axes.full[axis]
    ancestors, node_cost = axes.ancestors, axes.node_cost
    if low == 0:
        costs[:size] = full
        costs[0] = 0 if high == 0 else full
        return
    costs[0] = full
    left, right = low, high + 1  # codes left..right - 1 already have their cost
    costs[left:right] = width(axes, axis, low, high)
    row = axes.start[axis]
    for _ in range(axes.height[axis]):
        row += size
        node = ancestors[row + low]
        if node != ancestors[row + high]:
            continue
        cost = node_cost[node]
        while left > 1 and ancestors[row + left - 1] == node:
            left -= 1
            costs[left] = cost
        while right < size and ancestors[row + right] == node:
            costs[right] = cost
            right += 1
    costs[1:left] = full
    costs[right:size] = full


@kernel
def widths_with(
    axes: AxisTables,
    axis: int,
    low: int | np.int64,
    high: int | np.int64,
    values: NDArray[np.int64],  # IN: codes
    by_code: NDArray[np.int64],  # scratch (codes of the largest tree)
    costs: NDArray[np.int64],  # OUT: the cost of the box after it is extended to include each code
) -> None:
    """Compute, for many codes of one axis, the cost of the box low..high after it is extended to include the code."""
    if not axes.numeric[axis]:
        tree_widths(axes, axis, low, high, by_code)
        for at in range(values.size):
            costs[at] = by_code[values[at]]
        return
    start, full, scale, coarse_from = axes.start[axis], axes.full[axis], axes.scale[axis], axes.coarse_from[axis]
    down, up, coarse_down, coarse_up = axes.down, axes.up, axes.coarse_down, axes.coarse_up
    for at in range(values.size):
        begin, end = min(low, values[at]), max(high, values[at])
        if begin == 0:
            costs[at] = full if end > 0 else 0
        else:
            costs[at] = number_width(down, up, coarse_down, coarse_up, coarse_from, scale, full, start + begin, start + end)
