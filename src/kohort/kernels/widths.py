"""How wide a box is on one axis: the one arithmetic that every method's choices rest on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel


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
        span = axes.up[start + high] - axes.down[start + low]
        if span >= axes.coarse_from[axis] and (low < high or span > 0):  # a single value is published as it is
            span = axes.coarse_up[start + high] - axes.coarse_down[start + low]
        # Rounded once, after the difference: equal widths must be equal costs wherever they lie.
        # The smaller while still a float: steps far wider than the range would be more than an integer holds.
        return int(min(np.rint(span * axes.scale[axis]), np.float64(axes.full[axis])))
    if low == high:
        return 0
    size = axes.size[axis]
    row = start
    for _ in range(axes.height[axis]):
        row += size
        if axes.ancestors[row + low] == axes.ancestors[row + high]:
            return axes.node_cost[axes.ancestors[row + low]]
    return axes.full[axis]
