"""The pool of rows that have no group yet, with the cost of adding each to a box, or its distance from one row.

On one axis the cost depends only on the value of the row. So it is computed once for each value that occurs, and each row needs
one look-up per axis. When a box grows, only the axes on which it grew are looked up again. In code a `record` is the index of a
row in the pool.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.core.widths import AxisTables, width, widths_with

TAKEN = np.int64(1) << 60  # the cost of a row that is no longer free; no box costs as much
CHUNK = 2_048  # number of rows whose costs fit into the first-level cache while the axes are added
FREE, OUT = np.int64(0), np.int64(1)  # indices in `counts`


class FreeRecords(NamedTuple):
    """Rows in their order. Rows that were taken keep their index until `compact`. R rows, A axes, V values that occur."""

    indices: NDArray[np.int32]  # (A, R): the index in `values` of each row's value
    first: NDArray[np.int64]  # (A + 1): where the values of each axis begin
    values: NDArray[np.int64]  # (V): the codes that occur, ascending, axis by axis
    rows: NDArray[np.int64]  # (R): the number of each row in the table
    costs: NDArray[np.int64]  # (R): the cost of the current box after adding the row
    by_value: NDArray[np.int64]  # (V): the cost of the current box, on the axis of the value, after adding the value
    change: NDArray[np.int64]  # scratch (V)
    by_code: NDArray[np.int64]  # scratch (codes of the largest tree)
    box: NDArray[np.int64]  # (2, A): lowest and highest code of the current box
    taken: NDArray[np.bool_]  # (R)
    out: NDArray[np.int64]  # (R): the rows taken since the last `compact`
    counts: NDArray[np.int64]  # (2): rows in the pool, including those taken; rows taken


@kernel
def set_box(axes: AxisTables, pool: FreeRecords, record: int | np.int64) -> int:
    """Start a box that has one row. Return its cost."""
    cost = 0
    for j in range(pool.indices.shape[0]):
        code = pool.values[pool.indices[j, record]]
        pool.box[0, j] = pool.box[1, j] = code
        cost += width(axes, j, code, code)
    return cost


@kernel
def look_up_all(axes: AxisTables, pool: FreeRecords) -> None:
    """Compute the costs of all rows in the pool for the current box."""
    for j in range(pool.indices.shape[0]):
        begin, end = pool.first[j], pool.first[j + 1]
        costs_here = pool.by_value[begin:end]
        widths_with(axes, j, pool.box[0, j], pool.box[1, j], pool.values[begin:end], pool.by_code, costs_here)
    costs, by_value = pool.costs, pool.by_value
    for begin in range(0, pool.counts[FREE], CHUNK):
        end = min(begin + CHUNK, pool.counts[FREE])
        for i in range(begin, end):
            costs[i] = 0
        for j in range(pool.indices.shape[0]):
            indices = pool.indices[j]
            for i in range(begin, end):
                costs[i] += by_value[indices[i]]
    for i in range(pool.counts[OUT]):
        costs[pool.out[i]] = TAKEN


@kernel
def widen(axes: AxisTables, pool: FreeRecords, record: int | np.int64) -> int:
    """Extend the box to include a row, and update the costs on the axes where the box grew. Return the new cost of the box."""
    total = 0
    costs, change = pool.costs, pool.change
    for j in range(pool.indices.shape[0]):
        code = pool.values[pool.indices[j, record]]
        if code < pool.box[0, j] or code > pool.box[1, j]:
            low = pool.box[0, j] = min(pool.box[0, j], code)
            high = pool.box[1, j] = max(pool.box[1, j], code)
            begin, end = pool.first[j], pool.first[j + 1]
            widths_with(axes, j, low, high, pool.values[begin:end], pool.by_code, change[begin:end])
            changed = False
            for at in range(begin, end):
                cost = change[at]
                change[at] = cost - pool.by_value[at]
                pool.by_value[at] = cost
                changed |= change[at] != 0
            if changed:
                indices = pool.indices[j]
                for i in range(pool.counts[FREE]):
                    costs[i] += change[indices[i]]
        total += pool.by_value[pool.indices[j, record]]
    return total


@kernel
def cheapest(pool: FreeRecords, least: int | np.int64) -> int:
    """Return the free row with the lowest cost, in a tie the first, or -1 if none is free. No row costs less than `least`."""
    best, best_cost = -1, TAKEN // 2
    costs = pool.costs
    for i in range(pool.counts[FREE]):
        if costs[i] < best_cost:
            best, best_cost = i, costs[i]
            if best_cost <= least:
                break
    return best


@kernel
def most_expensive(pool: FreeRecords) -> int:
    """Return the free row with the highest cost, in a tie the first, or -1 if none is free."""
    best, best_cost = -1, np.int64(-1)
    costs = pool.costs
    for i in range(pool.counts[FREE]):
        if costs[i] > best_cost and costs[i] < TAKEN // 2:
            best, best_cost = i, costs[i]
    return best


@kernel
def free_record(pool: FreeRecords, number: int | np.int64) -> int:
    """Return the index in the pool of the free row with this number, counting only free rows."""
    record = 0
    while pool.taken[record] or number > 0:
        number -= not pool.taken[record]
        record += 1
    return record


@kernel
def take(pool: FreeRecords, record: int | np.int64) -> None:
    """Mark a row as taken."""
    pool.costs[record] = TAKEN
    pool.taken[record] = True
    pool.out[pool.counts[OUT]] = record
    pool.counts[OUT] += 1


@kernel
def give_back(pool: FreeRecords, many: int | np.int64) -> None:
    """Make the last rows taken free again. Their costs are correct only after the next `look_up_all`."""
    for _ in range(many):
        pool.counts[OUT] -= 1
        pool.taken[pool.out[pool.counts[OUT]]] = False


@kernel
def compact(pool: FreeRecords) -> None:
    """Remove the rows taken from the pool, once they are a sixteenth of it.

    This is rare enough to cost almost no time, and frequent enough to make the scans faster.
    """
    total, out = pool.counts[FREE], pool.counts[OUT]
    if out * 16 < total:
        return
    for j in range(pool.indices.shape[0]):
        indices, to = pool.indices[j], 0
        for i in range(total):
            indices[to] = indices[i]
            to += not pool.taken[i]
    to = 0
    for i in range(total):
        pool.rows[to] = pool.rows[i]
        to += not pool.taken[i]
    pool.taken[:total] = False
    pool.counts[FREE], pool.counts[OUT] = total - out, 0
    _forget_values(pool)


@kernel
def _forget_values(pool: FreeRecords) -> None:
    """Remove the values that no remaining row has, so that no cost is computed for them.

    A column whose values are nearly unique has almost as many values as rows.
    """
    free, kept, begin = pool.counts[FREE], 0, np.int64(0)
    number = pool.change
    for j in range(pool.indices.shape[0]):
        indices, end = pool.indices[j], pool.first[j + 1]
        number[begin:end] = -1
        for i in range(free):
            number[indices[i]] = 0
        pool.first[j] = kept
        for at in range(begin, end):
            if number[at] == 0:
                pool.values[kept] = pool.values[at]
                number[at] = kept
                kept += 1
        for i in range(free):
            indices[i] = number[indices[i]]
        begin = end
    pool.first[pool.indices.shape[0]] = kept
