"""Find the group whose merge with a given group costs least. The result is exact, but few groups are compared.

Boxes that are near each other are in one neighbourhood of a few dozen boxes. No box of a neighbourhood can be nearer than the
bounding box of the neighbourhood. So most neighbourhoods are skipped after one comparison.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.core.widths import AxisTables, number_width, tree_widths, width


class NeighbourBoxes(NamedTuple):
    """G groups on A axes in N neighbourhoods. Groups are stored neighbourhood by neighbourhood; this position is their index."""

    low: NDArray[np.int64]  # (G, A): by index
    high: NDArray[np.int64]  # (G, A)
    sizes: NDArray[np.int64]  # (G)
    costs: NDArray[np.int64]  # (G): cost of one row
    number: NDArray[np.int64]  # (G): the number of the group at each index; in a tie the lowest number is chosen
    index_of: NDArray[np.int64]  # (G): by number of the group
    home: NDArray[np.int64]  # (G): the neighbourhood of each index
    first: NDArray[np.int64]  # (N): the first index of each neighbourhood
    many: NDArray[np.int64]  # (N): number of groups in it; groups that were merged into others leave free entries after them
    bounds: NDArray[np.int64]  # (2, A, N): lowest and highest code in it
    most_expensive: NDArray[np.int64]  # (N): the highest cost of its groups
    smallest: NDArray[np.int64]  # (N): the smallest size of its groups
    least_cost: NDArray[np.int64]  # scratch (N)
    by_code: NDArray[np.int64]  # scratch (A, codes of the largest tree): cost of the current group after adding each code


@kernel
def update_neighbourhood(boxes: NeighbourBoxes, neighbourhood: int | np.int64) -> None:
    """Update bounds, highest cost and smallest size of a neighbourhood after one of its groups changed."""
    begin = boxes.first[neighbourhood]
    boxes.most_expensive[neighbourhood] = 0
    boxes.smallest[neighbourhood] = np.iinfo(np.int64).max
    for at in range(begin, begin + boxes.many[neighbourhood]):
        boxes.most_expensive[neighbourhood] = max(boxes.most_expensive[neighbourhood], boxes.costs[at])
        boxes.smallest[neighbourhood] = min(boxes.smallest[neighbourhood], boxes.sizes[at])
        for j in range(boxes.low.shape[1]):
            low, high = boxes.low[at, j], boxes.high[at, j]
            boxes.bounds[0, j, neighbourhood] = low if at == begin else min(boxes.bounds[0, j, neighbourhood], low)
            boxes.bounds[1, j, neighbourhood] = high if at == begin else max(boxes.bounds[1, j, neighbourhood], high)


@kernel
def nearest(axes: AxisTables, boxes: NeighbourBoxes, one: int | np.int64) -> int:
    """Return the index of the group whose merge increases the total loss least, or -1 if there is no other group.

    In a tie the lowest group number is chosen.
    """
    _bound_neighbourhoods(axes, boxes, one)
    best, least = -1, np.iinfo(np.int64).max
    home, size, own = boxes.home[one], boxes.sizes[one], boxes.costs[one]
    best, least = _within(axes, boxes, one, home, best, least)
    for neighbourhood in range(boxes.first.size):
        cost = boxes.least_cost[neighbourhood]
        theirs = boxes.smallest[neighbourhood] * max(cost - boxes.most_expensive[neighbourhood], 0)
        if size * (cost - own) + theirs <= least and neighbourhood != home:
            best, least = _within(axes, boxes, one, neighbourhood, best, least)
    return best


@kernel
def _bound_neighbourhoods(axes: AxisTables, boxes: NeighbourBoxes, one: int | np.int64) -> None:
    """Compute, for each neighbourhood, a lower bound for the cost of one row after a merge with any of its groups.

    The bound assumes that the other group lies at the nearest end of the neighbourhood's bounds.
    """
    costs, by_code = boxes.least_cost, boxes.by_code
    down, up, coarse_down, coarse_up = axes.down, axes.up, axes.coarse_down, axes.coarse_up
    costs[:] = 0
    for j in range(boxes.low.shape[1]):
        low, high = boxes.low[one, j], boxes.high[one, j]
        begins, ends = boxes.bounds[0, j], boxes.bounds[1, j]
        if axes.numeric[j]:
            start, full, scale, coarse_from = axes.start[j], axes.full[j], axes.scale[j], axes.coarse_from[j]
            for n in range(costs.size):
                begin, end = min(low, ends[n]), max(high, begins[n])
                if begin > 0:
                    begin, end = start + begin, start + end
                    costs[n] += number_width(down, up, coarse_down, coarse_up, coarse_from, scale, full, begin, end)
                elif end > 0:
                    costs[n] += full
        else:
            table = by_code[j]
            tree_widths(axes, j, low, high, table)
            for n in range(costs.size):
                costs[n] += table[ends[n] if ends[n] < low else begins[n] if begins[n] > high else low]


@kernel
def _within(
    axes: AxisTables, boxes: NeighbourBoxes, one: int | np.int64, neighbourhood: int | np.int64, best: int, least: int
) -> tuple[int, int]:
    """Compare the groups of one neighbourhood with the best one so far. Return the better one and the growth of the loss."""
    begin, size, own = boxes.first[neighbourhood], boxes.sizes[one], boxes.costs[one]
    lows, highs, numeric, by_code = boxes.low, boxes.high, axes.numeric, boxes.by_code
    down, up, coarse_down, coarse_up = axes.down, axes.up, axes.coarse_down, axes.coarse_up
    starts, fulls, scales, coarse_froms = axes.start, axes.full, axes.scale, axes.coarse_from
    for at in range(begin, begin + boxes.many[neighbourhood]):
        if at == one:
            continue
        rows = size + boxes.sizes[at]
        growth = -(size * own + boxes.sizes[at] * boxes.costs[at])
        for j in range(lows.shape[1]):
            if not numeric[j]:
                # The common ancestors with both ends are on one path to the root. The higher one is the common ancestor of all.
                growth += rows * max(by_code[j, lows[at, j]], by_code[j, highs[at, j]])
            else:
                low, high = min(lows[one, j], lows[at, j]), max(highs[one, j], highs[at, j])
                if low > 0:
                    low, high = starts[j] + low, starts[j] + high
                    growth += rows * number_width(
                        down, up, coarse_down, coarse_up, coarse_froms[j], scales[j], fulls[j], low, high
                    )
                elif high > 0:
                    growth += rows * fulls[j]
            if growth > least:
                break
        if growth < least or (growth == least and boxes.number[at] < boxes.number[best]):
            best, least = at, growth
    return best, least


@kernel
def merge(axes: AxisTables, boxes: NeighbourBoxes, into: int | np.int64, gone: int | np.int64) -> None:
    """Merge the group at index `gone` into the group at index `into`. The merged group keeps the lower of both numbers.

    The last group of the neighbourhood of `gone` moves to the index `gone`. This may be the merged group itself.
    """
    if boxes.number[gone] < boxes.number[into]:
        boxes.number[gone], boxes.number[into] = boxes.number[into], boxes.number[gone]
        boxes.index_of[boxes.number[gone]], boxes.index_of[boxes.number[into]] = gone, into
    boxes.costs[into] = 0
    for j in range(boxes.low.shape[1]):
        boxes.low[into, j] = min(boxes.low[into, j], boxes.low[gone, j])
        boxes.high[into, j] = max(boxes.high[into, j], boxes.high[gone, j])
        boxes.costs[into] += width(axes, j, boxes.low[into, j], boxes.high[into, j])
    boxes.sizes[into] += boxes.sizes[gone]
    home, there = boxes.home[gone], boxes.home[into]
    boxes.many[home] -= 1
    last = boxes.first[home] + boxes.many[home]
    for j in range(boxes.low.shape[1]):
        boxes.low[gone, j], boxes.high[gone, j] = boxes.low[last, j], boxes.high[last, j]
    boxes.costs[gone] = boxes.costs[last]
    left, moved = boxes.number[gone], boxes.number[last]
    boxes.sizes[gone] = boxes.sizes[last]
    boxes.sizes[last] = 0
    boxes.number[gone], boxes.number[last] = moved, left
    boxes.index_of[left], boxes.index_of[moved] = last, gone
    update_neighbourhood(boxes, home)
    update_neighbourhood(boxes, there)
