"""One pass of k-means: the centroid of a cluster is updated with each row that joins it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.centroids.centroid_tree import Nest, stretch
from kohort.kernels.centroids.centroids import ClusterMembers, Space, centre, join
from kohort.kernels.centroids.nearest_centroid import nearest
from kohort.kernels.core.widths import AxisTables


@kernel
def join_nearest(
    tables: AxisTables,
    space: Space,
    nest: Nest,  # IN OUT: built from the centroids
    order: NDArray[np.int64],  # IN (rows): the order in which rows are assigned
    labels: NDArray[np.int64],  # IN OUT (rows): clusters of the seed rows, -1 for others; then the clusters of all rows
    centroids: NDArray[np.float64],  # IN OUT (clusters, axes)
    members: ClusterMembers,  # OUT
    below: NDArray[np.int64],  # scratch, zeros (nodes)
    state: NDArray[np.int64],  # OUT state[0] = rows done, IN state[1] = stop now
) -> None:
    """Assign each row without a cluster to the nearest one, in order."""
    members.head[:] = -1
    for row in range(labels.size):
        if labels[row] >= 0:
            join(members, row, labels[row])
    nobody = np.empty(0, np.int64)
    cluster = np.int64(-1)
    for row in order:
        if labels[row] >= 0:
            continue
        if state[1] != 0:
            break
        point = space.point[row]
        cluster = nearest(space, nest, point, nobody, np.int64(0), cluster)
        labels[row] = cluster
        join(members, row, cluster)
        for j in range(centroids.shape[1]):
            # A new member with the value of the medoid cannot change it. A mean can change in its last digit.
            if tables.numeric[j] or space.values[point, j] != centroids[cluster, j]:
                centroids[cluster, j] = centre(tables, space, j, members, cluster, below)
        stretch(nest, centroids, cluster)
        state[0] += 1
