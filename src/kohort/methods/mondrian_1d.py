"""Single-dimensional Mondrian: one set of intervals per column for the whole table, cut while every region may stand.

Murthy, Srinivas, paper 002 (single-dimensional partitioning, after LeFevre, DeWitt, Ramakrishnan 2006).

The cuts of all columns divide the table into regions. A cut must leave, in every region that it crosses, on each side either
nothing (the paper's own Table 2 needs that) or a group that keeps the whole promise. The paper does not say which cut is next:
here the widest interval of any column, as it is published (ties: order of the columns, then left to right), at the lower
median of the rows in it, `<=` goes left; if that is not allowed, the allowed cut nearest to balance, the left one of two; if
there is none, the interval is finished. It stays so: a part that is too small is no larger in smaller regions.

An interval is published from its first to its last value in the table, so the same value has the same text everywhere.
Categories are cut between any two neighbouring leaves; two intervals may then be told by the same node, which joins classes.
No row is left out, whatever `suppress` allows: leaving rows out to allow a cut would be another method.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kohort.constraints.constraints import Constraints
from kohort.encoding.points import Points
from kohort.methods.method import Method, Options, Partition
from kohort.progress import Progress

if TYPE_CHECKING:
    from kohort.kernels.cuts.global_cuts import RegionGuard, Regions

Interval = tuple[int, int, int]
"""(axis, first, last): a run of rows in the order of an axis."""


def partition(points: Points, constraints: Constraints, options: Options, seed: int, progress: Progress) -> Partition:
    """The regions that are not empty, in the order of their intervals."""
    del options, seed  # nothing here is random
    shape = (len(points.axes), max((axis.size for axis in points.axes), default=0))
    low_of, high_of = np.zeros((2, *shape), np.int64)
    regions = _regions(points)
    columns = np.ascontiguousarray(points.codes.T)
    orders = [np.argsort(column, kind="stable") for column in columns]
    for axis, first, last in _cut_all(points, constraints, columns, orders, regions, progress):
        begin, end = columns[axis][orders[axis][[first, last - 1]]].tolist()
        low_of[axis, begin : end + 1], high_of[axis, begin : end + 1] = begin, end
    a_row_of = np.zeros(int(regions.made[0]), np.int64)
    a_row_of[regions.of_row] = np.arange(points.rows)
    codes = np.take(columns, a_row_of, axis=1)
    low, high = (np.take_along_axis(of_code, codes.astype(np.int64), axis=1) for of_code in (low_of, high_of))
    order = np.lexsort(low[::-1])
    label_of = np.empty(len(order), np.int64)
    label_of[order] = np.arange(len(order))
    return Partition(label_of[regions.of_row], (low.T[order], high.T[order]))


def _cut_all(
    points: Points,
    constraints: Constraints,
    columns: NDArray[np.unsignedinteger],
    orders: list[NDArray[np.int64]],
    regions: Regions,
    progress: Progress,
) -> list[Interval]:
    """Cut the widest interval, and again, until each is finished; the rows get their regions on the way."""
    from kohort.kernels.core.widths import width
    from kohort.kernels.cuts.global_cuts import cut_interval

    guard, tables, state = _guard(constraints), points.kernel_tables(), progress.slot()

    def waiting(axis: int, first: int, last: int) -> tuple[int, Interval]:
        ends = columns[axis][orders[axis][[first, last - 1]]].tolist()
        return -width(tables, axis, *ends) if ends[0] < ends[1] else 1, (axis, first, last)

    open_intervals = [waiting(axis, 0, points.rows) for axis in range(len(orders)) if points.rows]
    heapify(open_intervals)
    finished: list[Interval] = []
    while open_intervals:
        progress.check()
        narrow, (axis, first, last) = heappop(open_intervals)
        left = cut_interval(columns[axis], orders[axis][first:last], constraints.k, guard, regions) if narrow <= 0 else -1
        if left < 0:
            finished.append((axis, first, last))
            state[0] += (last - first) / len(orders)
            continue
        heappush(open_intervals, waiting(axis, first, first + left))
        heappush(open_intervals, waiting(axis, first + left, last))
    progress.check()
    return finished


def _regions(points: Points) -> Regions:
    """One region of all rows."""
    from kohort.kernels.cuts.global_cuts import Regions

    rows = points.rows
    barred = np.empty(max((axis.size for axis in points.axes), default=0) + 1, np.int64)
    listed, ends, by_region = np.empty((3, rows), np.int64)
    of_row, sizes = np.zeros((2, rows), np.int64)
    return Regions(of_row, np.array([min(rows, 1)]), sizes, listed, ends, by_region, barred)


def _guard(constraints: Constraints) -> RegionGuard | None:
    """What is needed to ask more of a region than how many rows it has."""
    if not constraints.beyond_k:
        return None
    from kohort.kernels.cuts.global_cuts import RegionGuard

    return RegionGuard(
        constraints.rules, constraints.tally(), constraints.sensitive_values, np.empty_like(constraints.sensitive_values)
    )


METHOD = Method(
    name="mondrian-1d",
    summary="one set of intervals per column for the whole table, cut at medians while every region keeps the promise",
    paper="Murthy, Srinivas (paper 002); LeFevre, DeWitt, Ramakrishnan 2006",
    cost="n, times the cuts of a column",
    good_for="the same text for the same value everywhere, numbers, few columns",
    options=Options,
    partition=partition,
    recodes_globally=True,
    uses_row_order=lambda _options: False,
)
