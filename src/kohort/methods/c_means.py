"""Weighted feature C-means: k-means that counts a column less, the further its values lie from the centroids.

Chiu, Tsai, A k-anonymity clustering method for effective data privacy preservation, 2007, as paper 004 surveys it.

floor(n/k) rows drawn at random are the seeds. The survey does not say how weights follow; here, after each assignment,
centroids move and a column's weight becomes proportional to 1/D, D = its total distance to them (D = 0: no weight; all 0:
equal ones). At first all weigh the same; what the user says a column weighs counts beside that, and not in D. Rounds end when
no row changes its cluster, after 100 at the latest. Then clusters below k join the nearest of size >= k, by the weighted
distance of their centroids; centroids stand still meanwhile, so it does not matter that the smallest go first. Ties go to the
lowest cluster. There is no upper limit of sizes. A promise beyond k is kept by merging afterwards.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.constraints.constraints import Constraints
from kohort.encoding.groups import merged
from kohort.encoding.points import Points
from kohort.methods.feature_options import FeatureOptions, compared, uses_sensitive
from kohort.methods.method import Method, Partition
from kohort.methods.search.kmeans_clusters import ROUNDS, CentroidClusters
from kohort.progress import Progress


def partition(points: Points, constraints: Constraints, options: FeatureOptions, seed: int, progress: Progress) -> Partition:
    """Rounds until no row moves, then small clusters join others."""
    if points.rows < 2 * constraints.k:
        return Partition(np.zeros(points.rows, np.int64))
    clusters = CentroidClusters(points, constraints, options, seed, progress, exact=False)
    requested = np.array(compared(points, options).weights)
    clusters.weigh(np.full(len(requested), 1 / len(requested)))
    before = np.full(points.rows, -1)
    for number in range(ROUNDS):
        labels = clusters.nearest()
        clusters.move(labels)
        _distance, totals, _squares = clusters.spread(labels)
        clusters.weigh(_weights(totals, requested))
        if np.array_equal(labels, before):
            break
        before = labels
        clusters.state[0] = points.rows * (number + 1) // ROUNDS
    return Partition(merged(before, clusters.nearest_of(np.bincount(before, minlength=clusters.count) < constraints.k)))


def _weights(totals: NDArray[np.int64], requested: NDArray[np.float64]) -> NDArray[np.float64]:
    """In proportion to 1/D, their sum 1."""
    shares = [weight / total if total else 0.0 for total, weight in zip(totals.tolist(), requested.tolist(), strict=True)]
    whole = sum(shares)
    return np.array([share / whole if whole else 1 / len(shares) for share in shares])


METHOD = Method(
    name="c-means",
    summary="k-means that weighs columns by how close their values lie; small clusters join others",
    paper="Chiu, Tsai 2007, as surveyed in paper 004",
    cost="n log n a round at best, n^2/k at worst, up to 100 rounds",
    good_for="columns of which some cluster and some do not",
    options=FeatureOptions,
    partition=partition,
    in_blocks=True,
    uses_sensitive=uses_sensitive,
)
