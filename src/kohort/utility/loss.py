"""Measures of the information loss of a release, as in the papers, computed from boxes and group sizes.

The loss of a cell is the share of the axis that the published value covers. For numbers, this is the share of the range. For
categories, it is by tree height (Wang, Liu, Gao 2012; Murthy, Srinivas) or by leaves (Ni, Xie, Qian 2017). Groups are the rows
with the same published values. Clusters are the groups that the method made; several clusters may be published as one group. The
papers report figures of clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

import numpy as np
from numpy.typing import NDArray

from kohort.encoding.axes import Axis
from kohort.encoding.groups import grouped_rows
from kohort.encoding.number_axis import NumericAxis
from kohort.encoding.points import Points
from kohort.encoding.tree_axis import TreeAxis
from kohort.publishing.boxes import Boxes
from kohort.schema.type_detection import Numbers


@dataclass(frozen=True)
class Loss:
    """The information loss of a release by several measures.

    A cell loses 0 if it is unchanged and 1 if nothing is left. Each cell of a suppressed row loses 1. Weights of columns are
    ignored.

    Parameters
    ----------
    leaf
        Leaf loss, mean of all cells. A category loses the share of the tree's leaves below its published node. Messages call it
        "detail lost".
    height
        Height loss, mean of all cells. A category loses the height of its published node divided by the height of the tree.
    total_il
        Sum of the height loss of all cells (Total-IL of Byun).
    prec
        Precision of Sweeney: 1 minus the mean height loss.
    dm
        Discernibility: the sum of the squared group sizes.
    cavg
        Mean group size divided by k.
    dm_clusters
        Discernibility of the clusters that the method made.
    cavg_clusters
        Mean cluster size divided by k.
    square_error
        Sum of the squared distances of all rows from the centroids of their clusters.
    per_column
        Leaf loss of each quasi-identifier.

    Examples
    --------
    >>> import kohort as kh
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [20, 20, 30, 40], "sex": ["f", "f", "m", "m"]})
    >>> loss = kh.anonymize(table, quasi=["age", "sex"], k=2, seed=1).loss
    >>> loss.per_column  # two of four ages became [30 - 40], half of the range
    {'age': 0.25, 'sex': 0.0}
    >>> loss.leaf, loss.height, loss.total_il, loss.prec
    (0.125, 0.125, 1.0, 0.875)
    >>> loss.dm, loss.cavg  # two groups of 2 rows
    (8, 1.0)

    """

    leaf: float
    height: float
    total_il: float
    prec: float
    dm: int
    cavg: float
    dm_clusters: int
    cavg_clusters: float
    square_error: float
    per_column: dict[str, float]

    def to_dict(self) -> dict[str, float]:
        """Return all measures except `per_column` as a dictionary for JSON.

        Returns
        -------
        dict
            Figures by the name of the measure.

        Examples
        --------
        >>> loss = Loss(0.1, 0.1, 0.8, 0.9, 8, 1.0, 8, 1.0, 0.5, {"age": 0.2})
        >>> loss.to_dict()["leaf"], "per_column" in loss.to_dict()
        (0.1, False)

        """
        return {name: value for name, value in asdict(self).items() if name != "per_column"}


@dataclass(frozen=True, eq=False)
class Sums:
    """The sums from which a loss is computed. Sums of different parts of a table can be added."""

    rows: int
    suppressed: int
    leaf: NDArray[np.float64]
    """Leaf loss of each axis, summed over all rows."""
    height: NDArray[np.float64]
    """Height loss of each axis, summed over all rows."""
    clusters: int
    squares: int
    """Sum of the squared cluster sizes."""
    square_error: float

    def __add__(self, other: Sums) -> Sums:
        return Sums(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))

    def measured(self, names: Sequence[str], sizes: tuple[NDArray[np.int64], NDArray[np.int64]], k: int) -> Loss:
        """Return the loss. `names` are the columns. `sizes` are the group sizes in rows and the number of groups of each size."""
        cells, published = max(self.rows * len(names), 1), self.rows - self.suppressed
        height = float(self.height.sum())
        return Loss(
            leaf=float(self.leaf.sum()) / cells,
            height=height / cells,
            total_il=height,
            prec=1 - height / cells,
            dm=discernibility(*sizes, k),
            cavg=published / max(int(sizes[1].sum()), 1) / k,
            dm_clusters=self.squares,
            cavg_clusters=published / max(self.clusters, 1) / k,
            square_error=self.square_error,
            per_column={name: float(share) / max(self.rows, 1) for name, share in zip(names, self.leaf, strict=True)},
        )


def sums_of(points: Points, labels: NDArray[np.int64], boxes: Boxes) -> Sums:
    """Return the sums for clusters with these boxes. All clusters satisfy the promises, so none is smaller than k."""
    suppressed = int(np.count_nonzero(labels < 0))
    leaf, height = cell_sums(points, boxes) + suppressed
    squares = int(np.sum(boxes.sizes**2))
    return Sums(points.rows, suppressed, leaf, height, len(boxes.sizes), squares, square_error(points, labels))


def cell_sums(points: Points, boxes: Boxes) -> NDArray[np.float64]:
    """Return an array (leaf and height, axes): the loss summed over all rows."""
    sums = np.empty((2, len(points.axes)))
    for number, axis in enumerate(points.axes):
        box = boxes.low[:, number], boxes.high[:, number]
        sums[:, number] = axis.width(*box, "leaf", boxes.ends.get(number)) @ boxes.sizes
        if not isinstance(axis, NumericAxis):  # for numbers both measures are the share of the range
            sums[1, number] = axis.width(*box, "height", boxes.ends.get(number)) @ boxes.sizes
    return sums


def discernibility(sizes: NDArray[np.int64], many: NDArray[np.int64], k: int) -> int:
    """Return C_DM: |E|^2 for each group, and n|E| for a group smaller than k, which counts as suppressed.

    `many` is the number of groups of each size.

    >>> discernibility(np.array([2]), np.array([3]), k=2)
    12
    """
    rows = sizes * many
    return int(np.sum(rows * np.where(sizes >= k, sizes, rows.sum())))


def square_error(points: Points, labels: NDArray[np.int64]) -> float:
    """Return the sum of the squared distances to the centroids, over all rows and axes (El-Rashidy et al. 2011)."""
    from kohort.kernels.centroids import square_error as kernels

    order, first = grouped_rows(labels)
    grouped = np.take(points.codes, order, axis=0)  # rows of a cluster next to each other, so that each axis is read in order
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


def square_error_of_counts(axis: Axis, counts: NDArray[np.int64]) -> float:
    """Return the square error of one cluster on one axis from the counts of its codes. Code 0 is missing."""
    missing, present = int(counts[0]), int(counts[1:].sum())
    codes = np.flatnonzero(counts[1:])
    many = counts[1:][codes]
    if isinstance(axis, NumericAxis):
        index = _positions(axis, axis.first)[codes]
        spread = float(((index - (index @ many) / max(present, 1)) ** 2) @ many)
        return float(present) if missing > present else missing + spread
    if not isinstance(axis, TreeAxis) or not present:
        return 0.0
    above, heights = axis.tree.ancestors[:, codes], axis.tree.node_height
    below = np.zeros(len(axis.tree.labels), np.int64)
    for level, nodes in enumerate(above[:-1]):
        np.add.at(below, nodes, many * (level == 0 or nodes != above[level - 1]))
    steps = np.diff(heights[above], axis=0)
    whole = int(axis.tree.height)
    distance = missing * whole + (steps * (present - below[above[:-1]])).sum(axis=0)
    best = np.lexsort((codes, -below[above[0]], distance))[0]
    if (present * whole, -missing) <= (int(distance[best]), -int(below[above[0]][best])):
        return float(present)  # the centroid is the missing value
    together = heights[np.take_along_axis(above, np.argmax(above == above[:, best][:, np.newaxis], axis=0)[np.newaxis], 0)[0]]
    return missing + float(((together / whole) ** 2) @ many)


def _positions(axis: NumericAxis, values: Numbers | None) -> NDArray[np.float64]:
    """Return the positions of values between the smallest (0) and the largest (1) value of the axis."""
    if values is None or not len(axis.first):
        return np.empty(0)
    return axis.offset(values) / (axis.range or 1.0)
