"""One-pass k-means: each row joins the nearest cluster, whose centroid follows at once; then the sizes are evened out.

Lin, Wei, An efficient clustering method for k-anonymization, 2008, as paper 004 surveys it.

floor(n/k) rows drawn at random start the clusters; the others come sorted by the codes of their quasi-identifiers, equal ones
in row order. Then the adjustment function of paper 004: clusters above k give up their furthest rows (ties: the highest row),
which go, in random order, to the nearest cluster below k while there is one, then to the nearest of all; centroids stand
still meanwhile. Ties go to the lowest cluster. Sizes lie in k..2k-1. A promise beyond k is kept by merging afterwards.
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
    """One pass over the sorted rows, then the adjustment."""
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
    summary="one pass of k-means over the sorted rows, then the sizes of the clusters evened out",
    paper="Lin, Wei 2008, as surveyed in paper 004",
    cost="n log n at best, n^2/k at worst",
    good_for="a quick clustering; comparing with paper 004",
    options=FeatureOptions,
    partition=partition,
    in_blocks=True,
    uses_sensitive=uses_sensitive,
)
