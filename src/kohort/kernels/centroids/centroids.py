"""Rows as features, centroids of clusters, and the distances between them.

A feature is one float64 that holds a whole number: the position of a number on its axis, in units (-1 = missing), or the code
of a category (0 = missing). On a numeric axis the centroid has the mean, which may be fractional; on a tree it has a code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.core.promise_rules import Whole
from kohort.kernels.core.widths import AxisTables

UNIT = np.float64(1 << 24)
FINEST = np.float64(1 << 16)  # means are rounded to this fraction of a unit, so that sums of distances are exact in any order


class Space(NamedTuple):
    """The features of all rows, and tables to compute distances.

    The common ancestor of two leaves is the highest of the common ancestors of all neighbouring leaves between them. So the
    distance of two categories is the maximum over a run of codes. It is the larger of the maxima of two runs whose length is a
    power of two.
    """

    values: NDArray[np.float64]  # (points, axes): the features of the different points
    point: NDArray[np.int64]  # per row: its point
    factor: NDArray[np.float64]  # per axis: factor of its distance, in addition to the weight of its column
    shape: NDArray[np.int64]  # (axes, 2): where its runs begin in `runs`; its number of codes, 0 for numbers
    runs: NDArray[np.float64]  # per axis: the maxima of runs of 0, 1, 2, 4, ... from each code on; for numbers the full width
    power: NDArray[np.int64]  # per length: the index, in 0, 1, 2, 4, ..., of the longest run that fits into it


class ClusterMembers(NamedTuple):
    """The rows of each cluster as a linked list."""

    head: NDArray[np.int64]  # per cluster: its last row, or -1
    following: NDArray[np.int64]  # per row: the next of its cluster, or -1


@kernel
def apart(
    shape: NDArray[np.int64], runs: NDArray[np.float64], power: NDArray[np.int64], axis: int, one: float, other: float
) -> float:
    """Return the distance of two features of one axis.

    It never falls when one of them moves away from the other. This includes missing values.
    """
    start, size = shape[axis, 0], shape[axis, 1]
    if size == 0:
        between = abs(one - other)
        if (one < 0) != (other < 0):
            between = runs[start]
    else:
        code, other_code = np.int64(one), np.int64(other)
        low, high = min(code, other_code), max(code, other_code)
        level = power[high - low]
        start += level * size
        between = max(runs[start + low], runs[start + high - ((1 << level) >> 1)])
    return between


@kernel
def join(members: ClusterMembers, row: Whole, cluster: Whole) -> None:
    """Add a row to a cluster."""
    members.following[row] = members.head[cluster]
    members.head[cluster] = row


@kernel
def _mean(values: NDArray[np.float64], point: NDArray[np.int64], axis: int, row: Whole, following: NDArray[np.int64]) -> float:
    """Return the mean of the values present, or -1 (missing) if most values are missing."""
    present, missing, total = 0, 0, 0.0
    while row >= 0:
        index = values[point[row], axis]
        if index < 0:
            missing += 1
        else:
            present += 1
            total += index  # integers: the sum is exact in any order
        row = following[row]
    return -1.0 if missing > present else np.rint(total / present * FINEST) / FINEST


@kernel
def _medoid(
    tables: AxisTables,
    values: NDArray[np.float64],
    point: NDArray[np.int64],
    axis: int,
    head: Whole,
    following: NDArray[np.int64],
    below: NDArray[np.int64],
) -> float:
    """Return the value with the lowest total distance to the members; in a tie the most frequent, then the lowest code.

    As in `square_error.tree`, the total distance of a value follows from the number of members below each of its ancestors.
    No value outside the cluster has a lower total distance than all values in it.
    """
    ancestors, cost, full = tables.ancestors, tables.node_cost, tables.full[axis]
    start, size, levels = tables.start[axis], tables.size[axis], tables.height[axis]
    present, missing = 0, 0
    row = head
    while row >= 0:
        code = np.int64(values[point[row], axis])
        if code == 0:
            missing += 1
        else:
            present += 1
            before = -1
            for level in range(levels):
                node = ancestors[start + level * size + code]
                if node != before:
                    below[node] += 1
                before = node
        row = following[row]
    best, best_distance, best_count = np.int64(0), present * full, missing
    row = head
    while row >= 0:
        code = np.int64(values[point[row], axis])
        row = following[row]
        if code in (0, best):
            continue
        total = missing * full
        node = ancestors[start + code]
        count = below[node]
        for level in range(levels):
            above = ancestors[start + (level + 1) * size + code]
            total += (cost[above] - cost[node]) * (present - below[node])
            if total > best_distance:
                break
            node = above
        if total < best_distance or (total == best_distance and (count > best_count or (count == best_count and code < best))):
            best, best_distance, best_count = code, total, count
    row = head
    while row >= 0:
        code = np.int64(values[point[row], axis])
        if code != 0:
            for level in range(levels):
                below[ancestors[start + level * size + code]] = 0
        row = following[row]
    return np.float64(best)


@kernel
def centre(
    tables: AxisTables, space: Space, axis: int, members: ClusterMembers, cluster: Whole, below: NDArray[np.int64]
) -> float:
    """Return one axis of the centroid of a cluster with members. `below` is scratch (nodes of all trees), filled with zeros."""
    if tables.numeric[axis]:
        return _mean(space.values, space.point, axis, members.head[cluster], members.following)
    return _medoid(tables, space.values, space.point, axis, members.head[cluster], members.following, below)


@kernel
def move_centroids(
    tables: AxisTables,
    space: Space,
    labels: NDArray[np.int64],  # IN (rows)
    centroids: NDArray[np.float64],  # IN OUT (clusters, axes): centroids of empty clusters do not change
    members: ClusterMembers,  # OUT
    below: NDArray[np.int64],  # scratch (nodes), zeros
    state: NDArray[np.int64],  # IN state[1] = stop now
) -> bool:
    """Compute the centroid of each cluster from its members. Return whether any centroid moved."""
    members.head[:] = -1
    for row in range(labels.size):
        join(members, row, labels[row])
    moved = False
    for cluster in range(members.head.size):
        if members.head[cluster] < 0 or state[1] != 0:
            continue
        for j in range(centroids.shape[1]):
            new = centre(tables, space, j, members, cluster, below)
            moved = moved or new != centroids[cluster, j]
            centroids[cluster, j] = new
    return moved


@kernel
def measure_spread(
    space: Space,
    labels: NDArray[np.int64],  # IN (rows)
    centroids: NDArray[np.float64],  # IN (clusters, axes)
    to_centroid: NDArray[np.float64],  # OUT (rows): the distance of each row
    totals: NDArray[np.int64],  # OUT (axes): sum of the distances on the axis, without its factor, in units
    squares: NDArray[np.int64],  # OUT (axes): sum of the squared distances on the axis, without its factor, in units
) -> None:
    """Compute the distances of rows to the centroids of their clusters. Sums are integers, so they are the same in any order."""
    values, point_of, factor, shape, runs, power = space
    totals[:] = 0
    squares[:] = 0
    for row in range(labels.size):
        point, cluster, total = point_of[row], labels[row], 0.0
        for j in range(totals.size):
            step = apart(shape, runs, power, j, values[point, j], centroids[cluster, j])
            total += factor[j] * step
            totals[j] += np.int64(np.rint(step))
            squares[j] += np.int64(np.rint(step * step / UNIT))
        to_centroid[row] = total
