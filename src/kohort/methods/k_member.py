"""Greedy k-member clustering: start a group at a distant row, add the nearest rows until it has k, then start the next group.

Byun, Kamra, Bertino, Li, Efficient k-anonymization using clustering techniques, 2007. El-Rashidy et al. 2011 compare with it.

One row is drawn at random. The first group starts at the row furthest from the drawn row, which itself stays free. Every later
group starts at the row furthest from the row that was added last. (The survey in El-Rashidy et al. 2011 says "furthest from r".
This is the rule of Byun et al. themselves.) The row added is always the one with which the loss of the group is least; ties go
to the lowest row number. When fewer than k rows are free, they join the group whose loss grows least, in random order. Groups
have k to 2k-1 rows.

Other promises: a group grows beyond k by the cheapest row that brings it closer to its promises. If a group cannot become valid,
its rows and all free rows join the other groups.
"""

from __future__ import annotations

import numpy as np

from kohort.constraints.constraints import Constraints
from kohort.encoding.points import Points
from kohort.methods.method import Method, Options, Partition
from kohort.methods.search.grow_groups import group_for, join_rest, pool_of
from kohort.progress import Progress


def partition(points: Points, constraints: Constraints, options: Options, seed: int, progress: Progress) -> Partition:
    """Grow groups from distant rows, then let the remaining rows join them."""
    del options
    return grow_groups(points, constraints, seed, progress, random_seeds=False)


def grow_groups(points: Points, constraints: Constraints, seed: int, progress: Progress, *, random_seeds: bool) -> Partition:
    """Grow groups that start at random rows, or at the row furthest from the last one added."""
    from kohort.kernels.clusters.k_member import form_groups
    from kohort.kernels.core.randomness import deal

    labels = np.full(points.rows, -1, np.int64)
    groups = form_groups(
        points.kernel_tables(), constraints.rules, pool_of(points), group_for(constraints),
        constraints.sensitive_values, constraints.beyond_k,
        random_seeds, seed, labels, progress.slot(),
    )  # fmt: skip
    progress.check()
    rest = np.flatnonzero(labels < 0)
    if not groups:  # no group can become valid, so return all rows as one group; `finish` reports what it does not keep
        return Partition(np.zeros_like(labels))
    deal(seed, np.int64(points.rows), rest)
    join_rest(points, constraints, labels, rest, progress)
    return Partition(labels)


METHOD = Method(
    name="k-member",
    summary="Start each group at a distant row and add the rows that cost least.",
    paper="Byun, Kamra, Bertino, Li 2007 (El-Rashidy et al. 2011 compare with it)",
    cost="n^2 / k x columns in each block",
    good_for="little loss at small k",
    options=Options,
    partition=partition,
    in_blocks=True,
    uses_promises=True,
)
