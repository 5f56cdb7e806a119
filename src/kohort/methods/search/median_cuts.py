"""Cut a table in two and cut each part again: into Mondrian's groups, into blocks, or into neighbourhoods of a few rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kohort.constraints.constraints import Constraints
from kohort.encoding.points import Points
from kohort.methods.search.decisions import Cuts, Decisions
from kohort.progress import Progress, Task

if TYPE_CHECKING:
    from kohort.kernels.core.packed import BitLayout
    from kohort.kernels.core.promise_rules import Tally
    from kohort.kernels.cuts.guarded_cuts import Guard
    from kohort.kernels.cuts.workload_cuts import Asking

SMALL = 1 << 15  # a part of up to this many rows is cut in one kernel call; it is large enough to outweigh the cost of a task


def cut_table(
    points: Points,
    constraints: Constraints,
    progress: Progress,
    *,
    relaxed: bool = False,
    largest: int = 0,
    answering: float | None = None,
) -> NDArray[np.int64]:
    """Cut a table and return one label per row.

    A part is not cut further if no cut is valid or if it has at most `largest` rows. Cuts that improve the answers to a workload
    come first. With `answering`, only such cuts are made, and only if they gain at least this much per row.
    """
    return recorded_cuts(points, constraints, progress, relaxed=relaxed, largest=largest, answering=answering).labels


def recorded_cuts(
    points: Points,
    constraints: Constraints,
    progress: Progress,
    *,
    relaxed: bool = False,
    largest: int = 0,
    answering: float | None = None,
    record: bool = False,
) -> Cuts:
    """Cut a table as `cut_table` does. With `record`, return the cuts too."""
    cutting = _Cutting(points, constraints, progress, relaxed=relaxed, largest=largest, answering=answering, record=record)
    if points.rows:
        progress.run([partial(cutting.cut, 0, points.rows, 0)])
    labels = np.empty(points.rows, np.int64)
    labels[cutting.ids[0]] = np.cumsum(cutting.begins) - 1
    recorded = cutting.recorded
    return Cuts(labels, None if recorded is None else Decisions.of(cutting.ids[0], recorded, makes_blocks=bool(largest)))


class _Cutting:
    """State of cutting one table. The rows of each part are contiguous in the arrays, as `kernels.cuts.mondrian` describes."""

    def __init__(
        self,
        points: Points,
        constraints: Constraints,
        progress: Progress,
        *,
        relaxed: bool,
        largest: int,
        answering: float | None,
        record: bool,
    ) -> None:
        from kohort.kernels.core.packed import pack
        from kohort.kernels.cuts.recorded_cuts import room_for

        self._points, self._constraints, self._progress = points, constraints, progress
        self._relaxed, self._largest, self._answering = relaxed, largest, answering
        rows, columns = points.codes.shape
        sensitive = constraints.sensitive_values
        sizes = [*(axis.size for axis in points.axes), *(sensitive.max(axis=0, initial=0) + 1).tolist()]
        self._layout, word_count = layout_of(sizes, columns)
        self._words = np.zeros((2, word_count, rows), np.uint64)
        pack(points.codes, self._layout, 0, self._words[0])
        pack(sensitive, self._layout, columns, self._words[0])
        self.ids = np.empty((2, rows), np.uint32 if rows < 2**32 else np.uint64)
        self.ids[0] = np.arange(rows)
        self.begins = np.zeros(rows, np.bool_)
        self.recorded = room_for(rows, 1) if record else None
        self._tables = points.kernel_tables()
        self._longest = max(axis.size for axis in points.axes)
        self._guards = _Guards(constraints, self._longest)

    def cut(self, first: int, last: int, side: int) -> Iterable[Task]:
        """Cut the part first..last once. If the part is small, cut it until no cut is valid."""
        from kohort.kernels.cuts import mondrian as kernels
        from kohort.kernels.cuts.recorded_cuts import keep_cut

        state, columns, longest, largest = self._progress.slot(), len(self._points.axes), self._longest, self._largest
        scratch = np.empty((3, columns), np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64)
        asking = _workload_of(self._points, self._answering)
        with self._guards.borrowed(last - first) as guard:
            rows = (self._words, self.ids, self._layout, first, last, side)
            piece = (*rows, self._tables, self._constraints.k, guard, self._relaxed, *scratch, asking)
            if last - first <= SMALL and not largest:
                kernels.cut_all(*piece, self.begins, state, self.recorded)
                return ()
            middle, axis, reason = kernels.cut_once(*piece) if last - first > largest else kernels.NO_CUT
        if middle < 0:
            kernels.close(self.ids, first, last, side, self.begins)
            state[0] = 0 if largest else last - first  # blocks still have to be processed, so their rows are not done
            return ()
        if self.recorded is not None:
            keep_cut(self.recorded, first, middle, last, axis, reason)
        return partial(self.cut, first, middle, 1 - side), partial(self.cut, middle, last, 1 - side)


def _workload_of(points: Points, answering: float | None) -> Asking | None:
    """Return the workload with scratch arrays for one task; None if there is no workload."""
    if points.wanted is None:
        return None
    from kohort.kernels.cuts.workload_cuts import Asking

    wanted, axes = points.wanted, len(points.axes)
    queries, cuts, pieces = len(wanted.weight), len(wanted.cut), int(np.diff(wanted.cut_first).max()) + 1
    boxes = pieces, 2, axes
    shapes = (cuts,), (queries,), boxes, boxes, (pieces,), (pieces, 2, queries), (3, 2, queries), (2, axes)
    scratch = [np.empty(shape, np.int64) for shape in shapes]
    return Asking(wanted, answering is not None, answering or 0.0, np.empty(cuts), *scratch)


class _Guards:
    """Guards with which tasks check promises other than k. Tasks reuse the tallies, because these have one entry per value."""

    def __init__(self, constraints: Constraints, longest: int) -> None:
        self._constraints, self._longest = constraints, longest
        self._spare: list[Tally] = []

    @contextmanager
    def borrowed(self, rows: int) -> Iterator[Guard | None]:
        if not self._constraints.beyond_k:
            yield None
            return
        from kohort.kernels.cuts.guarded_cuts import Guard

        tally = self._spare.pop() if self._spare else self._constraints.tally()
        sensitive = np.empty((rows, self._constraints.sensitive_values.shape[1]), np.int64)
        yield Guard(self._constraints.rules, tally, sensitive, *(np.empty(self._longest + more, np.int64) for more in (1, 0)))
        self._spare.append(tally)


def layout_of(sizes: Sequence[int], axes: int) -> tuple[BitLayout, int]:
    """Lay out codes of these sizes in 64-bit words by first fit. Return the layout and the number of words.

    No code spans two words.
    """
    from kohort.kernels.core.packed import BitLayout

    used: list[int] = []
    word, shift, mask = [], [], []
    for size in sizes:
        bits = max(1, (size - 1).bit_length())
        index = next((number for number, taken in enumerate(used) if taken + bits <= 64), len(used))
        if index == len(used):
            used.append(0)
        word.append(index)
        shift.append(used[index])
        mask.append((1 << bits) - 1)
        used[index] += bits
    return BitLayout(axes, np.array(word, np.int64), np.array(shift, np.uint64), np.array(mask, np.uint64)), len(used)
