"""Where to cut so that the queries of a workload are answered better: at an end of one of their predicates.

An answer from a part takes its values as evenly spread, so it is off by some share of the part's records. The cut is taken that
lowers most the records that are off times the square of that share: small shares of many parts cancel out, large ones of a few
do not. The records alone, or their squares, leave more error on Adult (docs/decisions/0008).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import inlined, kernel
from kohort.kernels.core.packed import BitLayout
from kohort.kernels.core.promise_rules import Whole
from kohort.kernels.core.widths import AxisTables

CARRIED = np.uint8(1)  # in `members`: columns that are published as they are fulfil a query; the bit above: all columns do


class Wanted(NamedTuple):
    """A workload on the axes of a table: Q queries, P predicates on axes, query by query."""

    weight: NDArray[np.float64]  # (Q): of a record by which an answer is off
    first: NDArray[np.int64]  # (Q + 1): where a query's predicates begin
    axis: NDArray[np.int64]  # (P)
    anything: NDArray[np.float64]  # (P): the share that fulfils it of a cell that tells nothing
    start: NDArray[np.int64]  # (P): where its codes begin in `before`, `upto`, `held`
    before: NDArray[np.float64]  # per code: how much of what is asked for lies before it
    upto: NDArray[np.float64]  # per code: ... before its end
    held: NDArray[np.int64]  # per code: how many codes up to it are asked for
    axis_start: NDArray[np.int64]  # (axes): where its codes begin in the next two
    axis_before: NDArray[np.float64]  # per code: how much of the axis lies before it
    axis_upto: NDArray[np.float64]  # per code: ... before its end
    node_first: NDArray[np.int64]  # per node of any tree: its first code
    node_last: NDArray[np.int64]
    cut_first: NDArray[np.int64]  # (axes + 1): where the cuts of an axis begin
    cut: NDArray[np.int64]  # codes after which a predicate begins or ends, ascending
    piece_of: NDArray[np.int64]  # per code, as `axis_before`: how many cuts of its axis lie before it
    members: NDArray[np.uint8]  # (rows, Q)
    jump: NDArray[np.float64]  # per code, as `axis_before`: what the ends of predicates up to it cost a search, in full widths
    toll: NDArray[np.float64]  # per node, as `node_first`: what the predicates cost that it straddles


class Asking(NamedTuple):
    """A workload as one thread asks it, with room for T cuts, P of them on one axis."""

    wanted: Wanted
    only: bool  # cut nowhere else
    least: float  # gain per record, below which a cut is not worth it
    gains: NDArray[np.float64]  # scratch (T): by how much each cut lowers the error; 0 if it may not be made
    lefts: NDArray[np.int64]  # scratch (T): how many records each leaves on the left
    active: NDArray[np.int64]  # scratch (Q): queries that a part answers wrongly, perhaps
    parts: NDArray[np.int64]  # scratch (P + 1, 2, axes): boxes of what lies between two cuts
    rights: NDArray[np.int64]  # scratch, the same: of all that lies from there on
    sizes: NDArray[np.int64]  # scratch (P + 1): records between two cuts
    held: NDArray[np.int64]  # scratch (P + 1, 2, Q): of these, who could fulfil each active query, and who does
    sums: NDArray[np.int64]  # scratch (3, 2, Q): left of a cut, right of it, in all
    left_box: NDArray[np.int64]  # scratch (2, axes)


@inlined
def _share(wanted: Wanted, axes: AxisTables, predicate: Whole, low: Whole, high: Whole) -> float:
    """Of a published cell of the codes low..high: the share that fulfils a predicate."""
    axis = wanted.axis[predicate]
    if high == 0:
        return 0.0
    size = axes.size[axis]
    if low == 0:  # missing or anything
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
    held: NDArray[np.int64],  # IN (2, Q): records that could fulfil each active query, and those that do
) -> float:
    """How far the answers from a part are off."""
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
    """The queries that some but perhaps not all records of a box fulfil."""
    many = 0
    for query in range(wanted.weight.size):
        some, part = True, False
        for predicate in range(wanted.first[query], wanted.first[query + 1]):
            axis, at = wanted.axis[predicate], wanted.start[predicate]
            low, high = box[0, axis], box[1, axis]
            least = max(low, 1)
            held = wanted.held[at + high] - wanted.held[at + least - 1]
            between = wanted.upto[at + high] - wanted.before[at + least]  # of places that perhaps nobody holds
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
    asking: Asking,  # its `gains` and `lefts` are filled
    box: NDArray[np.int64],  # IN (2, axes): of the part
) -> None:
    """Try every end of a predicate: what lies left and right of it is gathered in one sweep over the records per axis."""
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
            if sizes[piece] == 0 or left < k or last - first - left < k:  # without records the cut is the one before
                continue
            for at in range(many):
                right_held[0, at], right_held[1, at] = all_held[0, at] - left_held[0, at], all_held[1, at] - left_held[1, at]
            after = _error(wanted, axes, active, many, left_box, left_held)
            after += _error(wanted, axes, active, many, rights[piece + 1], right_held)
            if now - after > least:
                gains[begin + piece], lefts[begin + piece] = now - after, left


@inlined
def _add(sums: NDArray[np.int64], other: NDArray[np.int64], many: int) -> None:
    for at in range(many):
        sums[0, at] += other[0, at]
        sums[1, at] += other[1, at]


@inlined
def _widen(box: NDArray[np.int64], other: NDArray[np.int64]) -> None:
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
    asking: Asking,  # its `parts`, `sizes` and `held` are filled: what lies between two cuts
    axis: int,
    begin: Whole,  # the first cut in question
    pieces: Whole,
    many: int,  # active queries
) -> None:
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
