"""Groups that may not stand merge with the neighbour that costs least, until all may."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.groups import group_stands
from kohort.kernels.promises import Rules, Tally
from kohort.kernels.widths import AxisTables, width


@kernel
def _cost(axes: AxisTables, low: NDArray[np.int64], high: NDArray[np.int64]) -> float:
    """What one row of a box costs."""
    cost = 0.0
    for j in range(low.size):
        cost += width(axes, j, low[j], high[j])
    return cost


@kernel
def _neighbour(
    axes: AxisTables,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    sizes: NDArray[np.int64],
    costs: NDArray[np.float64],
    group: int,
) -> int:
    """The group with which the total loss grows least; the first of equals."""
    best, least = -1, np.inf
    for other in range(sizes.size):
        if other == group or sizes[other] == 0:
            continue
        rows = sizes[group] + sizes[other]
        grows = -(sizes[group] * costs[group] + sizes[other] * costs[other])
        for j in range(low.shape[1]):
            begin, end = min(low[group, j], low[other, j]), max(high[group, j], high[other, j])
            grows += rows * np.float64(width(axes, j, begin, end))
            if grows >= least:
                break
        if grows < least:
            best, least = other, grows
    return best


@kernel
def repair(
    axes: AxisTables,
    rules: Rules,
    tally: Tally,
    secrets: NDArray[np.int64],  # IN (rows, secrets)
    low: NDArray[np.int64],  # IN OUT (groups, axes)
    high: NDArray[np.int64],  # IN OUT (groups, axes)
    sizes: NDArray[np.int64],  # IN OUT (groups): rows; 0 once merged into another
    head: NDArray[np.int64],  # IN OUT (groups): a row of each group
    tail: NDArray[np.int64],  # IN OUT (groups): the last row of its chain
    following: NDArray[np.int64],  # IN OUT (rows): the next row of the chain, or -1
    stands: NDArray[np.bool_],  # IN OUT (groups)
    goes_to: NDArray[np.int64],  # OUT (groups): the group that each was merged into; comes in as itself
    members: NDArray[np.int64],  # scratch (rows, secrets)
    state: NDArray[np.int64],  # IN state[1] = stop now
) -> None:
    """Smallest failing group first, ties lowest number. Ends when all stand, or when one group is left."""
    groups = sizes.size
    costs = np.empty(groups)
    for group in range(groups):
        costs[group] = _cost(axes, low[group], high[group])
    while state[1] == 0:
        failing = -1
        for group in range(groups):
            if sizes[group] > 0 and not stands[group] and (failing < 0 or sizes[group] < sizes[failing]):
                failing = group
        other = _neighbour(axes, low, high, sizes, costs, failing) if failing >= 0 else -1
        if other < 0:
            return
        into, gone = min(failing, other), max(failing, other)
        for j in range(low.shape[1]):
            low[into, j], high[into, j] = min(low[into, j], low[gone, j]), max(high[into, j], high[gone, j])
        following[tail[into]], tail[into] = head[gone], tail[gone]
        sizes[into] += sizes[gone]
        sizes[gone] = 0
        goes_to[gone] = into
        costs[into] = _cost(axes, low[into], high[into])
        row = head[into]
        for i in range(sizes[into]):  # recounted, not added: persons may have rows in both
            for j in range(members.shape[1]):
                members[i, j] = secrets[row, j]
            row = following[row]
        stands[into] = group_stands(rules, tally, members, np.int64(0), sizes[into])
