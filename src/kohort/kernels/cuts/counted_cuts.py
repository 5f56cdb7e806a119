"""Find the cut of a part from its frequency sets only. The result is the same as `mondrian` finds from the rows."""

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
    start: NDArray[np.int64],  # IN (axes + 1): where the codes of each axis begin
    counts: NDArray[np.int64],  # IN (codes of all axes)
    widths: NDArray[np.int64],  # OUT (axes): widths of the box around the part; CONSTANT where it has one code
) -> None:
    """Compute the width of a part on each axis."""
    for j in range(widths.size):
        low, high = start[j], start[j + 1] - 1
        while counts[low] == 0:
            low += 1
        while counts[high] == 0:
            high -= 1
        widths[j] = width(axes, j, low - start[j], high - start[j]) if low < high else CONSTANT


@kernel
def _compress(counts: NDArray[np.int64], codes: NDArray[np.int64], many: NDArray[np.int64]) -> int:
    """List the codes that occur, ascending, and the number of rows with each. Return the number of codes."""
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
    """Find the cut if k is the only promise. Return the last code on the left, or -1, and the number of rows on the left."""
    index, left = best_cut(many, _compress(counts, codes, many), rows, k)
    return (codes[index], np.int64(left)) if index >= 0 else (NOWHERE, np.int64(0))


@kernel
def promised_cut(
    rules: Rules,
    tally: Tally,
    counts: NDArray[np.int64],  # IN (codes)
    sizes: NDArray[np.int64],  # IN (2, codes): number of rows; or of people, by their lowest code and by their highest
    pairs: NDArray[np.int64],  # IN (codes, values)
    rows: int,
    codes: NDArray[np.int64],  # scratch (codes)
    many: NDArray[np.int64],  # scratch (codes)
) -> tuple[np.int64, np.int64]:
    """Find the cut nearest to balance where both sides satisfy the promises. The result is as in `plain_cut`."""
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
    """Add rows to one side of the tally. `values` has their counts per sensitive value, `size` is added to the side's size."""
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
    """Move the rows of a code to side `to`.

    A person is left of a cut if the lowest code of the person is, and right of it if the highest code is.
    """
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
    """Move away from the median, first left, then right while that is nearer to balance, as `guarded_cuts` does."""
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
    """Return whether both sides are valid. The cheaper checks come first."""
    if not has_room(tally.sums, LEFT, rules.k, rules.least_distinct):
        return False
    if not has_room(tally.sums, RIGHT, rules.k, rules.least_distinct):
        return False
    return is_balanced(rules, tally, LEFT) and is_balanced(rules, tally, RIGHT)


@kernel
def counted_is_valid(rules: Rules, tally: Tally, values: NDArray[np.int64], rows: int) -> bool:
    """Return whether a group of this many rows, with these counts per sensitive value, satisfies the promises."""
    _enter(rules, tally, values, np.int64(rows), np.int64(rows), LEFT)
    sort_present(rules, tally)
    valid = side_is_valid(rules, tally, LEFT)
    clear(rules, tally, values.reshape(1, -1), np.int64(0), np.int64(0))
    return valid
