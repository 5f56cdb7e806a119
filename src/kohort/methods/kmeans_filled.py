"""k-means that fills its clusters: while a cluster has fewer than k rows, the next row can only join such a cluster.

El-Rashidy et al. 2011, algorithm No. 2.

The paper does not define the following. Rows are assigned in the order of the table in every round. Centroids do not move
during a round. Ties go to the cluster with the lowest number. The rounds may never converge. They stop when a partition repeats,
after 100 rounds at the latest, and the partition with the least square error is kept (the first of equal ones). The paper
compares all columns (`features=all`); the default compares only the quasi-identifiers.

Clusters have k to 2k-1 rows: when all clusters have k rows, n - k*floor(n/k) < k rows remain. Groups that do not keep the other
promises are merged afterwards.
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
    unassigned, in_order = np.full(points.rows, -1), np.arange(points.rows)
    return Partition(min(clusters.rounds(lambda: clusters.fill(unassigned, in_order)), key=clusters.square_error))


METHOD = Method(
    name="kmeans-filled",
    summary="Run k-means that first fills every cluster with k rows before a cluster can grow further.",
    paper="El-Rashidy et al. 2011, algorithm No. 2",
    cost="n log n per round at best, n^2 / k at worst, up to 100 rounds",
    good_for="small square error with few columns",
    options=FeatureOptions,
    partition=partition,
    in_blocks=True,
    uses_sensitive=uses_sensitive,
)
