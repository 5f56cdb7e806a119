"""MDAV: repeatedly form one cluster around the row furthest from the mean and one around the row furthest from that row.

Domingo-Ferrer, Mateo-Sanz 2002; Domingo-Ferrer, Torra 2005 (maximum distance to average vector).

While at least 3k rows are free: r is the row furthest from their centroid, and r with its k-1 nearest rows is a cluster; s is the
row furthest from r among the remaining rows, and s with its k-1 nearest rows is another cluster. If at least 2k rows are then
free, one more cluster is formed in this way. The remaining rows are the last cluster. Ties go to the lowest row number. Clusters
have k to 2k-1 rows.

`scale=deviation` is the default if all columns are numbers without missing values. The distance is then the squared Euclidean
distance of the numbers divided by their standard deviation in the block; the weight of a column multiplies the square.
`scale=range` is the default otherwise. It uses the distance and the centroid of `kohort.methods.search.centroid_features`.
Positions are rounded (to 2^-30 deviations or 2^-24 ranges), so that the mean of the free rows is exact in any order of summation.
Groups that do not keep the other promises are merged afterwards.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from kohort.constraints.constraints import Constraints
from kohort.encoding.number_axis import NumericAxis
from kohort.encoding.points import Points
from kohort.errors import RequestError, listed
from kohort.methods.method import Method, Options, Partition
from kohort.methods.search.centroid_features import indices, runs_of, shares
from kohort.progress import Progress

UNITS_PER_DEVIATION = 2.0**30


class MdavOptions(Options):
    """Options of `mdav`."""

    scale: Literal["deviation", "range"] | None = Field(
        default=None,
        description=(
            "divide numbers by their standard deviation or by their range. Default: `deviation` if all quasi-identifiers are "
            "numbers without missing values, else `range`"
        ),
        examples=["range"],
    )


def partition(points: Points, constraints: Constraints, options: MdavOptions, seed: int, progress: Progress) -> Partition:
    """Return the clusters, numbered in the order in which they were formed."""
    del seed  # nothing here is random
    rows, columns = points.codes.shape
    unfit = _without_deviation(points)
    if options.scale == "deviation" and unfit:
        raise RequestError(
            f"scale=deviation needs numbers in every quasi-identifier and every row. {listed(unfit)} "
            f"{'has' if len(unfit) == 1 else 'have'} categories or missing values. Set scale to range (--option scale=range)."
        )
    if rows < 2 * constraints.k:
        return Partition(np.zeros(rows, np.int64))
    from kohort.kernels.centroids import mdav as kernels

    squared = options.scale != "range" and not unfit
    index = _deviations if squared else indices
    values = np.array([index(points, axis) for axis in range(columns)])
    tables, (shape, runs, power) = points.kernel_tables(), runs_of(points)
    counts = np.zeros(columns), np.zeros(columns, np.int64), np.zeros(len(tables.node_cost), np.int64)
    left = kernels.Left(np.arange(rows), values, np.empty(rows), *counts)
    reach = kernels.Reach(shape, runs, power, np.empty(len(power)), squared)
    labels, heap, here = np.empty(rows, np.int64), np.empty(constraints.k, np.int64), np.empty(columns)
    kernels.mdav(tables, reach, left, labels, heap, here, progress.slot())
    progress.check()
    return Partition(labels)


def _without_deviation(points: Points) -> list[str]:
    """Return the names of the columns that have categories or missing values."""
    columns = zip(points.axes, points.some_missing, strict=True)
    return [axis.name for axis, missing in columns if not isinstance(axis, NumericAxis) or missing]


def _deviations(points: Points, number: int) -> NDArray[np.float64]:
    """Return the distance of each number from the smallest one, in rounded standard deviations; 0 in a constant column."""
    share = shares(points, number)
    mean = math.fsum(share.tolist()) / len(share)
    deviation = math.sqrt(math.fsum(((share - mean) ** 2).tolist()) / len(share))
    scale = UNITS_PER_DEVIATION * math.sqrt(points.weights[number])
    return np.rint(share / deviation * scale) if deviation else np.zeros(len(share))


METHOD = Method(
    name="mdav",
    summary="Form clusters of k rows around the rows furthest from the mean, two at a time.",
    paper="Domingo-Ferrer, Torra 2005",
    cost="n^2 / k in each block",
    good_for="columns of numbers; small square error",
    options=MdavOptions,
    partition=partition,
    in_blocks=True,
)
