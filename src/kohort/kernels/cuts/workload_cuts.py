"""Find the cut that improves the answers to the queries of a workload most. Cuts are at the ends of predicates.

An answer computed from a part assumes that values are evenly distributed in it. Its error is some share of the rows of the part.
The chosen cut is the one that lowers most the sum of (rows in error) x (share in error)^2. Small shares in many parts cancel
out, large shares in a few parts do not. Rows in error alone, or their squares, leave more error on Adult
(docs/decisions/0008).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import inlined, kernel
from kohort.kernels.core.packed import BitLayout
from kohort.kernels.core.promise_rules import Whole
from kohort.kernels.core.widths import AxisTables

CARRIED = np.uint8(1)  # bit in `members`: the columns published unchanged satisfy the query; next bit: all columns do


class Wanted(NamedTuple):
    """The queries of a workload on the axes of a table: Q queries, P predicates on axes, query by query."""

    weight: NDArray[np.float64]  # (Q): weight of one row in error
    first: NDArray[np.int64]  # (Q + 1): where the predicates of a query begin
    axis: NDArray[np.int64]  # (P): the axis of the predicate
    anything: NDArray[np.float64]  # (P): share that satisfies it, of a cell that may hold any value
    start: NDArray[np.int64]  # (P): where its codes begin in `before`, `upto`, `held`
    before: NDArray[np.float64]  # per code: length of the requested part of the axis before the code
    upto: NDArray[np.float64]  # per code: length of the requested part of the axis before the end of the code
    held: NDArray[np.int64]  # per code: number of requested codes up to this one
    axis_start: NDArray[np.int64]  # (axes): where its codes begin in `axis_before`, `axis_upto`, `piece_of`, `jump`
    axis_before: NDArray[np.float64]  # per code: length of the axis before the code
    axis_upto: NDArray[np.float64]  # per code: length of the axis before the end of the code
    node_first: NDArray[np.int64]  # per node of all trees: its first code
    node_last: NDArray[np.int64]  # per node of all trees: its last code
    cut_first: NDArray[np.int64]  # (axes + 1): where the cuts of an axis begin
    cut: NDArray[np.int64]  # codes after which a predicate begins or ends, ascending
    piece_of: NDArray[np.int64]  # per code: number of cuts of its axis before it
    members: NDArray[np.uint8]  # (rows, Q): see CARRIED
    jump: NDArray[np.float64]  # per code: extra cost in a search of the predicate ends up to this code, in full widths
    toll: NDArray[np.float64]  # per node: extra cost in a search of the predicates that the node satisfies only partly


class Asking(NamedTuple):
    """A workload, with working memory of one thread for T cuts, at most P of them on one axis."""

    wanted: Wanted
    only: bool  # whether to cut only at ends of predicates
    least: float  # smallest gain per row for which a cut is made
    gains: NDArray[np.float64]  # scratch (T): by how much each cut lowers the error; 0 if it is not allowed
    lefts: NDArray[np.int64]  # scratch (T): number of rows left of each cut
    active: NDArray[np.int64]  # scratch (Q): queries whose answer from the part may be wrong
    parts: NDArray[np.int64]  # scratch (P + 1, 2, axes): boxes of the rows between two cuts
    rights: NDArray[np.int64]  # scratch (P + 1, 2, axes): boxes of all rows from there on
    sizes: NDArray[np.int64]  # scratch (P + 1): number of rows between two cuts
    held: NDArray[np.int64]  # scratch (P + 1, 2, Q): of these, rows that could satisfy each active query, and rows that do
    sums: NDArray[np.int64]  # scratch (3, 2, Q): as `held`, left of a cut, right of it, in total
    left_box: NDArray[np.int64]  # scratch (2, axes)


@inlined
def _share(wanted: Wanted, axes: AxisTables, predicate: Whole, low: Whole, high: Whole) -> float:
    """Return the share of a published cell of the codes low..high that satisfies a predicate."""
    axis = wanted.axis[predicate]
    if high == 0:
        return 0.0
    size = axes.size[axis]
    if low == 0:  # published as `*`: missing, or any value
        return wanted.anything[predicate]
    if not axes.numeric[axis] and low < high:
        row = axes.start[axis]
        for _ in range(axes.height[axis]):
            row += size
            if axes.ancestors[row + low] == axes.ancestors[row + high]:
                node = axes.ancestors[row + low]
                low, high = wanted.node_first[node], wanted.node_last[node]
                break
    at, of = wanted.start[predicate], wanted.axis_start[axis]
    whole = wanted.axis_upto[of + high] - wanted.axis_before[of + low]
    if low == high or whole <= 0:
        return 1.0 if wanted.held[at + low] > wanted.held[at + low - 1] else 0.0
    return (wanted.upto[at + high] - wanted.before[at + low]) / whole


@kernel
def _error(
    wanted: Wanted,
    axes: AxisTables,
    active: NDArray[np.int64],  # IN: queries
    many: int,
    box: NDArray[np.int64],  # IN (2, axes)
    held: NDArray[np.int64],  # IN (2, Q): rows that could satisfy each active query, and rows that do
) -> float:
    """Return the weighted error of the answers from one part."""
    total = 0.0
    for i in range(many):
        query = active[i]
        if held[0, i] == 0:
            continue
        answer = np.float64(held[0, i])
        for predicate in range(wanted.first[query], wanted.first[query + 1]):
            axis = wanted.axis[predicate]
            answer *= _share(wanted, axes, predicate, box[0, axis], box[1, axis])
        off = abs(answer - held[1, i])
        total += wanted.weight[query] * off * (off / held[0, i]) ** 2
    return total


@kernel
def _find_active(wanted: Wanted, box: NDArray[np.int64], active: NDArray[np.int64]) -> int:
    """Find the queries that some, but perhaps not all, rows of a box satisfy. Return their number."""
    many = 0
    for query in range(wanted.weight.size):
        some, part = True, False
        for predicate in range(wanted.first[query], wanted.first[query + 1]):
            axis, at = wanted.axis[predicate], wanted.start[predicate]
            low, high = box[0, axis], box[1, axis]
            least = max(low, 1)
            held = wanted.held[at + high] - wanted.held[at + least - 1]
            between = wanted.upto[at + high] - wanted.before[at + least]  # may be between the values that occur
            some = some and (held > 0 or between > 0 or (low == 0 and high > 0 and wanted.anything[predicate] > 0))
            part = part or held <= high - low
        if some and part:
            active[many] = query
            many += 1
    return many


@kernel
def find_cuts(
    words: NDArray[np.uint64],
    ids: NDArray[np.uint32],
    layout: BitLayout,
    first: int,
    last: int,
    axes: AxisTables,
    k: int,
    asking: Asking,  # OUT its `gains` and `lefts`
    box: NDArray[np.int64],  # IN (2, axes): box of the part
) -> None:
    """Compute the gain of a cut at every end of a predicate, with one pass over the rows per axis."""
    wanted, gains, lefts, active = asking.wanted, asking.gains, asking.lefts, asking.active
    parts, rights, sizes, held = asking.parts, asking.rights, asking.sizes, asking.held
    left_box, left_held, right_held, all_held = asking.left_box, asking.sums[0], asking.sums[1], asking.sums[2]
    least = asking.least * (last - first)
    gains[:] = 0.0
    many = _find_active(wanted, box, active)
    if many == 0:
        return
    now = -1.0
    for axis in range(layout.axes):
        begin, end = wanted.cut_first[axis], wanted.cut_first[axis + 1]
        while begin < end and wanted.cut[begin] < box[0, axis]:
            begin += 1
        while end > begin and wanted.cut[end - 1] >= box[1, axis]:
            end -= 1
        if begin == end:
            continue
        pieces = end - begin + 1
        _gather(words, ids, layout, first, last, asking, axis, begin, pieces, many)
        if now < 0:
            all_held[:] = 0
            for piece in range(pieces):
                _add(all_held, held[piece], many)
            now = _error(wanted, axes, active, many, box, all_held)
        rights[pieces - 1] = parts[pieces - 1]
        for piece in range(pieces - 2, -1, -1):
            rights[piece] = rights[piece + 1]
            _widen(rights[piece], parts[piece])
        left_held[:] = 0
        left = 0
        left_box[0], left_box[1] = np.iinfo(np.int64).max, -1
        for piece in range(pieces - 1):
            left += sizes[piece]
            _widen(left_box, parts[piece])
            _add(left_held, held[piece], many)
            if sizes[piece] == 0 or left < k or last - first - left < k:  # without rows it is the same as the cut before
                continue
            for at in range(many):
                right_held[0, at], right_held[1, at] = all_held[0, at] - left_held[0, at], all_held[1, at] - left_held[1, at]
            after = _error(wanted, axes, active, many, left_box, left_held)
            after += _error(wanted, axes, active, many, rights[piece + 1], right_held)
            if now - after > least:
                gains[begin + piece], lefts[begin + piece] = now - after, left


@inlined
def _add(sums: NDArray[np.int64], other: NDArray[np.int64], many: int) -> None:
    """Add the counts of the active queries."""
    for at in range(many):
        sums[0, at] += other[0, at]
        sums[1, at] += other[1, at]


@inlined
def _widen(box: NDArray[np.int64], other: NDArray[np.int64]) -> None:
    """Extend a box to include another box."""
    for j in range(box.shape[1]):
        box[0, j] = min(box[0, j], other[0, j])
        box[1, j] = max(box[1, j], other[1, j])


@kernel
def _gather(
    words: NDArray[np.uint64],
    ids: NDArray[np.uint32],
    layout: BitLayout,
    first: int,
    last: int,
    asking: Asking,  # OUT its `parts`, `sizes` and `held`
    axis: int,
    begin: Whole,  # the first cut that is tried
    pieces: Whole,
    many: int,  # number of active queries
) -> None:
    """Compute box, size and counts of the rows between each two cuts of an axis."""
    parts, sizes, held, active = asking.parts, asking.sizes, asking.held, asking.active
    members, piece_of = asking.wanted.members, asking.wanted.piece_of
    codes_start = asking.wanted.axis_start[axis]
    before = begin - asking.wanted.cut_first[axis]
    column, shift, mask = words[layout.word[axis]], layout.shift[axis], layout.mask[axis]
    for piece in range(pieces):
        parts[piece, 0], parts[piece, 1], sizes[piece] = np.iinfo(np.int64).max, -1, 0
        held[piece, :, :many] = 0
    for i in range(first, last):
        code = np.int64((column[i] >> shift) & mask)
        piece = piece_of[codes_start + code] - before
        sizes[piece] += 1
        for j in range(layout.axes):
            other = np.int64((words[layout.word[j], i] >> layout.shift[j]) & layout.mask[j])
            parts[piece, 0, j] = min(parts[piece, 0, j], other)
            parts[piece, 1, j] = max(parts[piece, 1, j], other)
        row = ids[i]
        for at in range(many):
            fulfils = members[row, active[at]]
            held[piece, 0, at] += fulfils & CARRIED
            held[piece, 1, at] += fulfils >> CARRIED
