"""Improvement of groups for microaggregation: lower the square error while all groups stay valid.

kohort's own search, a variable neighbourhood search (Mladenovic, Hansen 1997). Each group in random order is pooled with some of
its nearest groups. Rows move and swap between the groups of the pool until no move lowers the error. Then, twice, the pool is
changed and improved again. It is changed by a few random swaps, or it is grouped again from random rows and their nearest rows,
into the same number of groups, one fewer or one more. The best result is kept. Early sweeps accept a result that is worse by up
to 2 %, as in threshold accepting (Dueck, Scheuer 1990). The best state of all sweeps is returned.

Distances are those of `mdav`. If all columns are numbers without missing values, numbers are divided by their standard deviation
in the whole table. Otherwise the distances of `centroid_features` are squared on each axis. The weight of a column multiplies the
square. If there are categories or missing values, the error of a group is computed from the distances of its pairs of rows. For
numbers this gives the same error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kohort.constraints.constraints import Constraints
from kohort.encoding.groups import grouped_rows, merged
from kohort.encoding.number_axis import NumericAxis
from kohort.encoding.points import UNIT, Points
from kohort.encoding.row_order import own_seed
from kohort.methods.search.centroid_features import runs_of, shares
from kohort.methods.search.decisions import SweepCount
from kohort.methods.search.median_cuts import cut_table
from kohort.progress import Progress

if TYPE_CHECKING:
    from kohort.kernels.centroids.centroid_tree import Nest
    from kohort.kernels.centroids.centroids import Space
    from kohort.kernels.centroids.square_pool import PromiseCheck, SquarePool
    from kohort.kernels.core.promise_rules import Whole

SWEEPS = 20  # sweeps over all groups in a round, with pools of up to ROWS rows; fewer sweeps with larger pools
SMALL = (
    10_000  # rows: smaller tables get up to three times as many sweeps if k is the only promise, because sweeps are fast there
)
TOLERANCE = 0.02  # share by which the error of a pool may grow in the first sweeps
NOISE = 1e-9  # share of the error; a smaller gain is rounding noise
AT_ONCE = 4  # sweeps with the same neighbours
NEIGHBOURS = 18  # neighbours of a group from which its pool is drawn
POOL_GROUPS = 12  # groups in a pool
ROWS = 160  # rows in a pool, unless k needs more
MOST_ROWS = 3000  # largest number of rows in a pool; memory and time grow with its square
INNERMOST = 8  # groups in a box of the search tree that is not halved further

Labels = NDArray[np.int64]


def improve_square_error(
    points: Points,
    constraints: Constraints,
    labels: Labels,
    rounds: int,
    seed: int,
    progress: Progress,
    count: SweepCount | None = None,
) -> Labels:
    """Return groups with less square error, or with the same, numbered from 0. The search ends when a round gains nothing.

    Rows with the label -1 stay suppressed. The number of sweeps is added to `count`.
    """
    labels = merged(labels)
    if rounds < 1 or np.count_nonzero(labels >= 0) < 2 * constraints.k:
        return labels
    pool_rows = min(max(ROWS, 3 * constraints.k), MOST_ROWS)
    best = _cut_large(points, constraints, labels, pool_rows // 2, progress)
    search = _Search(points, constraints, pool_rows, progress)
    often = 1 if constraints.beyond_k else min(3, 1 + SMALL // points.rows)  # checking other promises takes most of the time
    sweeps = max(1, SWEEPS * often * ROWS // pool_rows)
    for number in range(rounds):
        before, labels, gained, most = best, best, 0.0, 0.0
        for sweep in range(0, sweeps, AT_ONCE):
            after = min(sweep + AT_ONCE, sweeps)
            seeds = [own_seed(seed, number * sweeps + each) for each in range(sweep, after)]
            labels, gain = search.improve(labels, seeds, TOLERANCE * max(0.0, 1 - after / (0.8 * sweeps)))
            gained += gain
            if count is not None:
                count.ran += after - sweep
            if gained > most + NOISE * search.error:
                best, most = labels, gained
        if best is before:
            break
    return best


def _cut_large(points: Points, constraints: Constraints, labels: Labels, largest: int, progress: Progress) -> Labels:
    """Cut groups that are too large for a pool with Mondrian's cuts. This never raises the square error."""
    by_group, first = grouped_rows(labels)
    labels, groups = labels.copy(), len(first) - 1
    for group in np.flatnonzero(np.diff(first) > max(largest, 2 * constraints.k - 1)).tolist():
        rows = by_group[first[group] : first[group + 1]]
        parts = cut_table(points.take(rows), constraints.take(rows), Progress(1))
        progress.check()
        labels[rows] = np.where(parts == 0, group, groups + parts - 1)
        groups += int(parts.max())
    return labels


