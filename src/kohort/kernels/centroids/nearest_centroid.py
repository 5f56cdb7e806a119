"""Find the nearest centroid exactly, without computing all distances, with a tree of boxes. Boxes too far away are skipped.

The distance of a point to a box is at most its distance to any centroid in the box. Both distances are sums over the axes in
the same order, each term of the first is at most that of the second, and rounding keeps this order. So the bound needs no
tolerance, and ties remain ties.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.centroids.centroid_tree import Nest, change_room, make_room
from kohort.kernels.centroids.centroids import Space, apart
from kohort.kernels.core.promise_rules import Whole


@kernel
def nearest(
    space: Space,
    nest: Nest,
    point: Whole,
    sizes: NDArray[np.int64],  # IN (clusters)
    limit: Whole,  # only clusters with fewer members are candidates; 0 = all clusters are
    begin_with: Whole,  # a cluster to compare first, or -1
) -> np.int64:
    """Return the nearest cluster; in a tie the lowest number."""
    # The tuples are unpacked once, and the code of `apart` is repeated here: a call per distance takes five times as long.
    values, _point, factor, shape, runs, power = space
    low, high, first, last, lowest, room, order, index, _home, stack, bound = nest
    boxes, best, least = first.size, np.int64(-1), np.inf
    stack[0], bound[0], waiting = 0, 0.0, 1
    if begin_with >= 0:
        stack[1], bound[1], waiting = boxes + index[begin_with], 0.0, 2
    while waiting > 0:
        waiting -= 1
        box = stack[waiting]
        entry, end = box, box + 1
        if box < boxes:
            if bound[waiting] > least or (bound[waiting] == least and lowest[box] > best) or (limit > 0 and room[box] == 0):
                continue
            if 2 * box + 2 < boxes:
                entry, end = 2 * box + 1, 2 * box + 3
            else:
                entry, end = boxes + first[box], boxes + last[box]
        before = waiting
        while entry < end:
            if entry < boxes or box >= boxes or limit == 0 or sizes[order[entry - boxes]] < limit:
                total = 0.0
                for j in range(factor.size):
                    value = values[point, j]
                    inside = min(max(value, low[entry, j]), high[entry, j])
                    start, size = shape[j, 0], shape[j, 1]
                    if size == 0:
                        between = abs(value - inside)
                        if (value < 0) != (inside < 0):
                            between = runs[start]
                    else:
                        code, other = np.int64(value), np.int64(inside)
                        down, up = min(code, other), max(code, other)
                        level = power[up - down]
                        start += level * size
                        between = max(runs[start + down], runs[start + up - ((1 << level) >> 1)])
                    total += factor[j] * between
                    if total > least:
                        break
                if entry < boxes:
                    if total <= least:
                        stack[waiting], bound[waiting] = entry, total
                        waiting += 1
                elif total < least or (total == least and order[entry - boxes] < best):
                    best, least = order[entry - boxes], total
            entry += 1
        if waiting == before + 2 and bound[before] < bound[before + 1]:  # the nearer of two boxes is searched first
            stack[before], stack[before + 1] = stack[before + 1], stack[before]
            bound[before], bound[before + 1] = bound[before + 1], bound[before]
    return best


@kernel
def _between(space: Space, values: NDArray[np.float64], one: Whole, centroids: NDArray[np.float64], cluster: Whole) -> float:
    """Return the distance between a point and a centroid."""
    _values, _point, factor, shape, runs, power = space
    total = 0.0
    for j in range(factor.size):
        total += factor[j] * apart(shape, runs, power, j, values[one, j], centroids[cluster, j])
    return total


@kernel
def assign(
    space: Space,
    centres: Space,  # its points are the centroids
    nest: Nest,
    stayed: NDArray[np.int64],  # IN (clusters): 1 = its centroid has not moved since points were last assigned
    of_point: NDArray[np.int64],  # IN OUT (points): its cluster in the last round, or -1; then its nearest cluster
    alone: NDArray[np.float64],  # scratch (clusters)
    state: NDArray[np.int64],  # IN state[1] = stop now
) -> None:
    """Find the nearest cluster of every point.

    If the centroid of a point's cluster did not move, only centroids that moved can be nearer to the point. A centroid whose
    distance from the point's centroid is more than twice that of the point cannot be nearer. Points are sorted, so in the first
    round the search starts with the cluster of the point before.
    """
    centroids = centres.values
    make_room(nest, stayed, np.int64(1))
    for cluster in range(stayed.size):
        if state[1] != 0:
            return
        alone[cluster] = 0.0
        if stayed[cluster] > 0:
            other = nearest(centres, nest, cluster, stayed, np.int64(1), np.int64(-1))
            alone[cluster] = np.inf if other < 0 else _between(space, centroids, cluster, centroids, other)
    begin = np.int64(-1)
    for point in range(of_point.size):
        if state[1] != 0:
            return
        begin = of_point[point] if of_point[point] >= 0 else begin
        if begin >= 0 and stayed[begin] > 0:
            if 2 * _between(space, space.values, point, centroids, begin) < alone[begin]:
                continue
            begin = nearest(space, nest, point, stayed, np.int64(1), begin)
        else:
            begin = nearest(space, nest, point, stayed, np.int64(0), begin)
        of_point[point] = begin


@kernel
def fill(
    space: Space,
    nest: Nest,
    order: NDArray[np.int64],  # IN (rows): the order in which rows are assigned
    k: Whole,
    sizes: NDArray[np.int64],  # IN OUT (clusters)
    labels: NDArray[np.int64],  # IN OUT (rows): -1 before the call for rows without a cluster
    before: NDArray[np.int64],  # IN (rows): the cluster in the last round, or -1
    favourite: NDArray[np.int64],  # scratch (points): filled with -1 before the call
    state: NDArray[np.int64],  # IN state[1] = stop now
) -> None:
    """Assign rows without a cluster to the nearest one with fewer than k members, or, if there is none, to the nearest of all."""
    make_room(nest, sizes, k)
    last = np.int64(0)
    for row in order:
        if labels[row] >= 0 or state[1] != 0:
            continue
        point = space.point[row]
        best = favourite[point]
        if nest.room[0] == 0:
            best = nearest(space, nest, point, sizes, np.int64(0), best)
        elif best < 0 or sizes[best] >= k:  # otherwise it is still the nearest: the set of candidates only shrinks
            begin = before[row]
            if begin < 0 or sizes[begin] >= k:
                begin = last if sizes[last] < k else np.int64(-1)
            best = nearest(space, nest, point, sizes, k, begin)
        favourite[point] = last = best
        labels[row] = best
        sizes[best] += 1
        if sizes[best] == k:
            change_room(nest, best, np.int64(-1))


@kernel
def join_others(
    space: Space,  # its points are the centroids
    nest: Nest,
    small: NDArray[np.int64],  # IN (clusters): 1 = too small, must join another
    goes_to: NDArray[np.int64],  # IN OUT (clusters): itself before the call; then the cluster that it joins
) -> None:
    """Find, for each small cluster, the nearest cluster that is not small."""
    make_room(nest, small, np.int64(1))
    for cluster in range(small.size):
        if small[cluster] > 0:
            goes_to[cluster] = nearest(space, nest, cluster, small, np.int64(1), np.int64(-1))
