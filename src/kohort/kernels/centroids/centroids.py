"""Rows as features, the centroids of clusters of them, and how far apart they are.

A feature is one float64 that holds a whole number: where a number lies on its axis, in units (-1 = missing), or the code of a
category (0 = missing). A centroid has the mean of the numbers, which need not be whole, and one of the codes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.core.promise_rules import Whole
from kohort.kernels.core.widths import AxisTables

UNIT = np.float64(1 << 24)
FINEST = np.float64(1 << 16)  # parts of a unit that a mean is rounded to: so sums of distances are exact, in any order


class Space(NamedTuple):
    """What rows are compared in.

    The highest node between two neighbouring leaves, over all neighbours from one leaf to another, is their common ancestor.
    So the distance of two categories is the maximum of a run, and that the maximum of two runs of a power of two.
    """

    values: NDArray[np.float64]  # (points, axes): the features of the different points
    point: NDArray[np.int64]  # per row: its point
    factor: NDArray[np.float64]  # per axis: by how much its distance counts, beside its column's weight
    shape: NDArray[np.int64]  # (axes, 2): where its runs begin in `runs`; its number of codes, 0 for numbers
    runs: NDArray[np.float64]  # per axis: the maxima of runs of 0, 1, 2, 4, ... from each code on; for numbers the full width
    power: NDArray[np.int64]  # per length: the place of the longest run in it among 0, 1, 2, 4, ...


class ClusterMembers(NamedTuple):
    """The rows of each cluster as a chain."""

    head: NDArray[np.int64]  # per cluster: its last row, or -1
    following: NDArray[np.int64]  # per row: the next of its cluster, or -1


@kernel
def apart(
    shape: NDArray[np.int64], runs: NDArray[np.float64], power: NDArray[np.int64], axis: int, one: float, other: float
) -> float:
    """How far two features of one axis are apart. It only grows as one of them moves away from the other, missing included."""
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
    """A row becomes a member."""
    members.following[row] = members.head[cluster]
    members.head[cluster] = row


@kernel
def _mean(values: NDArray[np.float64], point: NDArray[np.int64], axis: int, row: Whole, following: NDArray[np.int64]) -> float:
    """Of the present; missing, if most are."""
    present, missing, total = 0, 0, 0.0
    while row >= 0:
        index = values[point[row], axis]
        if index < 0:
            missing += 1
        else:
            present += 1
            total += index  # whole numbers: exact in any order
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
    """The value with the least total distance to the members; ties: most frequent, then lowest code.

    As in `square_error.tree`: how many members share each of a value's ancestors tells its total distance, and no value
    outside the cluster can be nearer than all inside.
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
    """One axis of the centroid of a cluster that has members; `below` is scratch, zeros, one per node of any tree."""
    if tables.numeric[axis]:
        return _mean(space.values, space.point, axis, members.head[cluster], members.following)
    return _medoid(tables, space.values, space.point, axis, members.head[cluster], members.following, below)


@kernel
def move_centroids(
    tables: AxisTables,
    space: Space,
    labels: NDArray[np.int64],  # IN (rows)
    centroids: NDArray[np.float64],  # IN OUT (clusters, axes); those of empty clusters stay
    members: ClusterMembers,  # OUT
    below: NDArray[np.int64],  # scratch, zeros (nodes)
    state: NDArray[np.int64],  # IN state[1] = stop now
) -> bool:
    """Put each centroid amid its members. Returns whether any moved."""
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
    to_centroid: NDArray[np.float64],  # OUT (rows): each row's distance
    totals: NDArray[np.int64],  # OUT (axes): their sum on each axis, without its factor, in units
    squares: NDArray[np.int64],  # OUT (axes): the sum of their squares, without its factor, in units
) -> None:
    """How far rows lie from the centroids of their clusters. Sums are of whole units: the same in any order."""
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
