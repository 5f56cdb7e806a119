"""MDAV: clusters of k around the rows that lie furthest out. What is left stays close together, so that scans are quick."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.centroids.centroids import FINEST, apart
from kohort.kernels.core.promise_rules import Whole
from kohort.kernels.core.widths import AxisTables


class Left(NamedTuple):
    """The rows that have no cluster yet, in row order, and what is known of them all."""

    rows: NDArray[np.int64]
    values: NDArray[np.float64]  # (axes, rows): features as in `centroids.Space`
    distance: NDArray[np.float64]  # of each, to what was looked from last
    sums: NDArray[np.float64]  # per axis of numbers: of those that are present
    present: NDArray[np.int64]  # per axis
    below: NDArray[np.int64]  # per node of any tree: how many stand below it


class Reach(NamedTuple):
    """How features are compared, as in `centroids.Space`."""

    shape: NDArray[np.int64]
    runs: NDArray[np.float64]
    power: NDArray[np.int64]
    from_here: NDArray[np.float64]  # scratch (codes of the longest axis): how far each is from what is looked from
    squared: bool  # distances are squared on each axis


@kernel
def _count(tables: AxisTables, left: Left, index: Whole, change: Whole) -> None:
    """A row comes (1) or leaves (-1)."""
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
    """The centroid of what is left, as in `centroids`."""
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
            if total < best_distance or (total == best_distance and copies > best_count):  # codes ascend: the lowest of equals
                best, best_distance, best_count = code, total, copies
        here[j] = best


@kernel
def _look(reach: Reach, left: Left, count: Whole, here: NDArray[np.float64]) -> np.int64:
    """How far all that is left lies from here. Returns the place of the furthest, the first of equals."""
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
    """Let the root of a heap of places sink until the furthest is on top, of equals the last."""
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
    """The row at `centre` and those nearest to it, as many as the heap holds, become a cluster. Returns how many are left."""
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
    left: Left,  # IN OUT: all rows; sums and counts come in as zeros
    labels: NDArray[np.int64],  # OUT (rows)
    heap: NDArray[np.int64],  # scratch (k)
    here: NDArray[np.float64],  # scratch (axes)
    state: NDArray[np.int64],  # OUT state[0] = rows done, IN state[1] = stop now
) -> None:
    """While 3k rows are left, two clusters; from 2k on one more; the rest is the last."""
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
