"""k-means that fills its clusters: while one has fewer than k members, only such compete for the next row.

El-Rashidy et al., paper 004, algorithm No. 2.

Decided where the paper is silent: rows come in their order in every round, centroids stand still during one; ties go to the
lowest cluster. The rounds need not end: they stop when a partition comes back, after 100 at the latest, and the partition of
least square error is kept (the first of equals). `features=all` is the paper's choice; the default looks at the
quasi-identifiers only.

Sizes lie in k..2k-1: when all clusters have k, n - k*floor(n/k) < k rows are left. A promise beyond k is kept by merging
afterwards.
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
    nobody, in_order = np.full(points.rows, -1), np.arange(points.rows)
    return Partition(min(clusters.rounds(lambda: clusters.fill(nobody, in_order)), key=clusters.square_error))


METHOD = Method(
    name="kmeans-filled",
    summary="k-means whose clusters below k are filled before others may grow",
    paper="El-Rashidy et al. 2011 (paper 004), algorithm No. 2",
    cost="n log n a round at best, n^2/k at worst, up to 100 rounds",
    good_for="small square error with few columns",
    options=FeatureOptions,
    partition=partition,
    in_blocks=True,
    uses_sensitive=uses_sensitive,
)
