"""k-means, adjusted after every round: rows go to their nearest centroid, clusters above k give up their furthest rows.

El-Rashidy et al., paper 004, algorithm No. 1, with its adjustment function.

Decided where the paper is silent: a row given up finds its cluster in one random order for all rounds, centroids stand still
meanwhile; ties go to the lowest cluster, and of equally far rows the highest is given up. The rounds need not end: they stop
when a partition comes back, after 100 at the latest, and the partition of least square error is kept (the first of equals).
`features=all` is the paper's choice; the default looks at the quasi-identifiers only.

Sizes lie in k..2k-1: what clusters above k give up fills those below and leaves n - k*floor(n/k) < k rows over. A promise
beyond k is kept by merging afterwards.
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
    """The best of all rounds."""
    if points.rows < 2 * constraints.k:
        return Partition(np.zeros(points.rows, np.int64))
    clusters = CentroidClusters(points, constraints, options, seed, progress)
    return Partition(min(clusters.rounds(lambda: clusters.adjust(clusters.nearest())), key=clusters.square_error))


METHOD = Method(
    name="kmeans-adjusted",
    summary="k-means that evens out the sizes of its clusters after every round",
    paper="El-Rashidy et al. 2011 (paper 004), algorithm No. 1",
    cost="n log n a round at best, n^2/k at worst, up to 100 rounds",
    good_for="small square error, classes of nearly equal size",
    options=FeatureOptions,
    partition=partition,
    in_blocks=True,
    uses_sensitive=uses_sensitive,
)
