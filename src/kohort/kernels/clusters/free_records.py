"""The records that are still free, and what each would cost: with a box that grows, or as the neighbour of a record.

On one axis the cost depends on a record's value alone. So it is worked out once for each value that occurs, and a record
costs one look-up an axis; when a box grows, only the axes on which it grew are looked up again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.core.widths import AxisTables, width, widths_with

TAKEN = np.int64(1) << 60  # the cost of a record that is no longer free; no box costs so much
CHUNK = 2_048  # records whose costs stay in the first cache while axis after axis is added
FREE, OUT = np.int64(0), np.int64(1)  # places in `counts`


class FreeRecords(NamedTuple):
    """Records in their order; those taken stay in their place until `compact`. R records, A axes, V values that occur."""

    indices: NDArray[np.int32]  # (A, R): where each record's value stands in `values`
    first: NDArray[np.int64]  # (A + 1): where each axis' values begin
    values: NDArray[np.int64]  # (V): the codes that occur, ascending, axis by axis
    rows: NDArray[np.int64]  # (R): which row of the table each record is
    costs: NDArray[np.int64]  # (R)
    by_value: NDArray[np.int64]  # (V): what each value costs with the box at hand
    change: NDArray[np.int64]  # (V): scratch
    by_code: NDArray[np.int64]  # scratch, as long as the largest tree has codes
    box: NDArray[np.int64]  # (2, A): lowest and highest code of the box at hand
    taken: NDArray[np.bool_]  # (R)
    out: NDArray[np.int64]  # (R): the records taken since the last `compact`
    counts: NDArray[np.int64]  # (2): records in the pool, taken ones included; how many of them are taken


@kernel
def set_box(axes: AxisTables, pool: FreeRecords, record: int | np.int64) -> int:
    """Start a box from one record; its cost."""
    cost = 0
    for j in range(pool.indices.shape[0]):
        code = pool.values[pool.indices[j, record]]
        pool.box[0, j] = pool.box[1, j] = code
        cost += width(axes, j, code, code)
    return cost


@kernel
def look_up_all(axes: AxisTables, pool: FreeRecords) -> None:
    """What each record in the pool costs with the box."""
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
    """Let a record into the box; costs follow on the axes where that changes them. The box's new cost."""
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
    """The free record of least cost, the first of equals; -1 if none is free. None costs less than `least`."""
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
    """The free record of highest cost, the first of equals; -1 if none is free."""
    best, best_cost = -1, np.int64(-1)
    costs = pool.costs
    for i in range(pool.counts[FREE]):
        if costs[i] > best_cost and costs[i] < TAKEN // 2:
            best, best_cost = i, costs[i]
    return best


@kernel
def free_record(pool: FreeRecords, number: int | np.int64) -> int:
    """The place of the free record with this number, counted in the pool's order."""
    record = 0
    while pool.taken[record] or number > 0:
        number -= not pool.taken[record]
        record += 1
    return record


@kernel
def take(pool: FreeRecords, record: int | np.int64) -> None:
    pool.costs[record] = TAKEN
    pool.taken[record] = True
    pool.out[pool.counts[OUT]] = record
    pool.counts[OUT] += 1


@kernel
def give_back(pool: FreeRecords, many: int | np.int64) -> None:
    """The last records taken are free again; their costs are only known after the next `look_up_all`."""
    for _ in range(many):
        pool.counts[OUT] -= 1
        pool.taken[pool.out[pool.counts[OUT]]] = False


@kernel
def compact(pool: FreeRecords) -> None:
    """Close the gaps once a sixteenth of the pool is taken: rarely enough to cost nothing, often enough to gain."""
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
    """Values that only records held which are gone need no cost any more: near-unique columns have as many as records."""
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
