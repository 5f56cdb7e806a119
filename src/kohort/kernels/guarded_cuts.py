"""Where to cut so that both sides keep a promise about sensitive values or persons.

The rows left of the lower median cross to the left side of a tally. If either side may not stand there, the cut walks away
from the median, first left, then right as long as that is nearer to balance, and the rows of one value at a time cross
over. A side that only shrinks is given up once it lacks what no part of it can have.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.packed import Layout, unpack_secrets
from kohort.kernels.promises import Rules, Tally, clear, cross, enter, forget, has_room, may_stand, sort_present

LEFT, RIGHT = 0, 1


class Guard(NamedTuple):
    """A promise and the scratch to ask it of cuts."""

    asked: bool  # False: k is all that is promised, and rows are what it counts
    rules: Rules
    tally: Tally
    row: NDArray[np.int64]  # scratch: one row's secrets
    sorted_rows: NDArray[np.int64]  # scratch (rows, secrets): in the order of one axis
    starts: NDArray[np.int64]  # scratch (codes + 1): where each distinct code begins among them
    place_of: NDArray[np.int64]  # scratch (codes): the place of each code among the distinct ones


@kernel
def count_piece(words: NDArray[np.uint64], layout: Layout, first: int, last: int, guard: Guard) -> None:
    """Take all rows of a partition into the tally, on its right side."""
    for i in range(first, last):
        unpack_secrets(words, layout, i, guard.row)
        enter(guard.rules, guard.tally, guard.row, RIGHT)
    sort_present(guard.rules, guard.tally)


@kernel
def forget_piece(words: NDArray[np.uint64], layout: Layout, first: int, last: int, guard: Guard) -> None:
    """Leave the tally as it was found: all zeros."""
    clear(guard.rules, guard.tally)
    if guard.rules.persons:
        for i in range(first, last):
            unpack_secrets(words, layout, i, guard.row)
            forget(guard.rules, guard.tally, guard.row)


@kernel
def cross_all(
    words: NDArray[np.uint64],
    layout: Layout,
    first: int,
    last: int,
    axis: int,
    cut: np.uint64,
    at_cut: int,
    guard: Guard,
    side: int,
) -> None:
    """The rows left of a cut cross to a side; of those at the cut only the first `at_cut`."""
    column, shift, mask = words[layout.word[axis]], layout.shift[axis], layout.mask[axis]
    for i in range(first, last):
        code = (column[i] >> shift) & mask
        if code > cut:
            continue
        if code == cut:
            if at_cut == 0:
                continue
            at_cut -= 1
        unpack_secrets(words, layout, i, guard.row)
        cross(guard.rules, guard.tally, guard.row, side)


@kernel
def both_stand(guard: Guard) -> bool:
    return may_stand(guard.rules, guard.tally, LEFT) and may_stand(guard.rules, guard.tally, RIGHT)


@kernel
def _median(counts: NDArray[np.int64], distinct: int, rows: int) -> tuple[int, int]:
    """The place of the lower median in a frequency set, or of the last value that has one right of it; the rows up to it."""
    left, place = counts[0], 0
    while 2 * left < rows and place + 2 < distinct:
        place += 1
        left += counts[place]
    return place, left


@kernel
def guarded_cut(
    words: NDArray[np.uint64],
    layout: Layout,
    first: int,
    last: int,
    axis: int,
    values: NDArray[np.int64],  # IN distinct codes of the axis, ascending
    counts: NDArray[np.int64],  # IN how often each occurs
    distinct: int,
    guard: Guard,
) -> tuple[int, int]:
    """The lower median if both sides may stand there, else the nearest to balance where they may: (place, rows left) or -1."""
    if distinct < 2:
        return -1, 0
    rows = last - first
    place, left = _median(counts, distinct, rows)
    cross_all(words, layout, first, last, axis, np.uint64(values[place]), rows, guard, LEFT)
    if both_stand(guard):
        return place, left
    _sort_rows(words, layout, first, last, axis, values, counts, distinct, guard)
    best, best_left, best_gap = -1, 0, rows + 1
    at, reached = place, left
    while at > 0 and has_room(guard.rules, guard.tally, LEFT):
        _cross_value(guard, at, RIGHT)
        reached -= counts[at]
        at -= 1
        if both_stand(guard):
            best, best_left, best_gap = at, reached, abs(2 * reached - rows)
            break
    while at < place:  # back to the median
        at += 1
        reached += counts[at]
        _cross_value(guard, at, LEFT)
    while at + 2 < distinct and has_room(guard.rules, guard.tally, RIGHT):
        at += 1
        reached += counts[at]
        if abs(2 * reached - rows) >= best_gap:
            reached -= counts[at]
            at -= 1
            break
        _cross_value(guard, at, LEFT)
        if both_stand(guard):
            best, best_left = at, reached
            break
    for i in range(at + 1):  # all rows back to the right, for the next axis
        _cross_value(guard, i, RIGHT)
    return best, best_left


@kernel
def _sort_rows(
    words: NDArray[np.uint64],
    layout: Layout,
    first: int,
    last: int,
    axis: int,
    values: NDArray[np.int64],
    counts: NDArray[np.int64],
    distinct: int,
    guard: Guard,
) -> None:
    """The rows' secrets in the order of one axis: a counting sort."""
    starts, shift, mask = guard.starts, layout.shift[axis], layout.mask[axis]
    column = words[layout.word[axis]]
    starts[0] = 0
    for i in range(distinct):
        starts[i + 1] = starts[i] + counts[i]
        guard.place_of[values[i]] = i
    for i in range(first, last):
        place = guard.place_of[np.int64((column[i] >> shift) & mask)]
        unpack_secrets(words, layout, i, guard.sorted_rows[starts[place]])
        starts[place] += 1
    for i in range(distinct, 0, -1):  # each now stands where the next began
        starts[i] = starts[i - 1]
    starts[0] = 0


@kernel
def _cross_value(guard: Guard, place: int, side: int) -> None:
    """The rows of one distinct code cross to a side."""
    for i in range(guard.starts[place], guard.starts[place + 1]):
        cross(guard.rules, guard.tally, guard.sorted_rows[i], side)
