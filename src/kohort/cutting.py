"""A table cut in two, and each part again: into Mondrian's classes, into blocks, or into neighbourhoods of a few records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kohort.axes import Points
from kohort.checks import Checks
from kohort.progress import Progress, Task

if TYPE_CHECKING:
    from kohort.kernels.guarded_cuts import Guard
    from kohort.kernels.packed import Layout
    from kohort.kernels.promises import Tally
    from kohort.kernels.workload_cuts import Asking

SMALL = 1 << 15  # rows that one kernel call finishes without returning: enough to hide the cost of a task


def cut_table(
    points: Points, checks: Checks, progress: Progress, *, relaxed: bool = False, largest: int = 0, answering: float | None = None
) -> NDArray[np.int64]:
    """A label per row: parts that cannot be cut, or that have no more rows than `largest`. What a workload gains by comes
    first; with `answering` nothing else is cut, and nothing that gains less than this a row.
    """
    from kohort.kernels import mondrian as kernels
    from kohort.kernels.packed import pack

    rows, columns = points.codes.shape
    secrets = checks.row_secrets
    sizes = [*(axis.size for axis in points.axes), *(secrets.max(axis=0, initial=0) + 1).tolist()]
    layout, word_count = layout_of(sizes, columns)
    words = np.zeros((2, word_count, rows), np.uint64)
    pack(points.codes, layout, 0, words[0])
    pack(secrets, layout, columns, words[0])
    ids = np.empty((2, rows), np.uint32 if rows < 2**32 else np.uint64)
    ids[0] = np.arange(rows)
    begins = np.zeros(rows, np.bool_)
    tables = points.kernel_tables()
    longest = max(axis.size for axis in points.axes)
    guards = _Guards(checks, longest)

    def cut(first: int, last: int, side: int) -> Task:
        def task() -> Iterable[Task]:
            state = progress.slot()
            scratch = np.empty((3, columns), np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64)
            asking = _asking(points, answering)
            with guards.borrowed(last - first) as guard:
                piece = (words, ids, layout, first, last, side, tables, checks.k, guard, relaxed, *scratch, asking)
                if last - first <= SMALL and not largest:
                    kernels.cut_all(*piece, begins, state)
                    return ()
                middle = kernels.cut_once(*piece) if last - first > largest else -1
            if middle < 0:
                kernels.close(ids, first, last, side, begins)
                state[0] = 0 if largest else last - first  # what is cut into blocks is not done yet
                return ()
            return cut(first, middle, 1 - side), cut(middle, last, 1 - side)

        return task

    if rows:
        progress.run([cut(0, rows, 0)])
    labels = np.empty(rows, np.int64)
    labels[ids[0]] = np.cumsum(begins) - 1
    return labels


def _asking(points: Points, answering: float | None) -> Asking | None:
    """The workload for one task."""
    if points.wanted is None:
        return None
    from kohort.kernels.workload_cuts import Asking

    wanted, axes = points.wanted, len(points.axes)
    queries, cuts, pieces = len(wanted.weight), len(wanted.cut), int(np.diff(wanted.cut_first).max()) + 1
    boxes = pieces, 2, axes
    shapes = (cuts,), (queries,), boxes, boxes, (pieces,), (pieces, 2, queries), (3, 2, queries), (2, axes)
    scratch = [np.empty(shape, np.int64) for shape in shapes]
    return Asking(wanted, answering is not None, answering or 0.0, np.empty(cuts), *scratch)


class _Guards:
    """What a task needs to ask a promise of its cuts. Tallies are as long as there are values, so tasks hand them on."""

    def __init__(self, checks: Checks, longest: int) -> None:
        self._checks, self._longest = checks, longest
        self._spare: list[Tally] = []

    @contextmanager
    def borrowed(self, rows: int) -> Iterator[Guard | None]:
        if not self._checks.beyond_k:
            yield None
            return
        from kohort.kernels.guarded_cuts import Guard

        tally = self._spare.pop() if self._spare else self._checks.tally()
        secrets = np.empty((rows, self._checks.row_secrets.shape[1]), np.int64)
        yield Guard(self._checks.rules, tally, secrets, *(np.empty(self._longest + more, np.int64) for more in (1, 0)))
        self._spare.append(tally)


def layout_of(sizes: Sequence[int], axes: int) -> tuple[Layout, int]:
    """Give codes of each size their bits in as few 64-bit words as a first fit finds; none spans two."""
    from kohort.kernels.packed import Layout

    used: list[int] = []
    word, shift, mask = [], [], []
    for size in sizes:
        bits = max(1, (size - 1).bit_length())
        place = next((number for number, taken in enumerate(used) if taken + bits <= 64), len(used))
        if place == len(used):
            used.append(0)
        word.append(place)
        shift.append(used[place])
        mask.append((1 << bits) - 1)
        used[place] += bits
    return Layout(axes, np.array(word, np.int64), np.array(shift, np.uint64), np.array(mask, np.uint64)), len(used)
