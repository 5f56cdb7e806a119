"""What the k-means methods share: clusters that start at random rows, and how rows are given to them."""

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
INNERMOST = 10  # centroids in a box that is not halved further

Labels = NDArray[np.int64]


class CentroidClusters:
    """floor(n/k) clusters of one table of at least 2k rows. Rows are in an order drawn once: its first are the seeds.

    A second order, drawn once too, is the one in which rows that were given up find a new cluster. So a round depends on the
    centroids alone, and a partition that comes back would come back for ever.
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
        """`exact`: sums of distances are exact in any order, as they are unless axes are weighed by fractions."""
        from kohort.kernels.centroids.centroids import ClusterMembers
        from kohort.kernels.core.randomness import deal

        self.k, self.rows = constraints.k, points.rows
        self.count = self.rows // self.k
        points = compared(points, options)
        self.space = space_of(points)
        self.state = progress.slot()
        self._progress = progress
        self.dealt, self.second = np.arange(self.rows), np.arange(self.rows)
        deal(seed, np.int64(0), self.dealt)
        deal(seed, np.int64(self.rows), self.second)
        if exact:  # axes on which rows differ most come first: soonest is known what is too far
            _distance, totals, _squares = self.spread(self.space.point[self.dealt], self.space.values)
            points = sorted_axes(points, np.argsort(-totals, kind="stable"))
            self.space = space_of(points)
        self.tables = points.kernel_tables()
        self.seeds = self.dealt[: self.count]
        self.centroids = self.space.values[self.space.point[self.seeds]]
        self.members = ClusterMembers(np.empty(self.count, np.int64), np.empty(self.rows, np.int64))
        self.nodes = np.zeros(len(self.tables.node_cost), np.int64)
        self._before = np.full(self.rows, -1)
        self._assigned_to = np.full_like(self.centroids, np.nan)
        self._nearest_of_point = np.full(len(self.space.values), -1)
        self.nest = self._empty_nest()
        self.ended = ""
        """Why the rounds ended: `still`, `repeated` or `limit`."""
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
        """The partition of each round, until no centroid moves, a partition comes back, or there were enough."""
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
        """Each row's nearest cluster."""
        from kohort.kernels.centroids.centroid_tree import build
        from kohort.kernels.centroids.nearest_centroid import assign

        build(self.space, self.centroids, self.nest)
        stayed = (self.centroids == self._assigned_to).all(axis=1).astype(np.int64)
        self._assigned_to = self.centroids.copy()
        alone = np.empty(self.count)
        assign(self.space, self._centres(), self.nest, stayed, self._nearest_of_point, alone, self.state)
        self._progress.check()
        return self._nearest_of_point[self.space.point]

    def _centres(self) -> Space:
        """The centroids as points."""
        return self.space._replace(values=self.centroids, point=np.arange(self.count))

    def fill(self, labels: Labels, order: NDArray[np.int64]) -> Labels:
        """Rows with -1, in this order, go to the nearest cluster below k while there is one, then to the nearest of all."""
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
        """Clusters above k give up their furthest rows (ties: the highest), which go where `fill` says."""
        distance, _totals, _squares = self.spread(labels)
        order = np.lexsort((distance, labels))
        sizes = np.bincount(labels, minlength=self.count)
        rank = np.arange(self.rows) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        given_up = labels.copy()
        given_up[order[rank >= self.k]] = -1
        return self.fill(given_up, self.second)

    def weigh(self, factor: NDArray[np.float64]) -> None:
        """By how much the distance on each axis counts, from now on."""
        self.space = self.space._replace(factor=factor)
        self._assigned_to[:] = np.nan

    def nearest_of(self, small: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Where each cluster goes: one that is not small stays, a small one joins the nearest that is not."""
        from kohort.kernels.centroids.centroid_tree import build
        from kohort.kernels.centroids.nearest_centroid import join_others

        goes_to = np.arange(self.count)
        build(self.space, self.centroids, self.nest)
        join_others(self._centres(), self.nest, small.astype(np.int64), goes_to)
        return goes_to

    def move(self, labels: Labels) -> bool:
        """Put the centroids amid their members; whether any moved. An empty cluster keeps its own."""
        from kohort.kernels.centroids.centroids import move_centroids

        moved = move_centroids(self.tables, self.space, labels, self.centroids, self.members, self.nodes, self.state)
        self._progress.check()
        return bool(moved)

    def square_error(self, labels: Labels) -> int:
        """Of a partition whose centroids stand, in units."""
        _distance, _totals, squares = self.spread(labels)
        return int(squares.sum())

    def spread(
        self, labels: Labels, centroids: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        """Each row's distance to its centroid; on each axis the sum of distances, and of their squares, in units."""
        from kohort.kernels.centroids.centroids import measure_spread

        distance = np.empty(self.rows)
        totals, squares = np.empty((2, len(self.space.factor)), np.int64)
        measure_spread(self.space, labels, self.centroids if centroids is None else centroids, distance, totals, squares)
        return distance, totals, squares
