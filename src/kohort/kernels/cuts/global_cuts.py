"""Cut one axis through the whole table. A cut must be allowed in every region that it crosses.

The rows of an interval are sorted by their codes. A counting sort groups them by region and keeps this order within each region.
Each region then forbids the cuts that would leave an invalid part of it. One pass over the interval finds the best cut that no
region forbids. The time is linear in the number of rows and codes of the interval.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.core.promise_rules import Rules, Tally, Whole, clear, cross, enter, has_room, side_is_valid, sort_present

LEFT, RIGHT = np.int64(0), np.int64(1)


class Regions(NamedTuple):
    """The region of each row, and working memory for the regions of one interval."""

    of_row: NDArray[np.int64]  # IN OUT (rows)
    made: NDArray[np.int64]  # IN OUT (1): number of regions so far
    sizes: NDArray[np.int64]  # scratch (rows), zero between two calls: rows of each region in the interval
    listed: NDArray[np.int64]  # scratch (rows): the regions in the interval
    ends: NDArray[np.int64]  # scratch (rows): where the rows of each region end
    rows: NDArray[np.int64]  # scratch (rows): the rows, region by region
    barred: NDArray[np.int64]  # scratch (codes of the longest axis + 1): changes, from cut to cut, of how many regions forbid it


class RegionGuard(NamedTuple):
    """The promises other than k, and working memory to check them for parts of regions."""

    rules: Rules
    tally: Tally
    of_row: NDArray[np.int64]  # IN (rows, sensitive)
    sensitive: NDArray[np.int64]  # scratch (rows, sensitive): region by region


@kernel
def cut_interval(
    codes: NDArray[np.unsignedinteger],  # IN (rows): codes of the axis
    order: NDArray[np.int64],  # IN: the rows of the interval, sorted by code
    k: int,
    guard: RegionGuard | None,  # None = k is the only promise; numba then compiles the kernel without the other checks
    regions: Regions,
) -> int:
    """Cut an interval at its lower median, or else at the allowed cut nearest to balance. Return the rows on the left, or -1."""
    first, last = np.int64(codes[order[0]]), np.int64(codes[order[-1]])
    barred = regions.barred
    barred[: last - first + 1] = 0
    found = _deal(order, regions)
    begin = np.int64(0)
    for i in range(found):
        end = regions.ends[regions.listed[i]]
        if guard is not None:
            for at in range(begin, end):
                for j in range(guard.sensitive.shape[1]):
                    guard.sensitive[at, j] = guard.of_row[regions.rows[at], j]
            _bar_failing(codes, regions.rows, begin, end, first, guard, barred)
        else:
            _bar_small(codes, regions.rows, begin, end, first, k, barred)
        begin = end
    left = _best_cut(codes, order, first, last, barred)
    if left >= 0:
        _part(codes, np.int64(codes[order[left]]), found, regions)
    for i in range(found):
        regions.sizes[regions.listed[i]] = 0
    return left


@kernel
def _deal(order: NDArray[np.int64], regions: Regions) -> int:
    """Sort the rows by region, keeping the order by code within each region. Return the number of regions."""
    sizes, listed, ends = regions.sizes, regions.listed, regions.ends
    found = 0
    for i in range(order.size):
        region = regions.of_row[order[i]]
        if sizes[region] == 0:
            listed[found] = region
            found += 1
        sizes[region] += 1
    begin = 0
    for i in range(found):
        ends[listed[i]] = begin
        begin += sizes[listed[i]]
    for i in range(order.size):
        region = regions.of_row[order[i]]
        regions.rows[ends[region]] = order[i]
        ends[region] += 1
    return found


@kernel
def _bar_small(
    codes: NDArray[np.unsignedinteger],
    rows: NDArray[np.int64],
    begin: Whole,
    end: Whole,
    first: Whole,
    k: int,
    barred: NDArray[np.int64],
) -> None:
    """Forbid the cuts that leave at least one but fewer than k rows of a region on a side."""
    low, high = np.int64(codes[rows[begin]]), np.int64(codes[rows[end - 1]])
    if end - begin < 2 * k:
        _bar(barred, first, low, high)
        return
    enough_left, enough_right = np.int64(codes[rows[begin + k - 1]]), np.int64(codes[rows[end - k]])
    _bar(barred, first, low, enough_left)
    _bar(barred, first, enough_right, high)


@kernel
def _bar(barred: NDArray[np.int64], first: Whole, begin: Whole, end: Whole) -> None:
    """Count one more region that forbids the cuts after the codes begin, ..., end - 1."""
    barred[begin - first] += 1
    barred[end - first] -= 1


@kernel
def _bar_failing(
    codes: NDArray[np.unsignedinteger],
    rows: NDArray[np.int64],
    begin: Whole,
    end: Whole,
    first: Whole,
    guard: RegionGuard,
    barred: NDArray[np.int64],
) -> None:
    """Forbid the cuts that leave a part of a region that does not satisfy the promises."""
    rules, tally, sensitive = guard.rules, guard.tally, guard.sensitive
    high = np.int64(codes[rows[end - 1]])
    enter(rules, tally, sensitive, begin, end, RIGHT)
    sort_present(rules, tally)
    at = begin
    while np.int64(codes[rows[at]]) < high:
        here, after = np.int64(codes[rows[at]]), at + 1
        while np.int64(codes[rows[after]]) == here:
            after += 1
        cross(tally.sums, tally.counts, tally.rows_of, sensitive, at, after, LEFT)
        if not has_room(tally.sums, RIGHT, rules.k, rules.least_distinct):  # then no part of it has
            _bar(barred, first, here, high)
            break
        if not (side_is_valid(rules, tally, LEFT) and side_is_valid(rules, tally, RIGHT)):
            _bar(barred, first, here, np.int64(codes[rows[after]]))
        at = after
    clear(rules, tally, sensitive, begin, end)


@kernel
def _best_cut(
    codes: NDArray[np.unsignedinteger], order: NDArray[np.int64], first: Whole, last: Whole, barred: NDArray[np.int64]
) -> int:
    """Return the rows left of the lower median, or else of the allowed cut nearest to balance, in a tie the first; or -1."""
    rows = order.size
    best, best_gap, median_seen = -1, rows + 1, False
    bars, left = np.int64(0), 0
    for code in range(first, last):
        bars += barred[code - first]
        before = left
        while np.int64(codes[order[left]]) == code:
            left += 1
        if left == before:
            continue
        if not median_seen and 2 * left >= rows:
            median_seen = True
            if bars == 0:
                return left
        if bars == 0 and abs(2 * left - rows) < best_gap:
            best, best_gap = left, abs(2 * left - rows)
    return best


@kernel
def _part(codes: NDArray[np.unsignedinteger], cut: Whole, found: int, regions: Regions) -> None:
    """Move the rows with code `cut` or higher into a new region, in each region that has rows on both sides."""
    begin = np.int64(0)
    for i in range(found):
        end = regions.ends[regions.listed[i]]
        at = end
        while at > begin and np.int64(codes[regions.rows[at - 1]]) >= cut:
            at -= 1
        if begin < at < end:
            for j in range(at, end):
                regions.of_row[regions.rows[j]] = regions.made[0]
            regions.made[0] += 1
        begin = end
