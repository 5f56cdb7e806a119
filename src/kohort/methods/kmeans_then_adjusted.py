"""Plain k-means until it stands still, then adjusted once.

El-Rashidy et al., paper 004, algorithm No. 3, with its adjustment function.

Decided where the paper is silent: an empty cluster keeps its last centroid; with means in a sum of absolute distances the
rounds need not end, so they stop when a partition comes back, after 100 at the latest, and the last one is adjusted to its
own centroids. Ties go to the lowest cluster, and of equally far rows the highest is given up. `features=all` is the paper's
choice; the default looks at the quasi-identifiers only.

Sizes lie in k..2k-1, as for `kmeans-adjusted`. A promise beyond k is kept by merging afterwards.
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
    """The last round, adjusted."""
    if points.rows < 2 * constraints.k:
        return Partition(np.zeros(points.rows, np.int64))
    clusters = CentroidClusters(points, constraints, options, seed, progress)
    last = deque(clusters.rounds(clusters.nearest), maxlen=1).pop()
    return Partition(clusters.adjust(last))


METHOD = Method(
    name="kmeans-then-adjusted",
    summary="plain k-means, the sizes of its clusters evened out once at the end",
    paper="El-Rashidy et al. 2011 (paper 004), algorithm No. 3",
    cost="n log n a round at best, n^2/k at worst, up to 100 rounds",
    good_for="comparing with paper 004; quicker than kmeans-adjusted",
    options=FeatureOptions,
    partition=partition,
    in_blocks=True,
    uses_sensitive=uses_sensitive,
)
