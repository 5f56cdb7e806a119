"""After the method: what may not stand is left out, as far as allowed, or merged; then what costs most is left out.

For methods that cut or grow groups. Those that choose one level a column for the whole table test the whole promise
themselves. Everything here stays inside the rows it is given: a block, if the method worked in blocks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.axes import Points
from kohort.checks import Checks
from kohort.errors import PromiseError
from kohort.finishing.repair import merge_failing, merged, repair
from kohort.finishing.suppress import suppress_failing, suppress_records
from kohort.progress import Progress

__all__ = ["finish", "merge_failing", "merged", "repair", "stand_alone"]


def finish(
    points: Points, checks: Checks, labels: NDArray[np.int64], progress: Progress, *, block: bool = False
) -> NDArray[np.int64]:
    """Labels of groups that all keep the promise; -1 is left out, no more rows than the budget has.

    A block is not the whole release: whether that still stands when rows have left is for the caller to ask.
    """
    budget = checks.budget - int(np.count_nonzero(labels < 0))
    if not checks.budget and checks.standing(labels).all():
        return labels
    labels = _without_failing(checks, labels, budget)
    labels = repair(points, checks, labels, progress)
    budget = checks.budget - int(np.count_nonzero(labels < 0))
    if budget > 0:
        fewer = suppress_records(points, checks, labels, budget, progress)
        # Who leaves changes what is usual in the release. Where a group then stands no more, more is lost than was won.
        labels = fewer if block or checks.stand_among_themselves(fewer) else labels
    if not (labels >= 0).any() and points.rows:
        raise PromiseError("No row would be left: no group keeps what is promised. Allow less to be suppressed, or promise less.")
    return labels if block else stand_alone(points, checks, labels, progress)


def _without_failing(checks: Checks, labels: NDArray[np.int64], budget: int) -> NDArray[np.int64]:
    """Failing groups left out, unless those that stay could then keep the promise in no way, not even as one."""
    fewer = suppress_failing(checks, labels, budget)
    kept = np.flatnonzero(fewer >= 0)
    return fewer if checks.take(kept).standing(np.zeros(len(kept), np.int64)).all() else labels


def stand_alone(points: Points, checks: Checks, labels: NDArray[np.int64], progress: Progress) -> NDArray[np.int64]:
    """Groups that stand in a release of only the rows that have a label, merged where they would not."""
    if (labels < 0).any() and not checks.stand_among_themselves(labels):
        kept = np.flatnonzero(labels >= 0)
        left = labels.copy()
        left[kept] = repair(points.take(kept), checks.only(kept), labels[kept], progress)
        return left
    return labels
