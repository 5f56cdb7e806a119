"""Repair: a group that may not stand merges with the neighbour for which the total loss grows least, until all may."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.axes import Points
from kohort.checks import Checks
from kohort.errors import PromiseError
from kohort.progress import Progress


def repair(points: Points, checks: Checks, labels: NDArray[np.int64], progress: Progress) -> NDArray[np.int64]:
    """The same groups where all stand; else the smallest failing one merges first, ties lowest number. -1 stays out."""
    labels = merged(labels)
    stands = checks.standing(labels)
    if stands.all():
        return labels
    if len(stands) > 1:
        labels = _merge_failing(points, checks, labels, stands, progress)
        progress.check()
    if not checks.standing(labels).all():
        checks.only(np.flatnonzero(labels >= 0)).require_whole_table()
        raise PromiseError("Not even all rows as one group keep what is promised.")
    return labels


def merged(labels: NDArray[np.int64], goes_to: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Groups renumbered 0, 1, ... in their order, after those that `goes_to` says were merged into others."""
    moved = labels if goes_to is None else np.append(goes_to, -1)[labels]
    numbers = np.append(np.cumsum(np.bincount(moved[moved >= 0]) > 0) - 1, -1)  # the last entry is for -1
    return numbers[moved]


def _merge_failing(
    points: Points, checks: Checks, labels: NDArray[np.int64], stands: NDArray[np.bool_], progress: Progress
) -> NDArray[np.int64]:
    from kohort.kernels import repair as kernels
    from kohort.kernels.boxes import bound_members, group_rows

    groups, axes = len(stands), len(points.axes)
    low = np.full((groups, axes), np.iinfo(np.int64).max)
    high = np.zeros((groups, axes), np.int64)
    bound_members(points.codes, labels, low, high)
    sizes = np.bincount(labels[labels >= 0])
    first = np.concatenate([[0], np.cumsum(sizes)])
    order = np.empty(int(first[-1]), np.int64)
    group_rows(labels, first.copy(), order)
    following = np.full(points.rows, -1)
    following[order[:-1]] = order[1:]
    tail = order[first[1:] - 1]
    following[tail] = -1
    goes_to = np.arange(groups)
    kernels.repair(
        points.kernel_tables(), checks.rules, checks.tally(), checks.row_secrets, low, high, sizes, order[first[:-1]], tail,
        following, stands, goes_to, np.empty_like(checks.row_secrets), progress.slot(),
    )  # fmt: skip
    while (goes_to[goes_to] != goes_to).any():  # what was merged into a group that was merged later
        goes_to = goes_to[goes_to]
    return merged(labels, goes_to)
