"""Where to cut so that both sides keep a promise about sensitive values or persons.

The rows are tallied left and right of the lower median. If either side may not stand there, the cut walks away from the
median, first left, then right as long as that is nearer to balance, and the rows of one value at a time cross over. A side
that only shrinks is given up once it lacks what no part of it can have.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.core.packed import BitLayout
from kohort.kernels.core.promise_rules import (
    Rules,
    Tally,
    Whole,
    clear,
    cross,
    enter,
    has_room,
    is_balanced,
    side_is_valid,
    sort_present,
)

START, LEFT, RIGHT = np.int64(0), np.int64(0), np.int64(1)  # typed: numba compiles once more for every plain 0 and 1


class Guard(NamedTuple):
    """A promise, and the scratch to ask it of cuts."""

    rules: Rules
    tally: Tally
    sensitive: NDArray[np.int64]  # scratch (rows, secrets): in the order of one axis
    starts: NDArray[np.int64]  # scratch (codes + 1): where each distinct code begins among them
    place_of: NDArray[np.int64]  # scratch (codes): the place of each code among the distinct ones


@kernel
def halves_are_valid(
    words: NDArray[np.uint64], layout: BitLayout, first: int, last: int, axis: Whole,
    values: NDArray[np.int64], counts: NDArray[np.int64], distinct: int, left: int, guard: Guard,
) -> bool:  # fmt: skip
    """Whether the first `left` rows in the order of an axis may stand, and the others too."""
    _sort_rows(words, layout, first, last, axis, values, counts, distinct, guard)
    are_valid = _tallied(guard, left, last - first)
    clear(guard.rules, guard.tally, guard.sensitive, START, last - first)
    return are_valid


@kernel
def guarded_cut(
    words: NDArray[np.uint64],
    layout: BitLayout,
    first: int,
    last: int,
    axis: Whole,
    values: NDArray[np.int64],  # IN distinct codes of the axis, ascending
    counts: NDArray[np.int64],  # IN how often each occurs
    distinct: int,
    guard: Guard,
) -> tuple[int, int]:
    """The lower median if both sides may stand there, else the nearest to balance where they may: (place, rows left) or -1."""
    if distinct < 2:
        return -1, 0
    rows = last - first
    index, left = median(counts, distinct, rows)
    if guard.rules.persons:
        _sort_rows(words, layout, first, last, axis, values, counts, distinct, guard)
        allowed = _tallied(guard, left, rows)
    else:
        _tally_split(words, layout, first, last, axis, np.uint64(values[index]), left, guard)
        allowed = _both_are_valid(guard)
        if not allowed:
            _sort_rows(words, layout, first, last, axis, values, counts, distinct, guard)
    if not allowed:
        index, left = _walk(counts, distinct, rows, index, left, guard)
    clear(guard.rules, guard.tally, guard.sensitive, START, rows)
    return index, left


@kernel
def median(counts: NDArray[np.int64], distinct: int, rows: int) -> tuple[int, int]:
    """The place of the lower median in a frequency set, or of the last value that has one right of it; the rows up to it."""
    left, index = counts[0], 0
    while 2 * left < rows and index + 2 < distinct:
        index += 1
        left += counts[index]
    return index, left


@kernel
def _tallied(guard: Guard, left: int, rows: int) -> bool:
    """Take the rows into the tally, so many on the left; whether both sides may stand."""
    enter(guard.rules, guard.tally, guard.sensitive, START, left, LEFT)
    enter(guard.rules, guard.tally, guard.sensitive, left, rows, RIGHT)
    return _both_are_valid(guard)


@kernel
def _both_are_valid(guard: Guard) -> bool:
    sort_present(guard.rules, guard.tally)
    return side_is_valid(guard.rules, guard.tally, LEFT) and side_is_valid(guard.rules, guard.tally, RIGHT)


@kernel
def _tally_split(
    words: NDArray[np.uint64],
    layout: BitLayout,
    first: int,
    last: int,
    axis: Whole,
    cut: np.uint64,
    left: int,
    guard: Guard,
) -> None:
    """Take the rows into the tally, those up to the cut on the left: one sweep a column, without sorting, as no person counts."""
    tally, values = guard.tally, guard.rules.first
    columns, counts, sums = values.size - 1, tally.counts, tally.sums
    codes, shift, mask = words[layout.word[axis]][first:last], layout.shift[axis], layout.mask[axis]
    sums[LEFT, 0], sums[RIGHT, 0] = left, last - first - left
    for c in range(columns):
        sensitive_column = words[layout.word[layout.axes + c]][first:last]
        sensitive_shift, sensitive_mask = layout.shift[layout.axes + c], layout.mask[layout.axes + c]
        listed, present = 0, tally.present[values[c] :]
        for i in range(codes.size):
            value = np.int64((sensitive_column[i] >> sensitive_shift) & sensitive_mask)
            if counts[LEFT, value] + counts[RIGHT, value] == 0:
                present[listed] = value
                listed += 1
            counts[np.int64(((codes[i] >> shift) & mask) > cut), value] += 1
        tally.listed[c] = listed
        for side in range(2):
            sums[side, 1 + c] = sums[side, 0]
            for i in range(listed):
                sums[side, 1 + columns + c] += counts[side, present[i]] > 0


@kernel
def _walk(counts: NDArray[np.int64], distinct: int, rows: int, index: int, left: int, guard: Guard) -> tuple[int, int]:
    """Away from the median, where the cut is not allowed, to the allowed one nearest to balance."""
    sums, tallies, rows_of = guard.tally.sums, guard.tally.counts, guard.tally.rows_of
    sensitive, starts = guard.sensitive, guard.starts
    k, least = guard.rules.k, guard.rules.least_distinct
    best, best_left, best_gap = -1, 0, rows + 1
    at, reached = index, left
    while at > 0 and has_room(sums, LEFT, k, least):
        cross(sums, tallies, rows_of, sensitive, starts[at], starts[at + 1], RIGHT)
        reached -= counts[at]
        at -= 1
        if has_room(sums, LEFT, k, least) and has_room(sums, RIGHT, k, least) and _balanced(guard):
            best, best_left, best_gap = at, reached, abs(2 * reached - rows)
            break
    cross(sums, tallies, rows_of, sensitive, starts[at + 1], starts[index + 1], LEFT)  # back to the median
    at, reached = index, left
    while at + 2 < distinct and has_room(sums, RIGHT, k, least):
        at += 1
        reached += counts[at]
        if abs(2 * reached - rows) >= best_gap:
            break
        cross(sums, tallies, rows_of, sensitive, starts[at], starts[at + 1], LEFT)
        if has_room(sums, LEFT, k, least) and has_room(sums, RIGHT, k, least) and _balanced(guard):
            best, best_left = at, reached
            break
    return best, best_left


@kernel
def _balanced(guard: Guard) -> bool:
    return is_balanced(guard.rules, guard.tally, LEFT) and is_balanced(guard.rules, guard.tally, RIGHT)


@kernel
def _sort_rows(
    words: NDArray[np.uint64], layout: BitLayout, first: int, last: int, axis: Whole,
    values: NDArray[np.int64], counts: NDArray[np.int64], distinct: int, guard: Guard,
) -> None:  # fmt: skip
    """The rows' secrets in the order of one axis, equal ones in row order: a counting sort."""
    starts, place_of, sensitive = guard.starts, guard.place_of, guard.sensitive
    column, shift, mask = words[layout.word[axis]][first:last], layout.shift[axis], layout.mask[axis]
    starts[0] = 0
    for i in range(distinct):
        starts[i + 1] = starts[i] + counts[i]
        place_of[values[i]] = i
    for j in range(sensitive.shape[1]):
        sensitive_column = words[layout.word[layout.axes + j]][first:last]
        sensitive_shift, sensitive_mask = layout.shift[layout.axes + j], layout.mask[layout.axes + j]
        for i in range(column.size):
            index = place_of[np.int64((column[i] >> shift) & mask)]
            sensitive[starts[index], j] = np.int64((sensitive_column[i] >> sensitive_shift) & sensitive_mask)
            starts[index] += 1
        for i in range(distinct, 0, -1):  # each now stands where the next began
            starts[i] = starts[i - 1]
        starts[0] = 0
