"""Code for methods that grow groups row by row: arrays of free rows for the kernels, and joining the remaining rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kohort.constraints.constraints import Constraints
from kohort.encoding.groups import group_boxes
from kohort.encoding.points import Points
from kohort.progress import Progress

if TYPE_CHECKING:
    from kohort.kernels.clusters.free_records import FreeRecords
    from kohort.kernels.clusters.grow_group import GrowingGroup


def pool_of(points: Points, order: NDArray[np.int64] | None = None) -> FreeRecords:
    """Return all rows as free rows, in this order."""
    from kohort.kernels.clusters.free_records import FreeRecords

    rows = np.arange(points.rows) if order is None else order.astype(np.int64, copy=True)
    indices = np.empty((len(points.axes), len(rows)), np.int32)
    values: list[NDArray[np.int64]] = []
    first = [0]
    for number, axis in enumerate(points.axes):
        codes = points.codes[rows, number]
        occurs = np.bincount(codes, minlength=axis.size) > 0
        indices[number] = (np.cumsum(occurs) - 1 + first[-1])[codes]
        values.append(np.flatnonzero(occurs))
        first.append(first[-1] + len(values[-1]))
    return FreeRecords(
        indices=indices,
        first=np.array(first, np.int64),
        values=np.concatenate([np.empty(0, np.int64), *values]),
        rows=rows,
        costs=np.empty(len(rows), np.int64),
        by_value=np.empty(first[-1], np.int64),
        change=np.empty(first[-1], np.int64),
        by_code=np.empty(max((axis.size for axis in points.axes), default=0), np.int64),
        box=np.empty((2, len(points.axes)), np.int64),
        taken=np.zeros(len(rows), np.bool_),
        out=np.empty(len(rows), np.int64),
        counts=np.array([len(rows), 0], np.int64),
    )


def group_for(constraints: Constraints) -> GrowingGroup:
    """Return an empty group with room for all rows."""
    from kohort.kernels.clusters.grow_group import GrowingGroup

    return GrowingGroup(
        tally=constraints.tally(),
        members=np.empty_like(constraints.sensitive_values),
        records=np.empty(constraints.rows, np.int64),
        size=np.zeros(1, np.int64),
        wanted=np.empty(int(constraints.rules.first[-1]), np.bool_),
    )


def join_rest(
    points: Points, constraints: Constraints, labels: NDArray[np.int64], rest: NDArray[np.int64], progress: Progress
) -> None:
    """Let each row of `rest`, in this order, join the group whose loss grows least. Changes `labels`."""
    from kohort.kernels.clusters.join_leftovers import join

    if labels.max(initial=-1) < 0 or not len(rest):
        return
    low, high = group_boxes(points, labels)
    sensitive, codes = constraints.sensitive_values, points.codes.astype(np.int64)
    join(
        points.kernel_tables(), constraints.rules, constraints.tally(), sensitive, codes, rest, constraints.beyond_k, low, high,
        np.bincount(labels[labels >= 0]), labels, np.empty_like(sensitive), progress.slot(),
    )  # fmt: skip
    progress.check()