class _Search:
    """Data and scratch arrays that all sweeps over one table share."""

    def __init__(self, points: Points, constraints: Constraints, pool_rows: int, progress: Progress) -> None:
        from kohort.kernels.centroids.centroids import Space
        from kohort.kernels.centroids.square_pool import PromiseCheck, SquarePool

        values, (shape, runs, power) = _indices(points), runs_of(replace(points, weights=_roots(points)))
        self.space: Space = Space(values, np.arange(points.rows), np.ones(len(points.axes)), shape, runs / UNIT, power)
        self._progress = progress
        self.error = 0.0
        """Approximate square error of the groups before the last call of `improve`."""
        most = POOL_GROUPS + 3  # room for groups that are split
        rows, group = np.empty((2, pool_rows), np.int64)
        sizes, seeds = np.empty((2, most), np.int64)
        pairs, inverse, to = np.empty((3, most))
        sums, own, apart = np.empty((most, pool_rows)), np.empty(pool_rows), np.empty((pool_rows, pool_rows))
        self.pool: SquarePool = SquarePool(rows, apart, group, sizes, sums, pairs, inverse, own, to, seeds)
        sensitive = constraints.sensitive_values
        mine = np.empty((pool_rows, sensitive.shape[1]), np.int64)
        self.promise_check: PromiseCheck = PromiseCheck(
            constraints.k, constraints.beyond_k, constraints.rules, constraints.tally(), sensitive, mine
        )

    def improve(self, labels: Labels, seeds: Sequence[int], tolerance: float) -> tuple[Labels, float]:
        """Find the neighbours of all groups, then improve a pool around every group, once for each seed.

        Return the groups and the gain.
        """
        from kohort.kernels.centroids import square_search as kernels
        from kohort.kernels.centroids.centroids import ClusterMembers
        from kohort.kernels.centroids.square_search import TRIES

        sizes = np.bincount(labels[labels >= 0])
        groups, room = len(sizes), len(sizes) * (1 + TRIES * len(seeds))
        members = ClusterMembers(np.full(room, -1), np.full(len(labels), -1))
        kernels.chain(members, labels)
        state = self._progress.slot()
        middles, spread = np.empty((groups, self.space.values.shape[1])), np.empty(groups)
        pool_rows = len(self.pool.rows)
        kernels.describe(self.space, members, middles, spread, np.empty(int(sizes.max())))
        self.error = float(spread.sum())
        near = self._neighbours(middles, state)
        sizes = np.concatenate([sizes, np.zeros(room - groups, np.int64)])
        order, taken, best = (np.empty(size, np.int64) for size in (groups, len(self.pool.sizes), pool_rows))
        scratch = order, taken, best, np.empty(pool_rows)
        used: Whole = groups
        gained = 0.0
        for seed in seeds:
            found = members, near, spread, sizes
            used, gain = kernels.sweep(
                self.space, self.promise_check, self.pool, *found, *scratch, POOL_GROUPS, used, tolerance, seed, state
            )
            gained += gain
        self._progress.check()
        changed = np.full(len(labels), -1)
        kernels.unchain(members, changed)
        return merged(changed), gained

    def _neighbours(self, middles: NDArray[np.float64], state: NDArray[np.int64]) -> Labels:
        """Return the nearest groups of each group."""
        from kohort.kernels.centroids.centroid_tree import build
        from kohort.kernels.centroids.square_search import update_neighbourhood

        groups = len(middles)
        near = np.empty((groups, min(NEIGHBOURS, groups)), np.int64)
        centres, nest = self.space._replace(values=middles, point=np.arange(groups)), _empty_nest(groups, middles.shape[1])
        build(centres, middles, nest)
        update_neighbourhood(centres, nest, near, np.empty(near.shape[1]), state)
        return near


def _empty_nest(groups: int, axes: int) -> Nest:
    from kohort.kernels.centroids.centroid_tree import Nest

    depth = max(0, (groups - 1) // INNERMOST).bit_length()
    boxes = 2 ** (depth + 1) - 1
    first, last, lowest, room = np.empty((4, boxes), np.int64)
    order, index, home = np.empty((3, groups), np.int64)
    low, high = np.empty((2, boxes + groups, axes))
    return Nest(low, high, first, last, lowest, room, order, index, home, np.empty(depth + 2, np.int64), np.empty(depth + 2))


def _roots(points: Points) -> tuple[float, ...]:
    """Return the square roots of the weights. They make the square of a distance proportional to the weight of its column."""
    return tuple(map(math.sqrt, points.weights))


def _indices(points: Points) -> NDArray[np.float64]:
    """Return positions of numbers (-1 if missing) and codes of categories, of shape (rows, axes)."""
    by_deviation = all(isinstance(axis, NumericAxis) for axis in points.axes) and not any(points.some_missing)
    values = points.codes.astype(np.float64)
    for number, (axis, root) in enumerate(zip(points.axes, _roots(points), strict=True)):
        if isinstance(axis, NumericAxis):
            unit = points.deviations[number] if by_deviation else 1.0
            index = shares(points, number) * (root / unit if unit else 0.0)
            values[:, number] = np.where(points.codes[:, number] == 0, -1.0, index)
    return values
