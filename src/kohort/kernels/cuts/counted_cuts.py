"""Where to cut a part of which only frequency sets are known. The same answers as `mondrian` gives for the rows themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.core.promise_rules import Rules, Tally, Whole, clear, has_room, is_balanced, side_is_valid, sort_present
from kohort.kernels.core.widths import AxisTables, width
from kohort.kernels.cuts.guarded_cuts import LEFT, RIGHT, median
from kohort.kernels.cuts.mondrian import CONSTANT, best_cut

NOWHERE = np.int64(-1)


@kernel
def axis_widths(
    axes: AxisTables,
    start: NDArray[np.int64],  # IN (axes + 1): where each axis' codes begin
    counts: NDArray[np.int64],  # IN (codes of all axes)
    widths: NDArray[np.int64],  # OUT (axes): of the box around the part; CONSTANT where it has one code
) -> None:
    for j in range(widths.size):
        low, high = start[j], start[j + 1] - 1
        while counts[low] == 0:
            low += 1
        while counts[high] == 0:
            high -= 1
        widths[j] = width(axes, j, low - start[j], high - start[j]) if low < high else CONSTANT


@kernel
def _compress(counts: NDArray[np.int64], codes: NDArray[np.int64], many: NDArray[np.int64]) -> int:
    """The codes that occur, ascending, and how often each does; how many there are."""
    distinct = 0
    for code in range(counts.size):
        if counts[code] > 0:
            codes[distinct] = code
            many[distinct] = counts[code]
            distinct += 1
    return distinct


@kernel
def plain_cut(
    counts: NDArray[np.int64], rows: int, k: int, codes: NDArray[np.int64], many: NDArray[np.int64]
) -> tuple[np.int64, np.int64]:
    """Where to cut if k is all that is promised: (the last code on the left, the rows there), or -1."""
    index, left = best_cut(many, _compress(counts, codes, many), rows, k)
    return (codes[index], np.int64(left)) if index >= 0 else (NOWHERE, np.int64(0))


@kernel
def promised_cut(
    rules: Rules,
    tally: Tally,
    counts: NDArray[np.int64],  # IN (codes)
    sizes: NDArray[np.int64],  # IN (2, codes): rows; or persons, by their lowest code and by their highest
    pairs: NDArray[np.int64],  # IN (codes, values)
    rows: int,
    codes: NDArray[np.int64],  # scratch (codes)
    many: NDArray[np.int64],  # scratch (codes)
) -> tuple[np.int64, np.int64]:
    """Where to cut so that both sides keep the promise, nearest to balance; as `plain_cut`."""
    distinct = _compress(counts, codes, many)
    if distinct < 2:
        return NOWHERE, np.int64(0)
    index, left = median(many, distinct, rows)
    for at in range(distinct):
        side = LEFT if at <= index else RIGHT
        _enter(rules, tally, pairs[codes[at]], sizes[side, codes[at]], many[at], side)
    sort_present(rules, tally)
    if not (side_is_valid(rules, tally, LEFT) and side_is_valid(rules, tally, RIGHT)):
        index, left = _walk(rules, tally, sizes, pairs, codes, many, distinct, rows, index, left)
    clear(rules, tally, pairs, np.int64(0), np.int64(0))
    return (codes[index], np.int64(left)) if index >= 0 else (NOWHERE, np.int64(0))


@kernel
def _enter(rules: Rules, tally: Tally, values: NDArray[np.int64], size: Whole, rows: Whole, side: Whole) -> None:
    """So many rows come to a side with these counts of values, and make it so much larger."""
    columns, sums, counts = rules.first.size - 1, tally.sums, tally.counts
    sums[side, 0] += size
    for c in range(columns):
        for value in range(rules.first[c], rules.first[c + 1]):
            if values[value] > 0:
                if counts[side, value] == 0:
                    sums[side, 1 + columns + c] += 1
                    if counts[1 - side, value] == 0:
                        tally.present[rules.first[c] + tally.listed[c]] = value
                        tally.listed[c] += 1
                counts[side, value] += values[value]
        sums[side, 1 + c] += rows


@kernel
def _cross(
    rules: Rules, tally: Tally, sizes: NDArray[np.int64], pairs: NDArray[np.int64], code: Whole, rows: Whole, to: Whole
) -> None:
    """The rows of a code come to a side. Persons are left of a cut by their lowest code, right of it by their highest."""
    columns, sums, counts, off = rules.first.size - 1, tally.sums, tally.counts, 1 - to
    values = pairs[code]
    sums[to, 0] += sizes[to, code]
    sums[off, 0] -= sizes[off, code]
    for c in range(columns):
        for value in range(rules.first[c], rules.first[c + 1]):
            if values[value] > 0:
                sums[to, 1 + columns + c] += counts[to, value] == 0
                counts[to, value] += values[value]
                counts[off, value] -= values[value]
                sums[off, 1 + columns + c] -= counts[off, value] == 0
        sums[to, 1 + c] += rows
        sums[off, 1 + c] -= rows


@kernel
def _walk(
    rules: Rules,
    tally: Tally,
    sizes: NDArray[np.int64],
    pairs: NDArray[np.int64],
    codes: NDArray[np.int64],
    many: NDArray[np.int64],
    distinct: int,
    rows: int,
    index: int,
    left: int,
) -> tuple[int, int]:
    """Away from the median, first left, then right as long as that is nearer to balance: the way of `guarded_cuts`."""
    best, best_left, best_gap = -1, 0, rows + 1
    at, reached = index, left
    while at > 0 and has_room(tally.sums, LEFT, rules.k, rules.least_distinct):
        _cross(rules, tally, sizes, pairs, codes[at], many[at], RIGHT)
        reached -= many[at]
        at -= 1
        if _is_valid(rules, tally):
            best, best_left, best_gap = at, reached, abs(2 * reached - rows)
            break
    for back in range(at + 1, index + 1):
        _cross(rules, tally, sizes, pairs, codes[back], many[back], LEFT)
    at, reached = index, left
    while at + 2 < distinct and has_room(tally.sums, RIGHT, rules.k, rules.least_distinct):
        at += 1
        reached += many[at]
        if abs(2 * reached - rows) >= best_gap:
            break
        _cross(rules, tally, sizes, pairs, codes[at], many[at], LEFT)
        if _is_valid(rules, tally):
            best, best_left = at, reached
            break
    return best, best_left


@kernel
def _is_valid(rules: Rules, tally: Tally) -> bool:
    """Whether both sides may stand, the cheaper question first."""
    if not has_room(tally.sums, LEFT, rules.k, rules.least_distinct):
        return False
    if not has_room(tally.sums, RIGHT, rules.k, rules.least_distinct):
        return False
    return is_balanced(rules, tally, LEFT) and is_balanced(rules, tally, RIGHT)


@kernel
def counted_is_valid(rules: Rules, tally: Tally, values: NDArray[np.int64], rows: int) -> bool:
    """Whether a group of so many rows, which hold each value so often, keeps the promise."""
    _enter(rules, tally, values, np.int64(rows), np.int64(rows), LEFT)
    sort_present(rules, tally)
    valid = side_is_valid(rules, tally, LEFT)
    clear(rules, tally, values.reshape(1, -1), np.int64(0), np.int64(0))
    return valid
