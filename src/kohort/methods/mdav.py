"""MDAV: again and again a cluster of k around the row furthest from the mean, and one around the row furthest from that.

Domingo-Ferrer, Mateo-Sanz 2002; Domingo-Ferrer, Torra 2005 (maximum distance to average vector).

While 3k rows are left: r = furthest from their centroid, with its k-1 nearest a cluster; s = furthest from r of those that
remain, with its k-1 nearest another. From 2k on one more; the rest is the last. Ties: the lowest row. Sizes lie in k..2k-1.

`scale=deviation`, the default where all columns are numbers without missing ones: squared Euclidean distance of the numbers
divided by their standard deviation (that of the rows at hand, so of the block), a column's weight on the square.
`scale=range`, else: the distance and the centroid of section 5 of ALGORITHMS.md. Places are rounded (to 2^-30 deviations, 2^-24
ranges), so that the mean of what is left is exact however it came about. A promise beyond k is kept by merging afterwards.
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

FINE = 2.0**30  # parts of a deviation


class MdavOptions(Options):
    """Options of `mdav`."""

    scale: Literal["deviation", "range"] | None = Field(
        default=None,
        description="what numbers are divided by; by default their deviation, where all columns are numbers and none is missing",
        examples=["range"],
    )


def partition(points: Points, constraints: Constraints, options: MdavOptions, seed: int, progress: Progress) -> Partition:
    """Clusters in the order in which they were made."""
    del seed  # nothing here is random
    rows, columns = points.codes.shape
    unfit = _without_deviation(points)
    if options.scale == "deviation" and unfit:
        raise RequestError(
            f"scale=deviation needs numbers in every quasi-identifier and every row; {listed(unfit)} "
            f"{'holds' if len(unfit) == 1 else 'hold'} categories or missing values. Ask for scale=range."
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
    """The columns that are not numbers throughout the table."""
    columns = zip(points.axes, points.some_missing, strict=True)
    return [axis.name for axis, missing in columns if not isinstance(axis, NumericAxis) or missing]


def _deviations(points: Points, number: int) -> NDArray[np.float64]:
    """Where each number lies above the table's smallest, in deviations; a constant column is 0."""
    share = shares(points, number)
    mean = math.fsum(share.tolist()) / len(share)
    deviation = math.sqrt(math.fsum(((share - mean) ** 2).tolist()) / len(share))
    return np.rint(share / deviation * (FINE * math.sqrt(points.weights[number]))) if deviation else np.zeros(len(share))


METHOD = Method(
    name="mdav",
    summary="clusters of k around the rows furthest out, two at a time",
    paper="Domingo-Ferrer, Torra 2005",
    cost="n^2/k within a block",
    good_for="numbers; small square error",
    options=MdavOptions,
    partition=partition,
    in_blocks=True,
)
