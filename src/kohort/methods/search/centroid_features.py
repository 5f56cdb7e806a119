"""Features of rows and centroids of clusters, for the k-means methods of El-Rashidy et al. 2011.

A number becomes its position in the range of the whole table. The distance of two categories is their distance in the tree, as a
share of its height. Both are multiplied by the weight of the column. A centroid has the mean of the numbers and the category with
the least total distance to the rows of the cluster (ties: most frequent, then lowest code). The distance between a missing value
and any other value is 1. The number of a centroid is missing if it is missing in most rows of the cluster.

Positions are rounded to whole units of 2^-24 of the range, so that sums, and thus releases, do not depend on the order of the
rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kohort.encoding.number_axis import NumericAxis
from kohort.encoding.points import UNIT, Points

if TYPE_CHECKING:
    from kohort.kernels.centroids.centroids import Space


def sorted_axes(points: Points, order: NDArray[np.int64]) -> Points:
    """Return the same points with their axes in another order."""
    numbers = order.tolist()
    exact = {new: points.exact[old] for new, old in enumerate(numbers) if old in points.exact}
    axes, weights = (tuple(given[number] for number in numbers) for given in (points.axes, points.weights))
    return Points(points.codes[:, order], axes, weights, exact)


def space_of(points: Points) -> Space:
    """Return the features of the rows. Equal rows share one entry."""
    from kohort.kernels.centroids.centroids import Space

    values = np.column_stack([indices(points, axis) for axis in range(len(points.axes))])
    order = np.lexsort(values.T[::-1])
    ordered = values[order]
    begins = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))[: len(order)]
    point = np.empty(len(order), np.int64)
    point[order] = np.cumsum(begins) - 1
    shape, runs, power = runs_of(points)
    return Space(ordered[begins], point, np.ones(values.shape[1]), shape, runs, power)


def runs_of(points: Points) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Return the tables from which kernels compute distances on each axis: `shape`, `runs` and `power` of `Space`."""
    shape = np.zeros((len(points.axes), 2), np.int64)
    parts: list[NDArray[np.float64]] = []
    start = 0
    for number, (axis, weight) in enumerate(zip(points.axes, points.weights, strict=True)):
        shape[number, 0] = start
        if isinstance(axis, NumericAxis):
            parts.append(np.array([np.rint(UNIT * weight)]))
        else:
            shape[number, 1] = axis.size
            code = np.arange(axis.size)
            run = np.rint(axis.width(code, np.minimum(code + 1, axis.size - 1), "height", None) * (UNIT * weight))
            length = 1
            parts.append(np.zeros(axis.size))
            while length < axis.size:
                parts.append(run)
                run = np.maximum(run, np.append(run[length:], np.zeros(length)))
                length *= 2
        start = sum(map(len, parts))
    longest = max(axis.size for axis in points.axes)
    power = np.frexp(np.arange(longest + 1))[1].astype(np.int64)
    return shape, np.concatenate(parts), power


def indices(points: Points, number: int) -> NDArray[np.float64]:
    """Return one axis of all rows: positions of numbers (-1 if missing), or codes of categories."""
    axis, codes = points.axes[number], points.codes[:, number]
    if not isinstance(axis, NumericAxis):
        return codes.astype(np.float64)
    share = np.rint(shares(points, number) * (UNIT * points.weights[number]))
    return np.where(codes == 0, -1.0, share)


def shares(points: Points, number: int) -> NDArray[np.float64]:
    """Return the position of each number in the range of the whole table, from 0 to 1. For a missing number it is undefined."""
    axis, codes = points.axes[number], points.codes[:, number]
    if not isinstance(axis, NumericAxis) or not len(axis.first):
        return np.zeros(points.rows)
    if number in points.exact:
        return axis.offset(points.exact[number]) / (axis.range or 1.0)
    return np.append(0.0, axis.offset(axis.first) / (axis.range or 1.0))[codes]
