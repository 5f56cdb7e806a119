"""Clusters of the k-means methods: they start at random rows, and rows are assigned to their centroids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kohort.constraints.constraints import Constraints
from kohort.encoding.points import Points
from kohort.methods.feature_options import FeatureOptions, compared
from kohort.methods.search.centroid_features import sorted_axes, space_of
from kohort.progress import Progress

if TYPE_CHECKING:
    from kohort.kernels.centroids.centroid_tree import Nest
    from kohort.kernels.centroids.centroids import Space

ROUNDS = 100
INNERMOST = 10  # centroids in a box of the search tree that is not halved further

Labels = NDArray[np.int64]


class CentroidClusters:
    """The floor(n/k) clusters of a table with at least 2k rows.

    Two random orders of the rows are drawn at the start. The first rows of the first order are the first centroids. Rows that
    were given up are reassigned in the second order. So a round depends only on the centroids, and a partition that repeats would
    repeat for ever.
    """

    def __init__(
        self,
        points: Points,
        constraints: Constraints,
        options: FeatureOptions,
        seed: int,
        progress: Progress,
        *,
        exact: bool = True,
    ) -> None:
        """Draw the first centroids. `exact`: sums of distances are exact, because no axis is weighted by a fraction."""
        from kohort.kernels.centroids.centroids import ClusterMembers
        from kohort.kernels.core.randomness import deal

        self.k, self.rows = constraints.k, points.rows
        self.count = self.rows // self.k
        points = compared(points, options)
        self.space = space_of(points)
        self.state = progress.slot()
        self._progress = progress
        random_order, self.second_order = np.arange(self.rows), np.arange(self.rows)
        deal(seed, np.int64(0), random_order)
        deal(seed, np.int64(self.rows), self.second_order)
        if exact:  # axes on which rows differ most come first, so that kernels can reject distant centroids early
            _distance, totals, _squares = self.spread(self.space.point[random_order], self.space.values)
            points = sorted_axes(points, np.argsort(-totals, kind="stable"))
            self.space = space_of(points)
        self.tables = points.kernel_tables()
        self.seeds = random_order[: self.count]
        self.centroids = self.space.values[self.space.point[self.seeds]]
        self.members = ClusterMembers(np.empty(self.count, np.int64), np.empty(self.rows, np.int64))
        self.nodes = np.zeros(len(self.tables.node_cost), np.int64)
        self._before = np.full(self.rows, -1)
        self._assigned_to = np.full_like(self.centroids, np.nan)
        self._nearest_of_point = np.full(len(self.space.values), -1)
        self.nest = self._empty_nest()
        self.ended = ""
        """Why the rounds ended: no centroid moved (`still`), a partition `repeated`, or the `limit` of rounds was reached."""
        self.round = 0

    def _empty_nest(self) -> Nest:
        from kohort.kernels.centroids.centroid_tree import Nest

        depth = max(0, (self.count - 1) // INNERMOST).bit_length()
        boxes, axes = 2 ** (depth + 1) - 1, self.centroids.shape[1]
        first, last, lowest, room = np.empty((4, boxes), np.int64)
        order, index, home = np.empty((3, self.count), np.int64)
        low, high = np.empty((2, boxes + self.count, axes))
        stack, bound = np.empty(depth + 2, np.int64), np.empty(depth + 2)
        return Nest(low, high, first, last, lowest, room, order, index, home, stack, bound)

    def rounds(self, one_round: Callable[[], Labels]) -> Iterator[Labels]:
        """Yield the partition of each round, until no centroid moves, a partition repeats, or the limit of rounds is reached."""
        seen: set[bytes] = set()
        for self.round in range(1, ROUNDS + 1):
            labels = one_round()
            moved = self.move(labels)
            yield labels
            mark = blake2b(labels.tobytes(), digest_size=16).digest()
            if not moved or mark in seen:
                self.ended = "repeated" if moved else "still"
                return
            seen.add(mark)
            self.state[0] = self.rows * self.round // ROUNDS
        self.ended = "limit"

    def nearest(self) -> Labels:
        """Return the nearest cluster of each row."""
        from kohort.kernels.centroids.centroid_tree import build
        from kohort.kernels.centroids.nearest_centroid import assign

        build(self.space, self.centroids, self.nest)
        stayed = (self.centroids == self._assigned_to).all(axis=1).astype(np.int64)
        self._assigned_to = self.centroids.copy()
        scratch = np.empty(self.count)
        assign(self.space, self._centres(), self.nest, stayed, self._nearest_of_point, scratch, self.state)
        self._progress.check()
        return self._nearest_of_point[self.space.point]

    def _centres(self) -> Space:
        """Return the centroids as points."""
        return self.space._replace(values=self.centroids, point=np.arange(self.count))

    def fill(self, labels: Labels, order: NDArray[np.int64]) -> Labels:
        """Assign the rows with label -1, in this order.

        They go to the nearest cluster with fewer than k rows while there is one, then to the nearest of all clusters.
        """
        from kohort.kernels.centroids.centroid_tree import build
        from kohort.kernels.centroids.nearest_centroid import fill

        labels = labels.copy()
        sizes = np.bincount(labels[labels >= 0], minlength=self.count)
        favourite = np.full(len(self.space.values), -1)
        build(self.space, self.centroids, self.nest)
        fill(self.space, self.nest, order, np.int64(self.k), sizes, labels, self._before, favourite, self.state)
        self._progress.check()
        self._before = labels
        return labels

    def adjust(self, labels: Labels) -> Labels:
        """Let clusters with more than k rows give up their furthest rows (ties: highest row number). `fill` reassigns these."""
        distance, _totals, _squares = self.spread(labels)
        order = np.lexsort((distance, labels))
        sizes = np.bincount(labels, minlength=self.count)
        rank = np.arange(self.rows) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        given_up = labels.copy()
        given_up[order[rank >= self.k]] = -1
        return self.fill(given_up, self.second_order)

    def weigh(self, factor: NDArray[np.float64]) -> None:
        """Set the factor by which distances on each axis are multiplied from now on."""
        self.space = self.space._replace(factor=factor)
        self._assigned_to[:] = np.nan

    def nearest_of(self, small: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the target of each cluster: the nearest cluster that is not small for a small cluster, itself for the others."""
        from kohort.kernels.centroids.centroid_tree import build
        from kohort.kernels.centroids.nearest_centroid import join_others

        goes_to = np.arange(self.count)
        build(self.space, self.centroids, self.nest)
        join_others(self._centres(), self.nest, small.astype(np.int64), goes_to)
        return goes_to

    def move(self, labels: Labels) -> bool:
        """Move the centroids to the centres of their clusters. Return whether any moved. An empty cluster keeps its centroid."""
        from kohort.kernels.centroids.centroids import move_centroids

        moved = move_centroids(self.tables, self.space, labels, self.centroids, self.members, self.nodes, self.state)
        self._progress.check()
        return bool(moved)

    def square_error(self, labels: Labels) -> int:
        """Return the square error of a partition to the current centroids, in units."""
        _distance, _totals, squares = self.spread(labels)
        return int(squares.sum())

    def spread(
        self, labels: Labels, centroids: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the distance of each row to its centroid, and for each axis the sums of distances and of squares, in units."""
        from kohort.kernels.centroids.centroids import measure_spread

        distance = np.empty(self.rows)
        totals, squares = np.empty((2, len(self.space.factor)), np.int64)
        measure_spread(self.space, labels, self.centroids if centroids is None else centroids, distance, totals, squares)
        return distance, totals, squares
