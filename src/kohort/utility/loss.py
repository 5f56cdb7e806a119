"""How much a release tells less than its source: the measures of the five papers, from boxes and sizes.

Per cell: the share of the axis that is published, by range and tree height (papers 000, 002) or by range and leaves (001).
Classes are what the reader of the file sees; clusters are what the method made; papers print the latter.
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


@dataclass(frozen=True, eq=False)
class Sums:
    """What a loss is made of. Those of different parts of a table add up."""

    rows: int
    suppressed: int
    leaf: NDArray[np.float64]
    """Per axis: the published widths, summed over all rows."""
    height: NDArray[np.float64]
    clusters: int
    squares: int
    """Of the clusters' sizes, summed."""
    square_error: float

    def __add__(self, other: Sums) -> Sums:
        return Sums(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))

    def measured(self, names: Sequence[str], sizes: tuple[NDArray[np.int64], NDArray[np.int64]], k: int) -> Loss:
        """The loss on axes of these names; `sizes` are those of the classes in rows, and how many there are of each."""
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
    """The sums of clusters with these boxes. Every cluster stands, so none is below k."""
    suppressed = int(np.count_nonzero(labels < 0))
    leaf, height = cell_sums(points, boxes) + suppressed
    squares = int(np.sum(boxes.sizes**2))
    return Sums(points.rows, suppressed, leaf, height, len(boxes.sizes), squares, square_error(points, labels))


def cell_sums(points: Points, boxes: Boxes) -> NDArray[np.float64]:
    """(leaf and height, axes): the sum of the published widths over all rows."""
    sums = np.empty((2, len(points.axes)))
    for number, axis in enumerate(points.axes):
        box = boxes.low[:, number], boxes.high[:, number]
        sums[:, number] = axis.width(*box, "leaf", boxes.ends.get(number)) @ boxes.sizes
        if not isinstance(axis, NumericAxis):  # a number's share of its range is its loss by either measure
            sums[1, number] = axis.width(*box, "height", boxes.ends.get(number)) @ boxes.sizes
    return sums


def discernibility(sizes: NDArray[np.int64], many: NDArray[np.int64], k: int) -> int:
    """C_DM: |E|^2 for each class, n|E| for one below k, which counts as suppressed. `many` = how many have each size.

    >>> discernibility(np.array([2]), np.array([3]), k=2)
    12
    """
    rows = sizes * many
    return int(np.sum(rows * np.where(sizes >= k, sizes, rows.sum())))


def square_error(points: Points, labels: NDArray[np.int64]) -> float:
    """Sum over clusters, members and axes of the squared distance to the centroid (paper 004)."""
    from kohort.kernels.centroids import square_error as kernels

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


def square_error_of_counts(axis: Axis, counts: NDArray[np.int64]) -> float:
    """The same of one cluster and one axis, of which only is known how often each code is in it; 0 = missing."""
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
        return float(present)  # missing is as near as any value
    together = heights[np.take_along_axis(above, np.argmax(above == above[:, best][:, np.newaxis], axis=0)[np.newaxis], 0)[0]]
    return missing + float(((together / whole) ** 2) @ many)


def _positions(axis: NumericAxis, values: Numbers | None) -> NDArray[np.float64]:
    """Where values lie between the smallest and the largest of the axis, in [0, 1]."""
    if values is None or not len(axis.first):
        return np.empty(0)
    return axis.offset(values) / (axis.range or 1.0)
