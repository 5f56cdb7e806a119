"""Single-dimensional Mondrian: cut each column into one set of intervals for the whole table, while every region is valid.

Murthy, Srinivas (single-dimensional partitioning, after LeFevre, DeWitt, Ramakrishnan 2006).

The cuts of all columns divide the table into regions. In every region that a cut crosses, each side must be empty or a group that
keeps all promises. (The paper's Table 2 needs empty sides.) The paper does not define which cut is next. Here it is in the widest
interval of any column, as published (ties: order of the columns, then left to right), at the lower median of its rows; values up
to the median go left. If this cut is not valid, the valid cut nearest to balance is used, the left one of two. If there is none,
the interval is finished. It cannot become cuttable later, because later cuts only make regions smaller.

An interval is published from its first to its last value in the table, so the same value has the same text everywhere.
Categories are cut between any two neighbouring leaves. Two intervals can then have the same lowest common node; they are
published identically, and their groups become one. This method suppresses no rows, whatever `suppress` allows: a method that
suppresses rows to allow a cut would be a different one.
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
"""(axis, first, last): the rows from `first` up to but not including `last`, in the order of the axis."""


def partition(points: Points, constraints: Constraints, options: Options, seed: int, progress: Progress) -> Partition:
    """Return the regions that are not empty as groups, in the order of their intervals."""
    del options, seed  # nothing here is random
    shape = (len(points.axes), max((axis.size for axis in points.axes), default=0))
    low_of, high_of = np.zeros((2, *shape), np.int64)
    regions = _regions(points)
    columns = np.ascontiguousarray(points.codes.T)
    orders = [np.argsort(column, kind="stable") for column in columns]
    for axis, first, last in _cut_all(points, constraints, columns, orders, regions, progress):
        begin, end = columns[axis][orders[axis][[first, last - 1]]].tolist()
        low_of[axis, begin : end + 1], high_of[axis, begin : end + 1] = begin, end
    row_of_region = np.zeros(int(regions.made[0]), np.int64)
    row_of_region[regions.of_row] = np.arange(points.rows)
    codes = np.take(columns, row_of_region, axis=1)
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
    """Cut the widest interval repeatedly until all intervals are finished. `regions` is updated with every cut."""
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
    """Return the regions before the first cut: one region with all rows."""
    from kohort.kernels.cuts.global_cuts import Regions

    rows = points.rows
    barred = np.empty(max((axis.size for axis in points.axes), default=0) + 1, np.int64)
    listed, ends, by_region = np.empty((3, rows), np.int64)
    of_row, sizes = np.zeros((2, rows), np.int64)
    return Regions(of_row, np.array([min(rows, 1)]), sizes, listed, ends, by_region, barred)


def _guard(constraints: Constraints) -> RegionGuard | None:
    """Return what the kernel needs to check promises other than k; None if there are none."""
    if not constraints.beyond_k:
        return None
    from kohort.kernels.cuts.global_cuts import RegionGuard

    return RegionGuard(
        constraints.rules, constraints.tally(), constraints.sensitive_values, np.empty_like(constraints.sensitive_values)
    )


METHOD = Method(
    name="mondrian-1d",
    summary="Cut each column at medians into one set of intervals for the whole table, while every group keeps the promises.",
    paper="Murthy, Srinivas; LeFevre, DeWitt, Ramakrishnan 2006",
    cost="n x cuts per column",
    good_for="equal values published identically everywhere; columns of numbers; few columns",
    options=Options,
    partition=partition,
    recodes_globally=True,
    uses_row_order=lambda _options: False,
)
