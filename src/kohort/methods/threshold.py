"""Threshold clustering: grow a group from a random record while its mean width stays below a threshold.

Loukides, Shao, Capturing data usefulness and privacy protection in k-anonymisation, 2007, as surveyed in paper 004.

From a record drawn among the free ones, the record of least loss is let in (ties lowest row) while the mean width of the
group's box is at most `threshold`. A group below k, or one that does not keep the promise, is dissolved: in the order in
which they were made, its records are left out if `suppress` still allows for all of them; else each joins, once all groups
are made and in the order of the rows, the group whose loss grows least. If no group has k, that is an error.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from kohort.constraints.constraints import Constraints
from kohort.encoding.groups import merged
from kohort.encoding.points import Points
from kohort.errors import PromiseError
from kohort.methods.method import Method, Options, Partition
from kohort.methods.search.grow_groups import group_for, join_rest, pool_of
from kohort.progress import Progress


class ThresholdOptions(Options):
    """Options of `threshold`."""

    threshold: float = Field(
        default=0.25, ge=0, le=1, description="the mean width, from 0 to 1, that a group may have when it grows", examples=[0.5]
    )


def partition(points: Points, constraints: Constraints, options: ThresholdOptions, seed: int, progress: Progress) -> Partition:
    """Grow, dissolve, join."""
    from kohort.kernels.clusters.threshold import grow_within

    if not points.rows:
        return Partition(np.empty(0, np.int64))
    labels = np.empty(points.rows, np.int64)
    valid = np.empty(points.rows, np.bool_)
    tables = points.kernel_tables()
    limit = int(options.threshold * int(tables.full.sum()))
    groups = grow_within(
        tables, constraints.rules, pool_of(points), group_for(constraints), constraints.sensitive_values, limit, seed,
        labels, valid, progress.slot(),
    )  # fmt: skip
    progress.check()
    if not valid[:groups].any():
        raise PromiseError(
            f"With threshold={options.threshold:g} no group keeps what is promised. Allow wider groups (a higher threshold), "
            "promise less, or choose another method."
        )
    left, joins = constraints.budget, np.zeros(points.rows, np.bool_)
    for group, size in enumerate(np.bincount(labels, minlength=groups).tolist()):
        if not valid[group]:
            inside = labels == group
            joins |= inside & (size > left)
            left -= size if size <= left else 0
            labels[inside] = -1
    labels = merged(labels)
    join_rest(points, constraints, labels, np.flatnonzero(joins), progress)
    return Partition(labels)


METHOD = Method(
    name="threshold",
    summary="grow a group from a random record while its mean width stays below a threshold",
    paper="Loukides, Shao 2007, as surveyed in paper 004",
    cost="n^2 / (rows of a group) x axes within a block",
    good_for="groups of bounded width, larger than k where records are alike",
    options=ThresholdOptions,
    partition=partition,
    in_blocks=True,
    asks_while_grouping=True,
    may_refuse=True,
)
