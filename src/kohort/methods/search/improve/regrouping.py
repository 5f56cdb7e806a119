"""Improvement by regrouping: in every sweep, pools of a few groups are cut again, and the cut with less loss is kept.

Each sweep divides the groups into different cells of neighbouring groups. The cells are processed in parallel. Early sweeps
accept a pool that costs slightly more; later sweeps do not. This leaves local optima, in which no single pool can be improved.
The result is the best state at the end of a sweep. The search ends early when sweeps find nothing better.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kohort.constraints.constraints import Constraints
from kohort.encoding.groups import grouped_rows, merged, total_cost
from kohort.encoding.points import Points
from kohort.encoding.row_order import own_seed, splitmix64
from kohort.methods.search.decisions import SweepCount
from kohort.methods.search.gain_cuts import STEPS, promised_by, workspace_for
from kohort.methods.search.median_cuts import cut_table
from kohort.progress import Progress, Task
from kohort.schema.promises import Promise

if TYPE_CHECKING:
    from kohort.kernels.cuts.cut_workspace import CutWorkspace
    from kohort.kernels.cuts.gain_cuts import Promised

SWEEPS = 10  # per round, times the square root of the mean group size: larger groups are fewer and need more sweeps
MOST_SWEEPS = 150
TINY, SMALL = 500, 10_000  # rows
CELL = 500  # largest number of groups in a cell
POOL = 8_192  # largest number of rows in a pool
PARTNERS, NEARBY, TRIES, NOISE = 3, 4, 4, 0.25  # see `kohort.kernels.clusters.regrouping.Search`
TOLERANCE = 0.02  # share by which a pool may cost more in the first sweep; falls to 0 after three quarters of the sweeps
IDLE = 3  # stop after this many sweeps without gain and without tolerance
NO_GAIN = 0.9995  # stop early if the cost is still above this share of the first cost


def regroup(
    points: Points,
    constraints: Constraints,
    labels: NDArray[np.int64],
    rounds: int,
    seed: int,
    progress: Progress,
    count: SweepCount,
) -> NDArray[np.int64]:
    """Return groups with less loss, or the same groups. Every row must have a label."""
    tables = points.costs()
    best, least, idle = labels, total_cost(points, labels, tables), 0
    first_cost = least
    sweeps = rounds * _sweeps(points.rows, int(labels.max()) + 1)
    regrouper = _Regrouper(points, constraints)
    progress.begin_improving(least)
    done = progress.slot()
    for sweep in range(sweeps):
        progress.check()
        done[0] = points.rows * sweep // sweeps
        tolerance = TOLERANCE * max(0.0, 1 - sweep / (0.75 * sweeps))
        labels = regrouper.sweep(labels, tolerance, own_seed(seed, sweep), progress)
        count.ran += 1
        cost = total_cost(points, labels, tables)
        idle = 0 if cost < least or tolerance else idle + 1
        if cost < least:
            progress.improved(least - cost)
            best, least = labels, cost
        if idle == IDLE or not least or _gains_nothing(points.rows, sweep / sweeps, least / first_cost):
            break
    return best


def _gains_nothing(rows: int, done: float, left: float) -> bool:
    """Return whether a quarter of the sweeps gained almost nothing. This happens if the promises leave hardly any choice."""
    return rows >= TINY and done >= 0.25 and left > NO_GAIN


def _sweeps(rows: int, groups: int) -> int:
    """Return the number of sweeps in a round.

    Tables of a few thousand rows get more sweeps, because they take little time. Tables of a few hundred rows converge quickly.
    """
    often = min(5, 1 + SMALL // rows) if rows >= TINY else 1
    return often * min(MOST_SWEEPS, round(SWEEPS * math.sqrt(rows / groups)))


class _Regrouper:
    """The table data that every sweep needs, and workspaces that tasks reuse."""

    def __init__(self, points: Points, constraints: Constraints) -> None:
        self._points, self._constraints, self._tables = points, constraints, points.costs()
        self._following = np.empty(points.rows, np.int64)
        self._spare: list[tuple[CutWorkspace, Promised | None]] = []

    @contextmanager
    def _borrowed(self) -> Iterator[tuple[CutWorkspace, Promised | None]]:
        new = not self._spare
        spare = (
            (workspace_for(self._points, self._constraints, POOL), promised_by(self._constraints)) if new else self._spare.pop()
        )
        yield spare
        self._spare.append(spare)

    def sweep(self, labels: NDArray[np.int64], tolerance: float, seed: int, progress: Progress) -> NDArray[np.int64]:
        """Cut a pool around every group again and return the new labels."""
        from kohort.kernels.clusters.regrouping import Search, improve_cell

        points, constraints = self._points, self._constraints
        order, first = grouped_rows(labels)
        search = Search(PARTNERS, NEARBY, TRIES, STEPS, NOISE, tolerance)
        cells = cells_of(points, order, first, seed)
        used, numbers = np.zeros(len(cells) + 1, np.int64), np.empty(points.rows, np.int64)

        def work(number: int) -> Task:
            def task() -> Iterable[Task]:
                with self._borrowed() as (workspace, promised):
                    used[number + 1] = improve_cell(
                        self._tables, constraints.k, promised, points.codes, order, first, cells[number], search,
                        seed, workspace, self._following, numbers, progress.slot(),
                    )  # fmt: skip
                return ()

            return task

        if len(cells) == 1:
            work(0)()
        else:
            progress.run([work(number) for number in range(len(cells))])
        cell_of_group = np.empty(len(first) - 1, np.int64)
        for number, cell in enumerate(cells):
            cell_of_group[cell] = number
        return merged(numbers + np.cumsum(used)[cell_of_group[labels]])


def cells_of(points: Points, order: NDArray[np.int64], first: NDArray[np.int64], seed: int) -> list[NDArray[np.int64]]:
    """Divide the groups into cells of neighbouring groups.

    One random row of each group represents it. Cuts with random weights of the axes divide these rows into cells.
    """
    groups = len(first) - 1
    if groups <= CELL:
        return [np.arange(groups)]
    drawn = splitmix64(np.arange(groups + len(points.axes), dtype=np.uint64) ^ np.uint64(seed))
    share = (drawn >> np.uint64(11)) / 2.0**53
    rows = order[first[:-1] + (share[:groups] * np.diff(first)).astype(np.int64)]
    some = Points(np.take(points.codes, rows, axis=0), points.axes, tuple((2.0 ** (6 * share[groups:])).tolist()))
    cell = cut_table(some, Constraints(Promise(k=2), groups), Progress(1), largest=CELL)
    return np.split(np.argsort(cell, kind="stable"), np.cumsum(np.bincount(cell))[:-1])
