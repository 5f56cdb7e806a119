"""One-pass k-means: each row joins the nearest cluster, whose centroid is updated at once. Then the sizes are adjusted.

Lin, Wei, An efficient clustering method for k-anonymization, 2008, as described by El-Rashidy et al. 2011.

floor(n/k) random rows start the clusters. The other rows are sorted by the codes of their quasi-identifiers; equal rows keep
their order. Then the adjustment function of El-Rashidy et al. 2011 is applied: clusters with more than k rows give up their
furthest rows (ties: highest row number). These rows go, in random order, to the nearest cluster with fewer than k rows while
there is one, then to the nearest of all clusters. Centroids do not move during the adjustment. Ties go to the cluster with the
lowest number. Clusters have k to 2k-1 rows. Groups that do not keep the other promises are merged afterwards.
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
    """Assign the sorted rows in one pass, then adjust the sizes of the clusters."""
    from kohort.kernels.centroids.centroid_tree import build
    from kohort.kernels.centroids.one_pass import join_nearest

    if points.rows < 2 * constraints.k:
        return Partition(np.zeros(points.rows, np.int64))
    clusters = CentroidClusters(points, constraints, options, seed, progress)
    labels = np.full(points.rows, -1)
    labels[clusters.seeds] = np.arange(clusters.count)
    build(clusters.space, clusters.centroids, clusters.nest)
    order = np.lexsort(points.codes.T[::-1])
    join_nearest(
        clusters.tables, clusters.space, clusters.nest, order, labels, clusters.centroids, clusters.members, clusters.nodes,
        clusters.state,
    )  # fmt: skip
    progress.check()
    return Partition(clusters.adjust(labels))


METHOD = Method(
    name="oka",
    summary="Run one pass of k-means over the sorted rows, then adjust the sizes of the clusters.",
    paper="Lin, Wei 2008, as described by El-Rashidy et al. 2011",
    cost="n log n at best, n^2 / k at worst",
    good_for="fast clustering; comparisons with El-Rashidy et al. 2011",
    options=FeatureOptions,
    partition=partition,
    in_blocks=True,
    uses_sensitive=uses_sensitive,
)
