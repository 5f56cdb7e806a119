"""Suppression: suppress rows so that the other rows lose less.

First whole invalid groups, the smallest first, as many as the budget allows. Then single rows, each time the row whose
suppression lowers the total loss most. Every cell of a suppressed row counts as a loss of 1. The group of a suppressed row must
stay valid.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.constraints.constraints import Constraints
from kohort.encoding.groups import grouped_rows
from kohort.encoding.points import Points
from kohort.progress import Progress


def suppress_failing(constraints: Constraints, labels: NDArray[np.int64], budget: int) -> NDArray[np.int64]:
    """Suppress invalid groups while they fit into the budget, the smallest first; ties go to the lowest number."""
    valid = constraints.valid_groups(labels)
    if valid.all() or not budget:
        return labels
    sizes = np.bincount(labels[labels >= 0])
    failing = np.flatnonzero(~valid)
    failing = failing[np.argsort(sizes[failing], kind="stable")]
    gone = failing[np.cumsum(sizes[failing]) <= budget]
    return np.where(np.isin(labels, gone), -1, labels)


def suppress_records(
    points: Points, constraints: Constraints, labels: NDArray[np.int64], budget: int, progress: Progress
) -> NDArray[np.int64]:
    """Suppress at most `budget` rows, each time the row whose suppression lowers the total loss most."""
    from kohort.kernels.clusters import suppress_records as kernels

    rows, first = grouped_rows(labels)
    sizes = np.diff(first)
    codes = np.take(points.codes, rows, axis=0)
    by_axis = np.array([np.lexsort((codes[:, axis], labels[rows])) for axis in range(codes.shape[1])], np.int64)
    ends = np.repeat(np.column_stack([first[:-1], first[1:] - 1])[:, np.newaxis, :], codes.shape[1], axis=1)
    gone = np.zeros(len(rows), np.bool_)
    sensitive = np.take(constraints.sensitive_values, rows, axis=0)
    members = kernels.GroupMembers(first, rows, codes, sensitive, by_axis, ends, sizes, gone)
    kernels.suppress(
        points.kernel_tables(), constraints.rules, constraints.tally(), members, constraints.beyond_k, budget, progress.slot()
    )
    progress.check()
    remaining = labels.copy()
    remaining[rows[gone]] = -1
    return remaining
