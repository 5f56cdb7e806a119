"""Threshold clustering: grow a group from a random row while the mean width of its box is at most a threshold.

Loukides, Shao, Capturing data usefulness and privacy protection in k-anonymisation, 2007, as described by El-Rashidy et al. 2011.

Each group starts at a random free row. The row with the least loss joins it (ties: lowest row number) while the mean width of
the group's box is at most `threshold`. Groups that are not valid (fewer than k rows, or another promise not kept) are dissolved
in the order in which they were made. The rows of a dissolved group are suppressed if `suppress` still allows all of them.
Otherwise each row joins the group whose loss grows least, after all groups are made and in the order of the rows. It is an
error if no group is valid.
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
        default=0.25,
        ge=0,
        le=1,
        description="largest mean width of a growing group, from 0 (equal rows) to 1 (the whole range of every column)",
        examples=[0.5],
    )


def partition(points: Points, constraints: Constraints, options: ThresholdOptions, seed: int, progress: Progress) -> Partition:
    """Grow groups, dissolve those that are not valid, and suppress or reassign their rows."""
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
            f"With threshold={options.threshold:g} no group satisfies the promises. Allow wider groups with a higher threshold "
            "(--option threshold=...), lower the promises, or choose another method (--method auto)."
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
    summary="Start each group at a random row and add rows while its mean width is at most a threshold.",
    paper="Loukides, Shao 2007, as described by El-Rashidy et al. 2011",
    cost="n^2 / (rows in a group) x columns in each block",
    good_for="groups of limited width; groups larger than k where rows are similar",
    options=ThresholdOptions,
    partition=partition,
    in_blocks=True,
    uses_promises=True,
    may_refuse=True,
)
