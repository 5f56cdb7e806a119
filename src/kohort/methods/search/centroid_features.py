"""What the methods of paper 004 compare: rows as features, and clusters as centroids.

A number is where it lies in the whole table's range, a category the distance in its tree (section 1 of ALGORITHMS.md, with
the columns' weights). A centroid has the mean of the numbers and the category with the least total distance to the members
(ties: most frequent, then lowest code). Missing is 1 from anything present; a centroid misses a number if most members do.

Places are rounded to whole units of 2^-24 of a range, so that sums, and with them releases, do not depend on their order.
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
    """The same points, their axes in another order."""
    numbers = order.tolist()
    exact = {new: points.exact[old] for new, old in enumerate(numbers) if old in points.exact}
    axes, weights = (tuple(given[number] for number in numbers) for given in (points.axes, points.weights))
    return Points(points.codes[:, order], axes, weights, exact)


def space_of(points: Points) -> Space:
    """The rows as features, equal ones once."""
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
    """How far apart the features of each axis are, as `Space` holds it."""
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
    """One axis of every row: where a number lies, -1 if it is missing; a category's code."""
    axis, codes = points.axes[number], points.codes[:, number]
    if not isinstance(axis, NumericAxis):
        return codes.astype(np.float64)
    share = np.rint(shares(points, number) * (UNIT * points.weights[number]))
    return np.where(codes == 0, -1.0, share)


def shares(points: Points, number: int) -> NDArray[np.float64]:
    """Where each number lies between the smallest and the largest of the whole table; anything where it is missing."""
    axis, codes = points.axes[number], points.codes[:, number]
    if not isinstance(axis, NumericAxis) or not len(axis.first):
        return np.zeros(points.rows)
    if number in points.exact:
        return axis.offset(points.exact[number]) / (axis.range or 1.0)
    return np.append(0.0, axis.offset(axis.first) / (axis.range or 1.0))[codes]
