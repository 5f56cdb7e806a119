"""Finish: after a method has run, merge or suppress invalid groups, then suppress the rows that cost most.

This is for methods that cut or grow groups. Methods that recode whole columns check all promises themselves. If a method works in
blocks, this is done within each block.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.constraints.constraints import Constraints
from kohort.encoding.groups import total_cost
from kohort.encoding.points import Points
from kohort.methods.search.finish.repair import merge_failing, repair
from kohort.methods.search.finish.suppress import suppress_failing, suppress_records
from kohort.progress import Progress

__all__ = ["finish", "merge_failing", "repair", "repair_without_suppressed", "suppress_records"]


def finish(
    points: Points, constraints: Constraints, labels: NDArray[np.int64], progress: Progress, *, block: bool = False
) -> NDArray[np.int64]:
    """Return labels of valid groups, with -1 for suppressed rows. No more rows are suppressed than the budget allows.

    With `block` the rows are only a part of the release. The caller must then check whether the whole release is valid without
    the suppressed rows.
    """
    if not constraints.budget and constraints.valid_groups(labels).all():
        return labels
    merged = _suppress_expensive(points, constraints, repair(points, constraints, labels, progress), progress, block=block)
    fewer = _without_failing(constraints, labels, constraints.budget - int(np.count_nonzero(labels < 0)))
    if fewer is not labels:  # invalid groups are suppressed or merged, whichever loses less
        fewer = _suppress_expensive(points, constraints, repair(points, constraints, fewer, progress), progress, block=block)
        tables = points.kernel_tables()
        merged = fewer if total_cost(points, fewer, tables) < total_cost(points, merged, tables) else merged
    return merged if block else repair_without_suppressed(points, constraints, merged, progress)


def _suppress_expensive(
    points: Points, constraints: Constraints, labels: NDArray[np.int64], progress: Progress, *, block: bool
) -> NDArray[np.int64]:
    """Suppress the rows that cost most, as far as the budget allows."""
    budget = constraints.budget - int(np.count_nonzero(labels < 0))
    if budget > 0:
        fewer = suppress_records(points, constraints, labels, budget, progress)
        # Suppressed rows change the value frequencies in the release. If a group becomes invalid by this, suppress none of them.
        labels = fewer if block or constraints.valid_without_suppressed(fewer) else labels
    return labels


def _without_failing(constraints: Constraints, labels: NDArray[np.int64], budget: int) -> NDArray[np.int64]:
    """Suppress invalid groups, unless the remaining rows would not be valid even as one group."""
    fewer = suppress_failing(constraints, labels, budget)
    kept = np.flatnonzero(fewer >= 0)
    return fewer if len(kept) and constraints.take(kept).valid_groups(np.zeros(len(kept), np.int64)).all() else labels


def repair_without_suppressed(
    points: Points, constraints: Constraints, labels: NDArray[np.int64], progress: Progress
) -> NDArray[np.int64]:
    """Merge groups that are not valid in a release without the suppressed rows."""
    if (labels < 0).any() and not constraints.valid_without_suppressed(labels):
        kept = np.flatnonzero(labels >= 0)
        repaired = labels.copy()
        repaired[kept] = repair(points.take(kept), constraints.only(kept), labels[kept], progress)
        return repaired
    return labels
