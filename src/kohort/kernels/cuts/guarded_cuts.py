"""Find the cut nearest to the median where both sides satisfy the promises about sensitive values or people.

The rows left and right of the lower median are counted in a tally. If a side is not valid, the cut moves away from the median,
one value at a time, and the rows of that value change sides. It moves left first, then right while that is nearer to balance.
The search stops when the side that shrinks lacks something that no part of it can have.
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

START, LEFT, RIGHT = np.int64(0), np.int64(0), np.int64(1)  # typed, because numba compiles another version for a plain 0 or 1


class Guard(NamedTuple):
    """The promises, and working memory to check them for cuts."""

    rules: Rules
    tally: Tally
    sensitive: NDArray[np.int64]  # scratch (rows, sensitive): sorted by the code of one axis
    starts: NDArray[np.int64]  # scratch (codes + 1): where the rows of each distinct code begin
    place_of: NDArray[np.int64]  # scratch (codes): the index of each code among the distinct codes


@kernel
def halves_are_valid(
    words: NDArray[np.uint64], layout: BitLayout, first: int, last: int, axis: Whole,
    values: NDArray[np.int64], counts: NDArray[np.int64], distinct: int, left: int, guard: Guard,
) -> bool:  # fmt: skip
    """Return whether the first `left` rows, sorted by an axis, are a valid group, and the other rows too."""
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
    values: NDArray[np.int64],  # IN: distinct codes of the axis, ascending
    counts: NDArray[np.int64],  # IN: number of rows with each code
    distinct: int,
    guard: Guard,
) -> tuple[int, int]:
    """Return the lower median if both sides are valid there, or else the cut nearest to balance where they are.

    The result is the index of the last code on the left, or -1, and the number of rows on the left.
    """
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
    """Return the index of the lower median in a frequency set, and the rows up to it. At least one value is right of it."""
    left, index = counts[0], 0
    while 2 * left < rows and index + 2 < distinct:
        index += 1
        left += counts[index]
    return index, left


@kernel
def _tallied(guard: Guard, left: int, rows: int) -> bool:
    """Add the rows to the tally, the first `left` rows on the left side. Return whether both sides are valid."""
    enter(guard.rules, guard.tally, guard.sensitive, START, left, LEFT)
    enter(guard.rules, guard.tally, guard.sensitive, left, rows, RIGHT)
    return _both_are_valid(guard)


@kernel
def _both_are_valid(guard: Guard) -> bool:
    """Return whether both sides of the tally satisfy all promises."""
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
    """Add the rows to the tally, those with codes up to the cut on the left side.

    This needs one pass per column and no sorting. It is used if people are not counted.
    """
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
    """Move away from the median, where the cut is not allowed, to the allowed cut nearest to balance."""
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
    """Return whether both sides of the tally satisfy the promises that limit shares of values."""
    return is_balanced(guard.rules, guard.tally, LEFT) and is_balanced(guard.rules, guard.tally, RIGHT)


@kernel
def _sort_rows(
    words: NDArray[np.uint64], layout: BitLayout, first: int, last: int, axis: Whole,
    values: NDArray[np.int64], counts: NDArray[np.int64], distinct: int, guard: Guard,
) -> None:  # fmt: skip
    """Sort the sensitive values of the rows by the code of one axis, with a counting sort. Equal codes stay in row order."""
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
        for i in range(distinct, 0, -1):  # undo the shift: each entry is now the start of the next code
            starts[i] = starts[i - 1]
        starts[0] = 0
