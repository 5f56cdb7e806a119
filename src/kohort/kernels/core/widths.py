"""How wide a box is on one axis: the one arithmetic that every method's choices rest on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import inlined, kernel


class AxisTables(NamedTuple):
    """All axes of a table, flattened for kernels. Costs are integers: width x 2^24, times the column's weight."""

    full: NDArray[np.int64]  # per axis: the cost of everything, also of a box that mixes missing and present
    numeric: NDArray[np.bool_]  # per axis: arithmetic (True) or a tree (False)
    start: NDArray[np.int64]  # per axis: where its codes start in `down` and `up`, or its rows in `ancestors`
    size: NDArray[np.int64]  # per axis: number of codes, missing included
    height: NDArray[np.int64]  # per axis: levels of its tree
    scale: NDArray[np.float64]  # per numeric axis: cost of one unit of its numbers
    coarse_from: NDArray[np.float64]  # per axis: the width from which its coarse ends are published (dates: years; grids: any)
    down: NDArray[np.float64]  # per numeric code: where a box that begins there is published to begin
    up: NDArray[np.float64]  # per numeric code: where a box that ends there is published to end
    coarse_down: NDArray[np.float64]  # the same for wide boxes
    coarse_up: NDArray[np.float64]
    ancestors: NDArray[np.int32]  # per tree, level by level from the leaves: the node above each code
    node_cost: NDArray[np.int64]  # per node of any tree


@kernel
def width(axes: AxisTables, axis: int, low: int | np.int64, high: int | np.int64) -> int:
    """Cost of publishing the codes low..high (inclusive) of one axis as one value."""
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
    """Cost of the present codes low..high, given as places in the arrays.

    For loops over many boxes: they take the arrays out of the tuple once, which costs more than the arithmetic.
    """
    span = up[high] - down[low]
    if span >= coarse_from and (low < high or span > 0):  # a single value is published as it is
        span = coarse_up[high] - coarse_down[low]
    # Rounded once, after the difference: equal widths must be equal costs wherever they lie.
    # The smaller while still a float: steps far wider than the range would be more than an integer holds.
    return int(min(np.rint(span * scale), np.float64(full)))


@kernel
def tree_widths(
    axes: AxisTables,
    axis: int,
    low: int | np.int64,
    high: int | np.int64,
    costs: NDArray[np.int64],  # OUT: by code
) -> None:
    """Per code of a tree: what a box costs that takes it in. What lies below one node is one run of codes."""
    size, full = axes.size[axis], axes.full[axis]
    ancestors, node_cost = axes.ancestors, axes.node_cost
    if low == 0:
        costs[:size] = full
        costs[0] = 0 if high == 0 else full
        return
    costs[0] = full
    left, right = low, high + 1  # what has its cost already
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
    by_code: NDArray[np.int64],  # scratch, as long as the largest tree has codes
    costs: NDArray[np.int64],  # OUT: what a box costs that takes in each of them
) -> None:
    """`width` for many values at once."""
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
