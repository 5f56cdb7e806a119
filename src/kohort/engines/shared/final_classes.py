"""Checks the groups as they will be published. Clusters with identical published values form one group (equivalence class).

That group must satisfy the promises. For most promises it does if each of its clusters does. This need not hold if people have
several rows.
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
"""Returns, per row, the number of the group that it would be published in; -1 = suppressed."""


def finalize(
    points: Points,
    constraints: Constraints,
    partition: Partition,
    classes_of: ClassesOf,
    progress: Progress,
    *,
    suppressed_group: bool,
) -> Partition:
    """Return a partition whose published groups all satisfy the promises.

    With `suppressed_group`, suppressed rows are published as one more group of `*` if all groups are valid then.
    """
    if partition.boxes is not None:  # such a method must satisfy all promises itself, because its groups cannot be repaired
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
