"""The cuts of Mondrian. Rows are moved at every cut, so that each part is one contiguous range of memory.

The codes of a row are packed into as few 64-bit words as their bits need (nine columns of Adult: one word). So a cut moves
8 bytes per row instead of 9 or 18, and one compiled kernel works for every code dtype. `words` is (2, words, rows) and `ids` is
(2, rows): two sides of one buffer. A cut reads its range from one side and writes both halves, in stable order, to the same
range of the other side. `side` is the side where a part is stored now. Ranges never overlap, so several threads may work on
different ranges. The groups are numbered from left to right.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.core.packed import BitLayout
from kohort.kernels.core.widths import AxisTables, width
from kohort.kernels.cuts.guarded_cuts import Guard, guarded_cut, halves_are_valid
from kohort.kernels.cuts.recorded_cuts import DEALT, WIDEST, WORKLOAD, RecordedCuts, keep_cut
from kohort.kernels.cuts.workload_cuts import Asking, find_cuts

DEPTH = 64  # the smaller half is cut first, so at most log2(rows) parts wait on the stack
NO_CUT = (-1, -1, WIDEST)
CONSTANT, REFUSED = np.int64(-1), np.int64(-2)  # widths of an axis with one code, and of one without an allowed cut
TILE = 2048  # number of rows whose words fit into the first-level cache while all axes are scanned


@kernel
def _sort(values: NDArray[np.int64], count: int) -> None:
    """Sort in place with Shell sort, which allocates no memory. Used for few rows on axes with many codes."""
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            value = values[i]
            j = i
            while j >= gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap //= 3


@kernel
def _frequency_set(
    column: NDArray[np.uint64],  # IN: the word of this axis
    first: int,
    last: int,
    shift: np.uint64,
    mask: np.uint64,
    low: int,
    high: int,
    values: NDArray[np.int64],  # OUT: distinct codes, ascending
    counts: NDArray[np.int64],  # OUT: number of rows with each code
) -> int:
    """Count the rows with each code of one axis in one part. Return the number of distinct codes."""
    rows = last - first
    span = high - low + 1
    distinct = 0
    if span <= 4 * rows:
        counts[:span] = 0
        codes = column[first:last]
        for i in range(codes.size):
            counts[np.uintp((codes[i] >> shift) & mask) - np.uintp(low)] += 1
        for offset in range(span):
            if counts[offset] > 0:
                values[distinct] = low + offset
                counts[distinct] = counts[offset]
                distinct += 1
        return distinct
    for i in range(rows):
        values[i] = np.int64((column[first + i] >> shift) & mask)
    _sort(values, rows)
    for i in range(rows):
        if distinct > 0 and values[distinct - 1] == values[i]:
            counts[distinct - 1] += 1
        else:
            values[distinct] = values[i]
            counts[distinct] = 1
            distinct += 1
    return distinct


@kernel
def best_cut(counts: NDArray[np.int64], distinct: int, rows: int, k: int) -> tuple[int, int]:
    """Return the index of the lower median if the cut is allowed there, or else of the allowed cut nearest to balance.

    The result is the index in the frequency set of the last code on the left, or -1, and the number of rows on the left.
    """
    best, best_left, best_gap = -1, 0, rows + 1
    left = 0
    median_seen = False
    for i in range(distinct - 1):
        left += counts[i]
        allowed = left >= k and rows - left >= k
        if not median_seen and 2 * left >= rows:
            median_seen = True
            if allowed:
                return i, left
        if allowed and abs(2 * left - rows) < best_gap:
            best, best_left, best_gap = i, left, abs(2 * left - rows)
    return best, best_left


@kernel
def _half(counts: NDArray[np.int64], rows: int) -> tuple[int, int, int]:
    """Return the index of the lower median in a frequency set, the rows of the left half, and its rows that have the median."""
    left = (rows + 1) // 2
    below, position = 0, 0
    while below + counts[position] < left:
        below += counts[position]
        position += 1
    return position, left, left - below


@kernel
def _bounds(words: NDArray[np.uint64], layout: BitLayout, first: int, last: int, box: NDArray[np.int64]) -> None:
    """Find the smallest (box[0]) and largest (box[1]) code of every axis in the rows first..last."""
    for j in range(layout.axes):
        box[0, j] = np.int64(layout.mask[j])
        box[1, j] = 0
    for tile in range(first, last, TILE):
        end = min(tile + TILE, last)
        for j in range(layout.axes):
            column, shift, mask = words[layout.word[j]][tile:end], layout.shift[j], layout.mask[j]
            low, high = box[0, j], box[1, j]
            for i in range(column.size):  # a loop over a slice from 0 compiles to vector instructions (7x faster)
                code = np.int64((column[i] >> shift) & mask)
                low = min(low, code)
                high = max(high, code)
            box[0, j], box[1, j] = low, high


@kernel
def _move_left_first(
    words: NDArray[np.uint64],  # IN (words, rows)
    ids: NDArray[np.uint32],  # IN
    new_words: NDArray[np.uint64],  # OUT
    new_ids: NDArray[np.uint32],  # OUT
    first: int,
    last: int,
    word: int,
    shift: np.uint64,
    mask: np.uint64,
    cut: np.uint64,
    at_cut: int,  # number of rows with code == cut in the left half; the first ones
    middle: int,  # where the right half begins
) -> None:
    """Copy the rows first..last to the other side of the buffer, first the rows left of the cut, then the others."""
    column, left, right, none_kept = words[word][first:last], np.uintp(first), np.uintp(middle), np.uintp(0)
    kept = np.uintp(at_cut)
    for i in range(column.size):
        code = (column[i] >> shift) & mask
        # Arithmetic instead of branches, because the processor would mispredict half of them.
        at = np.uintp(code == cut) & np.uintp(kept != none_kept)
        kept -= at
        goes_left = np.uintp(code < cut) | at
        goes_right = np.uintp(1) - goes_left
        to = left * goes_left + right * goes_right
        left += goes_left
        right += goes_right
        for w in range(words.shape[0]):
            new_words[w, to] = words[w, first + i]
        new_ids[to] = ids[first + i]


@kernel
def cut_once(
    words: NDArray[np.uint64],  # IN OUT (2, words, rows)
    ids: NDArray[np.uint32],  # IN OUT (2, rows)
    layout: BitLayout,
    first: int,
    last: int,
    side: int,
    axes: AxisTables,
    k: int,
    guard: Guard | None,  # None = k is the only promise; numba then compiles the kernel without the other checks
    relaxed: bool,  # whether equal rows may be divided
    box: NDArray[np.int64],  # scratch (3, axes)
    values: NDArray[np.int64],  # scratch, as long as the longest axis
    counts: NDArray[np.int64],  # scratch, as long as the longest axis
    asking: Asking | None,  # a workload whose cuts are tried first
) -> tuple[int, int | np.int64, int]:
    """Cut the part first..last once. Return where its right half begins, or -1 if no cut is allowed; the axis; the reason."""
    rows = last - first
    if rows < 2 * k:
        return NO_CUT
    here = words[side]
    _bounds(here, layout, first, last, box)
    axis_count = layout.axes
    if asking is not None:
        middle, for_axis = _cut_for_answers(words, ids, layout, first, last, side, axes, k, guard, box, values, counts, asking)
        if middle >= 0 or asking.only:
            return middle, for_axis, WORKLOAD
    for j in range(axis_count):
        box[2, j] = width(axes, j, box[0, j], box[1, j]) if box[0, j] < box[1, j] else CONSTANT
    for _ in range(axis_count):
        axis: int | np.int64 = np.int64(0)  # typed, because numba compiles another version for a plain 0
        for j in range(1, axis_count):  # the widest axis; in a tie the first in the order of the columns
            if box[2, j] > box[2, axis]:
                axis = j
        if box[2, axis] == REFUSED or (box[2, axis] == CONSTANT and not relaxed):
            return NO_CUT
        word, shift, mask = layout.word[axis], layout.shift[axis], layout.mask[axis]
        distinct = _frequency_set(here[word], first, last, shift, mask, box[0, axis], box[1, axis], values, counts)
        at_cut = rows
        if relaxed:
            position, left, at_cut = _half(counts, rows)
            if guard is not None:  # noqa: SIM102 - numba removes a branch only if this is its whole condition
                if not halves_are_valid(here, layout, first, last, axis, values, counts, distinct, left, guard):
                    position = -1
        else:
            position, left = best_cut(counts, distinct, rows, k)
            if guard is not None:  # noqa: SIM102
                if position >= 0:  # otherwise a side has too few rows, so also too few people or values
                    position, left = guarded_cut(here, layout, first, last, axis, values, counts, distinct, guard)
        if position >= 0:
            _move_left_first(
                here, ids[side], words[1 - side], ids[1 - side], first, last,
                word, shift, mask, np.uint64(values[position]), at_cut, first + left,
            )  # fmt: skip
            return first + left, axis, DEALT if box[2, axis] == CONSTANT else WIDEST
        if box[2, axis] == CONSTANT:  # dividing equal rows was not allowed either
            return NO_CUT
        box[2, axis] = REFUSED
    return NO_CUT


@kernel
def _cut_for_answers(
    words: NDArray[np.uint64],
    ids: NDArray[np.uint32],
    layout: BitLayout,
    first: int,
    last: int,
    side: int,
    axes: AxisTables,
    k: int,
    guard: Guard | None,
    box: NDArray[np.int64],
    values: NDArray[np.int64],
    counts: NDArray[np.int64],
    asking: Asking,
) -> tuple[int, int | np.int64]:
    """Cut where the workload gains most and both sides are valid.

    Return where the right half begins, and the axis, or -1 if no allowed cut gains.
    """
    here, wanted, gains = words[side], asking.wanted, asking.gains
    find_cuts(here, ids[side], layout, first, last, axes, k, asking, box)
    while True:
        best = np.argmax(gains)
        if gains[best] <= 0:
            return -1, -1
        gains[best] = 0.0
        axis: int | np.int64 = np.int64(0)
        while wanted.cut_first[axis + 1] <= best:
            axis += 1
        left, word, shift, mask = asking.lefts[best], layout.word[axis], layout.shift[axis], layout.mask[axis]
        if guard is not None:
            distinct = _frequency_set(here[word], first, last, shift, mask, box[0, axis], box[1, axis], values, counts)
            if not halves_are_valid(here, layout, first, last, axis, values, counts, distinct, left, guard):
                continue
        _move_left_first(
            here, ids[side], words[1 - side], ids[1 - side], first, last,
            word, shift, mask, np.uint64(wanted.cut[best]), last - first, first + left,
        )  # fmt: skip
        return first + left, axis


@kernel
def close(ids: NDArray[np.uint32], first: int, last: int, side: int, begins: NDArray[np.bool_]) -> None:
    """Finish a part as a group: mark its first row, and copy its row ids to side 0 of the buffer."""
    begins[first] = True
    if side == 1:
        for i in range(first, last):
            ids[0, i] = ids[1, i]


@kernel
def cut_all(
    words: NDArray[np.uint64],  # IN OUT (2, words, rows)
    ids: NDArray[np.uint32],  # IN OUT (2, rows); at the end side 0 has the row ids of the groups
    layout: BitLayout,
    first: int,
    last: int,
    side: int,
    axes: AxisTables,
    k: int,
    guard: Guard | None,
    relaxed: bool,
    box: NDArray[np.int64],  # scratch (3, axes)
    values: NDArray[np.int64],  # scratch, as long as the longest axis
    counts: NDArray[np.int64],  # scratch, as long as the longest axis
    asking: Asking | None,
    begins: NDArray[np.bool_],  # OUT (rows): True where a group begins
    state: NDArray[np.int64],  # OUT state[0] = rows done; IN state[1] = stop now
    recorded: RecordedCuts | None,  # OUT; None = cuts are not recorded
) -> None:
    """Cut the part first..last until no cut is allowed."""
    waiting = np.empty((DEPTH, 3), np.int64)
    depth = 0
    while True:
        middle, axis, reason = cut_once(
            words, ids, layout, first, last, side, axes, k, guard, relaxed, box, values, counts, asking
        )
        if middle < 0:
            close(ids, first, last, side, begins)
            state[0] += last - first
            if depth == 0 or state[1] != 0:
                return
            depth -= 1
            first, last, side = waiting[depth, 0], waiting[depth, 1], waiting[depth, 2]
            continue
        if recorded is not None:
            keep_cut(recorded, first, middle, last, axis, reason)
        side = 1 - side
        if middle - first <= last - middle:
            waiting[depth, 0], waiting[depth, 1], waiting[depth, 2] = middle, last, side
            last = middle
        else:
            waiting[depth, 0], waiting[depth, 1], waiting[depth, 2] = first, middle, side
            first = middle
        depth += 1
