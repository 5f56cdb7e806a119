"""Weighted feature C-means: k-means that gives a column less weight the further its values are from the centroids.

Chiu, Tsai, A k-anonymity clustering method for effective data privacy preservation, 2007, as described by El-Rashidy et al. 2011.

floor(n/k) random rows are the first centroids. The survey does not define how weights change. Here, after each assignment, the
centroids move, and the weight of a column becomes proportional to 1/D, where D is the total distance of its values to the
centroids. A column with D = 0 gets the weight 0; if D = 0 for all columns, they get equal weights. At the start all columns have
equal weights. The weights that the job gives to columns are applied in addition, and not to D. The rounds end when no row changes
its cluster, after 100 rounds at the latest. Then each cluster with fewer than k rows joins the nearest cluster with k or more
rows, by the weighted distance of their centroids. Centroids do not move meanwhile, so the order of joining does not matter. Ties
go to the cluster with the lowest number. Sizes have no upper limit. Groups that do not keep the other promises are merged
afterwards.
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
    """Run rounds until no row changes its cluster, then let small clusters join others."""
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
    """Return the weights of the columns: proportional to the requested weight / D, with the sum 1."""
    shares = [weight / total if total else 0.0 for total, weight in zip(totals.tolist(), requested.tolist(), strict=True)]
    whole = sum(shares)
    return np.array([share / whole if whole else 1 / len(shares) for share in shares])


METHOD = Method(
    name="c-means",
    summary="Run k-means that gives more weight to columns whose values are close together; small clusters join others.",
    paper="Chiu, Tsai 2007, as described by El-Rashidy et al. 2011",
    cost="n log n per round at best, n^2 / k at worst, up to 100 rounds",
    good_for="tables where some columns form clusters and others do not",
    options=FeatureOptions,
    partition=partition,
    in_blocks=True,
    uses_sensitive=uses_sensitive,
)
