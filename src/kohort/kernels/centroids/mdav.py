"""MDAV: form clusters of k around the rows farthest from the centre.

Rows without a cluster are kept contiguous in memory, so that scans are fast.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.centroids.centroids import FINEST, apart
from kohort.kernels.core.promise_rules import Whole
from kohort.kernels.core.widths import AxisTables


class Left(NamedTuple):
    """The rows that have no cluster yet, in row order, with sums and counts over all of them."""

    rows: NDArray[np.int64]
    values: NDArray[np.float64]  # (axes, rows): features as in `centroids.Space`
    distance: NDArray[np.float64]  # of each row, to the point last used in `_look`
    sums: NDArray[np.float64]  # per numeric axis: sum of the values present
    present: NDArray[np.int64]  # per axis: number of values present
    below: NDArray[np.int64]  # per node of all trees: number of rows below it


class Reach(NamedTuple):
    """How distances between features are computed, as in `centroids.Space`."""

    shape: NDArray[np.int64]
    runs: NDArray[np.float64]
    power: NDArray[np.int64]
    from_here: NDArray[np.float64]  # scratch (codes of the longest axis): distance of each code from the current point
    squared: bool  # whether distances are squared on each axis


@kernel
def _count(tables: AxisTables, left: Left, index: Whole, change: Whole) -> None:
    """Add a row to the sums and counts (change = 1), or remove it (change = -1)."""
    for j in range(left.values.shape[0]):
        value = left.values[j, index]
        if tables.numeric[j]:
            if value >= 0:
                left.present[j] += change
                left.sums[j] += change * value
        elif value > 0:
            left.present[j] += change
            start, size, code, before = tables.start[j], tables.size[j], np.int64(value), -1
            for level in range(tables.height[j]):
                node = tables.ancestors[start + level * size + code]
                if node != before:
                    left.below[node] += change
                before = node


@kernel
def _centre(tables: AxisTables, left: Left, count: Whole, here: NDArray[np.float64]) -> None:
    """Compute the centroid of the rows without a cluster, as in `centroids`."""
    ancestors, cost = tables.ancestors, tables.node_cost
    for j in range(here.size):
        present, missing = left.present[j], count - left.present[j]
        if tables.numeric[j]:
            here[j] = -1.0 if missing > present else np.rint(left.sums[j] / present * FINEST) / FINEST
            continue
        start, size, full = tables.start[j], tables.size[j], tables.full[j]
        best, best_distance, best_count = 0, present * full, missing
        for code in range(1, size):
            node = ancestors[start + code]
            copies = left.below[node]
            if copies == 0:
                continue
            total = missing * full
            for level in range(1, tables.height[j] + 1):
                above = ancestors[start + level * size + code]
                total += (cost[above] - cost[node]) * (present - left.below[node])
                node = above
            if total < best_distance or (total == best_distance and copies > best_count):  # a tie: the lowest code
                best, best_distance, best_count = code, total, copies
        here[j] = best


@kernel
def _look(reach: Reach, left: Left, count: Whole, here: NDArray[np.float64]) -> np.int64:
    """Compute the distances from `here` to the rows without a cluster. Return the index of the farthest; in a tie the first."""
    shape, runs, power, from_here, squared = reach
    values, distance = left.values, left.distance
    distance[:count] = 0.0
    for j in range(here.size):
        origin, column = here[j], values[j]
        if shape[j, 1] > 0:
            for code in range(shape[j, 1]):
                from_here[code] = apart(shape, runs, power, j, np.float64(code), origin)
            for i in range(count):
                distance[i] += from_here[np.int64(column[i])]
        elif squared:
            for i in range(count):
                distance[i] += (column[i] - origin) ** 2
        else:
            full = runs[shape[j, 0]]
            for i in range(count):
                distance[i] += full if (column[i] < 0) != (origin < 0) else abs(column[i] - origin)
    return np.int64(np.argmax(distance[:count]))


@kernel
def _sink(distance: NDArray[np.float64], heap: NDArray[np.int64], root: Whole, size: Whole) -> None:
    """Restore a heap of indices from its root down. The farthest row is on top; in a tie the last one."""
    while True:
        child = 2 * root + 1
        if child >= size:
            break
        if child + 1 < size:
            one, other = heap[child], heap[child + 1]
            if distance[other] > distance[one] or (distance[other] == distance[one] and other > one):
                child += 1
        one, other = heap[root], heap[child]
        if distance[one] > distance[other] or (distance[one] == distance[other] and one > other):
            break
        heap[root], heap[child] = other, one
        root = child


@kernel
def _take(
    tables: AxisTables,
    left: Left,
    count: Whole,
    centre: Whole,
    cluster: Whole,
    labels: NDArray[np.int64],
    heap: NDArray[np.int64],
) -> np.int64:
    """Form a cluster of the row at `centre` and its nearest rows, as many as the heap holds. Return how many rows remain."""
    k, distance = heap.size, left.distance
    distance[centre] = -1.0
    for index in range(k):
        heap[index] = index
    for root in range(k // 2 - 1, -1, -1):
        _sink(distance, heap, root, k)
    for index in range(k, count):
        if distance[index] < distance[heap[0]]:
            heap[0] = index
            _sink(distance, heap, np.int64(0), k)
    for index in heap:
        _count(tables, left, index, np.int64(-1))
        labels[left.rows[index]] = cluster
    heap.sort()
    for taken in range(k):
        begin, end = heap[taken] + 1, heap[taken + 1] if taken + 1 < k else count
        for index in range(begin, end):
            left.rows[index - taken - 1] = left.rows[index]
            distance[index - taken - 1] = distance[index]
    for j in range(left.values.shape[0]):
        column = left.values[j]
        for taken in range(k):
            begin, end = heap[taken] + 1, heap[taken + 1] if taken + 1 < k else count
            for index in range(begin, end):
                column[index - taken - 1] = column[index]
    return np.int64(count - k)


@kernel
def mdav(
    tables: AxisTables,
    reach: Reach,
    left: Left,  # IN OUT: all rows before the call, with sums and counts zero
    labels: NDArray[np.int64],  # OUT (rows)
    heap: NDArray[np.int64],  # scratch (k)
    here: NDArray[np.float64],  # scratch (axes)
    state: NDArray[np.int64],  # OUT state[0] = rows done, IN state[1] = stop now
) -> None:
    """Form two clusters at a time while at least 3k rows remain, then one if at least 2k remain. The rest is the last cluster."""
    k, count, cluster = heap.size, np.int64(labels.size), np.int64(0)
    for index in range(count):
        _count(tables, left, index, np.int64(1))
    while count >= 2 * k and state[1] == 0:
        twice = count >= 3 * k
        _centre(tables, left, count, here)
        far = _look(reach, left, count, here)
        for _ in range(2 if twice else 1):
            here[:] = left.values[:, far]
            _look(reach, left, count, here)
            count = _take(tables, left, count, far, cluster, labels, heap)
            cluster += 1
            far = np.int64(np.argmax(left.distance[:count]))
        state[0] = labels.size - count
    for index in range(count):
        labels[left.rows[index]] = cluster
