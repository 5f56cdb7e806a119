"""Plain k-means until the clusters no longer change, then one adjustment of their sizes.

El-Rashidy et al. 2011, algorithm No. 3, with its adjustment function.

The paper does not define the following. An empty cluster keeps its last centroid. The rounds may never converge, because
centroids are means while distances are sums of absolute differences. They stop when a partition repeats, after 100 rounds at
the latest, and the last partition is adjusted to its own centroids. Ties go to the cluster with the lowest number. Of equally
distant rows, the row with the highest number is given up. The paper compares all columns (`features=all`); the default compares
only the quasi-identifiers.

Clusters have k to 2k-1 rows, as with `kmeans-adjusted`. Groups that do not keep the other promises are merged afterwards.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from kohort.constraints.constraints import Constraints
from kohort.encoding.points import Points
from kohort.methods.feature_options import FeatureOptions, uses_sensitive
from kohort.methods.method import Method, Partition
from kohort.methods.search.kmeans_clusters import CentroidClusters
from kohort.progress import Progress


def partition(points: Points, constraints: Constraints, options: FeatureOptions, seed: int, progress: Progress) -> Partition:
    """Return the clusters of the last round, adjusted."""
    if points.rows < 2 * constraints.k:
        return Partition(np.zeros(points.rows, np.int64))
    clusters = CentroidClusters(points, constraints, options, seed, progress)
    last = deque(clusters.rounds(clusters.nearest), maxlen=1).pop()
    return Partition(clusters.adjust(last))


METHOD = Method(
    name="kmeans-then-adjusted",
    summary="Run k-means, then adjust the sizes of the clusters once at the end.",
    paper="El-Rashidy et al. 2011, algorithm No. 3",
    cost="n log n per round at best, n^2 / k at worst, up to 100 rounds",
    good_for="comparisons with El-Rashidy et al. 2011; faster than kmeans-adjusted",
    options=FeatureOptions,
    partition=partition,
    in_blocks=True,
    uses_sensitive=uses_sensitive,
)
