"""The groups as the reader will see them: groups that look alike are one class, and a class must stand as one.

For most promises that follows: two groups that may stand may stand as one. Where persons have several rows it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kohort.constraints.constraints import Constraints
from kohort.encoding.points import Points
from kohort.methods import Partition
from kohort.methods.search import finish as finishing
from kohort.progress import Progress

ClassesOf = Callable[[Partition], NDArray[np.int64]]
"""Per row: the class that it would be published in; -1 = suppressed."""


def finalize(
    points: Points,
    constraints: Constraints,
    partition: Partition,
    classes_of: ClassesOf,
    progress: Progress,
    *,
    suppressed_group: bool,
) -> Partition:
    """A partition whose classes all stand. With `suppressed_group`, suppressed rows stay as one class more if all stand then."""
    if partition.boxes is not None:  # no repair: such a method must have asked for the whole promise itself
        constraints.require(partition.labels)
    if suppressed_group and (partition.labels < 0).any():
        suppressed_rows = partition.with_suppressed_group()
        if constraints.valid_groups(suppressed_rows.labels).all() and constraints.valid_groups(classes_of(suppressed_rows)).all():
            return suppressed_rows
    if constraints.merging_keeps:
        return partition
    kept = np.flatnonzero(partition.labels >= 0)
    seen, constraints = points.take(kept), constraints.only(kept)
    while True:
        classes = classes_of(partition)[kept]
        valid = constraints.valid_groups(classes)
        if valid.all():
            return partition
        a_row_of = np.unique(classes, return_index=True)[1]
        failing = ~valid[classes]
        joined = partition.labels[kept]
        joined[failing] = joined[a_row_of[classes[failing]]]
        labels = partition.labels.copy()
        labels[kept] = finishing.repair(seen, constraints, joined, progress)
        partition = replace(partition, labels=labels)
