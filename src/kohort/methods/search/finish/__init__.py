"""After the method: what may not stand is merged, or left out as far as allowed; then what costs most is left out.

For methods that cut or grow groups. Those that choose one level a column for the whole table test the whole promise
themselves. Everything here stays inside the rows it is given: a block, if the method worked in blocks.
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
    """Labels of groups that all keep the promise; -1 is left out, no more rows than the budget has.

    A block is not the whole release: whether that still stands when rows have left is for the caller to ask.
    """
    if not constraints.budget and constraints.valid_groups(labels).all():
        return labels
    repaired = _fewer_records(points, constraints, repair(points, constraints, labels, progress), progress, block=block)
    fewer = _without_failing(constraints, labels, constraints.budget - int(np.count_nonzero(labels < 0)))
    if fewer is not labels:  # what fails is left out or merged, whichever loses less
        fewer = _fewer_records(points, constraints, repair(points, constraints, fewer, progress), progress, block=block)
        tables = points.kernel_tables()
        repaired = fewer if total_cost(points, fewer, tables) < total_cost(points, repaired, tables) else repaired
    return repaired if block else repair_without_suppressed(points, constraints, repaired, progress)


def _fewer_records(
    points: Points, constraints: Constraints, labels: NDArray[np.int64], progress: Progress, *, block: bool
) -> NDArray[np.int64]:
    """Without the records that cost most, as far as the budget goes."""
    budget = constraints.budget - int(np.count_nonzero(labels < 0))
    if budget > 0:
        fewer = suppress_records(points, constraints, labels, budget, progress)
        # Who leaves changes what is usual in the release. Where a group then stands no more, more is lost than was won.
        labels = fewer if block or constraints.valid_without_suppressed(fewer) else labels
    return labels


def _without_failing(constraints: Constraints, labels: NDArray[np.int64], budget: int) -> NDArray[np.int64]:
    """Failing groups left out, unless those that stay could then keep the promise in no way, not even as one."""
    fewer = suppress_failing(constraints, labels, budget)
    kept = np.flatnonzero(fewer >= 0)
    return fewer if len(kept) and constraints.take(kept).valid_groups(np.zeros(len(kept), np.int64)).all() else labels


def repair_without_suppressed(
    points: Points, constraints: Constraints, labels: NDArray[np.int64], progress: Progress
) -> NDArray[np.int64]:
    """Groups that stand in a release of only the rows that have a label, merged where they would not."""
    if (labels < 0).any() and not constraints.valid_without_suppressed(labels):
        kept = np.flatnonzero(labels >= 0)
        left = labels.copy()
        left[kept] = repair(points.take(kept), constraints.only(kept), labels[kept], progress)
        return left
    return labels
