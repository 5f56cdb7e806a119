"""Improvement: after a method has run, lower the loss of its groups by the objective of the job. All groups stay valid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.constraints.constraints import Constraints
from kohort.encoding.points import Points
from kohort.methods.search.decisions import SweepCount
from kohort.methods.search.improve.regrouping import regroup
from kohort.methods.search.improve.square_error import improve_square_error
from kohort.progress import Progress

__all__ = ["improve"]


def improve(
    points: Points,
    constraints: Constraints,
    labels: NDArray[np.int64],
    rounds: int,
    seed: int,
    progress: Progress,
    count: SweepCount | None = None,
) -> NDArray[np.int64]:
    """Return groups with less loss by the objective of the points, or the same groups.

    Rows with the label -1 stay suppressed. The number of sweeps is added to `count`.
    """
    kept = np.flatnonzero(labels >= 0)
    if not rounds or not len(kept):
        return labels
    search = improve_square_error if points.objective == "square-error" else regroup
    better = labels.copy()
    if len(kept) < len(labels):
        points, constraints = points.take(kept), constraints.take(kept)
    better[kept] = search(points.searched(), constraints, labels[kept], rounds, seed, progress, count or SweepCount())
    progress.check()
    return better
