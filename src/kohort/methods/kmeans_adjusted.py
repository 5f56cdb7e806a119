"""k-means with an adjustment after every round: rows go to the nearest centroid, clusters with more than k rows give some up.

El-Rashidy et al. 2011, algorithm No. 1, with its adjustment function.

The paper does not define the following. The rows that are given up are reassigned in one random order, the same in all rounds;
centroids do not move during the adjustment. Ties go to the cluster with the lowest number. Of equally distant rows, the row with
the highest number is given up. The rounds may never converge. They stop when a partition repeats, after 100 rounds at the
latest, and the partition with the least square error is kept (the first of equal ones). The paper compares all columns
(`features=all`); the default compares only the quasi-identifiers.

Clusters have k to 2k-1 rows: the rows that are given up first fill all clusters with fewer than k rows, and then
n - k*floor(n/k) < k rows remain. Groups that do not keep the other promises are merged afterwards.
"""

from __future__ import annotations

import numpy as np

from kohort.constraints.constraints import Constraints
from kohort.encoding.points import Points
from kohort.methods.feature_options import FeatureOptions, uses_sensitive
from kohort.methods.method import Method, Partition
from kohort.methods.search.kmeans_clusters import CentroidClusters
from kohort.progress import Progress


def partition(points: Points, constraints: Constraints, options: FeatureOptions, seed: int, progress: Progress) -> Partition:
    """Return the clusters of the round with the least square error."""
    if points.rows < 2 * constraints.k:
        return Partition(np.zeros(points.rows, np.int64))
    clusters = CentroidClusters(points, constraints, options, seed, progress)
    return Partition(min(clusters.rounds(lambda: clusters.adjust(clusters.nearest())), key=clusters.square_error))


METHOD = Method(
    name="kmeans-adjusted",
    summary="Run k-means and adjust the sizes of the clusters after every round.",
    paper="El-Rashidy et al. 2011, algorithm No. 1",
    cost="n log n per round at best, n^2 / k at worst, up to 100 rounds",
    good_for="small square error; groups of nearly equal size",
    options=FeatureOptions,
    partition=partition,
    in_blocks=True,
    uses_sensitive=uses_sensitive,
)
