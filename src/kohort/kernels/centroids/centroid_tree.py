"""A tree of boxes around centroids. A search for the nearest centroid skips most of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.centroids.centroids import Space, apart
from kohort.kernels.core.promise_rules import Whole


class Nest(NamedTuple):
    """A balanced tree of boxes: box i contains boxes 2i+1 and 2i+2; the last half of the boxes contain centroids.

    The entries after the boxes are the centroids, leaf box by leaf box, stored as boxes of one point.
    """

    low: NDArray[np.float64]  # (boxes + clusters, axes)
    high: NDArray[np.float64]  # (boxes + clusters, axes)
    first: NDArray[np.int64]  # per box: where its centroids begin, counted from the first centroid
    last: NDArray[np.int64]  # per box: where they end
    lowest: NDArray[np.int64]  # per box: its lowest cluster number
    room: NDArray[np.int64]  # per box: number of its clusters that have room for more members
    order: NDArray[np.int64]  # per centroid entry: its cluster
    index_of: NDArray[np.int64]  # per cluster: the index of its centroid entry
    home: NDArray[np.int64]  # per cluster: its leaf box
    stack: NDArray[np.int64]  # scratch: boxes not searched yet
    bound: NDArray[np.float64]  # scratch: lower bound for the distance to each of them


@kernel
def _before(centroids: NDArray[np.float64], axis: Whole, one: Whole, other: Whole) -> bool:
    """Return whether a centroid comes before another on one axis; in a tie the lower cluster number is first."""
    here, there = centroids[one, axis], centroids[other, axis]
    return bool(here < there or (here == there and one < other))


@kernel
def _halve(order: NDArray[np.int64], first: Whole, last: Whole, centroids: NDArray[np.float64], axis: Whole) -> None:
    """Sort clusters partially, so that those in the first half come before those in the second half on one axis (Hoare)."""
    middle, left, right = (first + last) // 2, first, last - 1
    while left < right:
        pivot, i, j = order[(left + right) // 2], left, right
        while i <= j:
            while _before(centroids, axis, order[i], pivot):
                i += 1
            while _before(centroids, axis, pivot, order[j]):
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            right = j
        elif middle >= i:
            left = i
        else:
            return


@kernel
def build(space: Space, centroids: NDArray[np.float64], nest: Nest) -> None:
    """Build the tree: split each box at the median of its widest axis."""
    _values, _point, factor, shape, runs, power = space
    boxes, axes = nest.first.size, centroids.shape[1]
    nest.first[0], nest.last[0] = 0, nest.order.size
    for cluster in range(nest.order.size):
        nest.order[cluster] = cluster
    for box in range(boxes):
        first, last = nest.first[box], nest.last[box]
        nest.room[box] = last - first
        nest.lowest[box] = nest.order.size
        nest.low[box] = np.inf
        nest.high[box] = -np.inf
        for index in range(first, last):
            cluster = nest.order[index]
            nest.home[cluster] = box
            nest.lowest[box] = min(nest.lowest[box], cluster)
            for j in range(axes):
                nest.low[box, j] = min(nest.low[box, j], centroids[cluster, j])
                nest.high[box, j] = max(nest.high[box, j], centroids[cluster, j])
        if 2 * box + 2 < boxes:
            widest, most = 0, -1.0
            for j in range(axes):
                wide = factor[j] * apart(shape, runs, power, j, nest.low[box, j], nest.high[box, j])
                if wide > most:
                    widest, most = j, wide
            _halve(nest.order, first, last, centroids, widest)
            middle = (first + last) // 2
            nest.first[2 * box + 1], nest.last[2 * box + 1] = first, middle
            nest.first[2 * box + 2], nest.last[2 * box + 2] = middle, last
    for index in range(nest.order.size):
        nest.index_of[nest.order[index]] = index
        for j in range(axes):
            nest.low[boxes + index, j] = nest.high[boxes + index, j] = centroids[nest.order[index], j]


@kernel
def stretch(nest: Nest, centroids: NDArray[np.float64], cluster: Whole) -> None:
    """Extend the boxes around a centroid that moved."""
    box = nest.home[cluster]
    entry = nest.first.size + nest.index_of[cluster]
    for j in range(centroids.shape[1]):
        nest.low[entry, j] = nest.high[entry, j] = centroids[cluster, j]
    while True:
        for j in range(centroids.shape[1]):
            nest.low[box, j] = min(nest.low[box, j], centroids[cluster, j])
            nest.high[box, j] = max(nest.high[box, j], centroids[cluster, j])
        if box == 0:
            return
        box = (box - 1) // 2


@kernel
def make_room(nest: Nest, sizes: NDArray[np.int64], limit: Whole) -> None:
    """Count the clusters of each box that have fewer members than the limit."""
    nest.room[:] = 0
    for cluster in range(sizes.size):
        if sizes[cluster] < limit:
            change_room(nest, cluster, np.int64(1))


@kernel
def change_room(nest: Nest, cluster: Whole, change: Whole) -> None:
    """Record that a cluster has room from now on (change = 1) or has no more room (change = -1)."""
    box = nest.home[cluster]
    nest.room[box] += change
    while box > 0:
        box = (box - 1) // 2
        nest.room[box] += change
