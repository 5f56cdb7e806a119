"""How much a release tells less than its source: the measures of the five papers, from boxes and sizes.

Per cell: the share of the axis that is published, by range and tree height (papers 000, 002) or by range and leaves (001).
Classes are what the reader of the file sees; clusters are what the method made; papers print the latter.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from kohort.algorithms import Partition
from kohort.axes import NumericAxis, Points, TreeAxis
from kohort.groups import grouped_rows
from kohort.kinds import Numbers
from kohort.publishing import Boxes


@dataclass(frozen=True)
class Loss:
    """Every measure of one release. A suppressed record costs 1 per cell; weights are ignored."""

    leaf: float
    """Mean per cell; a category costs its leaves' share of the tree."""
    height: float
    """Mean per cell; a category costs its node's share of the tree's height."""
    total_il: float
    """Sum of the height loss over all cells (Byun's Total-IL)."""
    prec: float
    """Sweeney's precision: 1 minus the mean height loss."""
    dm: int
    """Discernibility: the sum of squared class sizes."""
    cavg: float
    """Mean class size, in units of k."""
    dm_clusters: int
    cavg_clusters: float
    square_error: float
    """Sum of squared distances to the clusters' centroids."""
    per_column: dict[str, float]
    """Leaf loss of each quasi-identifier."""

    def to_dict(self) -> dict[str, float]:
        """The measures by name, without the columns."""
        return {name: value for name, value in asdict(self).items() if name != "per_column"}


def measure(points: Points, partition: Partition, boxes: Boxes, classes: NDArray[np.int64], k: int) -> Loss:
    """Measure a partition: its boxes, its clusters' sizes, and the class that each cluster belongs to."""
    rows = points.rows
    suppressed = int(np.count_nonzero(partition.labels < 0))
    leaf, height = _cells(points, boxes) + suppressed
    cells = max(rows * len(points.axes), 1)
    class_sizes = np.bincount(classes, boxes.sizes).astype(np.int64)
    return Loss(
        leaf=float(leaf.sum()) / cells,
        height=float(height.sum()) / cells,
        total_il=float(height.sum()),
        prec=1 - float(height.sum()) / cells,
        dm=discernibility(class_sizes, k),
        cavg=mean_size(class_sizes, k),
        dm_clusters=discernibility(boxes.sizes, k),
        cavg_clusters=mean_size(boxes.sizes, k),
        square_error=square_error(points, partition.labels),
        per_column={axis.name: float(share) / max(rows, 1) for axis, share in zip(points.axes, leaf, strict=True)},
    )


def _cells(points: Points, boxes: Boxes) -> NDArray[np.float64]:
    """(leaf and height, axes): the sum of the published widths over all rows."""
    sums = np.empty((2, len(points.axes)))
    for number, axis in enumerate(points.axes):
        box = boxes.low[:, number], boxes.high[:, number]
        sums[:, number] = axis.width(*box, "leaf", boxes.ends.get(number)) @ boxes.sizes
        if not isinstance(axis, NumericAxis):  # a number's share of its range is its loss by either measure
            sums[1, number] = axis.width(*box, "height", boxes.ends.get(number)) @ boxes.sizes
    return sums


def discernibility(sizes: NDArray[np.int64], k: int) -> int:
    """C_DM: |E|^2 for each class, n|E| for one below k, which counts as suppressed.

    >>> discernibility(np.array([2, 2, 2]), k=2)
    12
    """
    whole = sizes.astype(np.int64)
    return int(np.sum(whole * np.where(whole >= k, whole, whole.sum())))


def mean_size(sizes: NDArray[np.int64], k: int) -> float:
    """C_AVG: the mean class size in units of k.

    >>> mean_size(np.array([2, 2, 2]), k=2)
    1.0
    """
    return float(sizes.sum()) / max(len(sizes), 1) / k


def square_error(points: Points, labels: NDArray[np.int64]) -> float:
    """Sum over clusters, members and axes of the squared distance to the centroid (paper 004)."""
    from kohort.kernels import square_error as kernels

    order, first = grouped_rows(labels)
    grouped = np.take(points.codes, order, axis=0)  # rows of one cluster side by side: each axis is then read in one sweep
    total = 0.0
    for number, axis in enumerate(points.axes):
        codes = grouped[:, number]
        if isinstance(axis, NumericAxis):
            values = points.exact[number][order] if number in points.exact else None
            total += kernels.numeric(codes, _positions(axis, axis.first), _positions(axis, values), first)
        elif isinstance(axis, TreeAxis):
            below = np.zeros(len(axis.tree.labels), np.int64)
            total += kernels.tree(codes, axis.tree.ancestors, axis.tree.node_height, first, below)
    return float(total)


def _positions(axis: NumericAxis, values: Numbers | None) -> NDArray[np.float64]:
    """Where values lie between the smallest and the largest of the axis, in [0, 1]."""
    if values is None or not len(axis.first):
        return np.empty(0)
    return axis.offset(values) / (axis.range or 1.0)
