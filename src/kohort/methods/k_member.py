"""Greedy k-member clustering: grow a group from a far record by the nearest ones until it has k, then the next.

Byun, Kamra, Bertino, Li, Efficient k-anonymization using clustering techniques, 2007; compared with in paper 004.

A record is drawn; the first seed is the record furthest from it (which itself stays free), every later one the record
furthest from the last that was added. (Paper 004's survey has "furthest from r"; this is Byun's own.) Added is always the
record with which the group's loss is least, ties lowest row. Fewer than k that are left join, in random order, the group
whose loss grows least. Groups have k to 2k-1 rows.

Beyond k: a group grows past k by the cheapest record that brings it nearer to its promise. Once one cannot be grown to stand,
it and all that are left join the others.
"""

from __future__ import annotations

import numpy as np

from kohort.constraints.constraints import Constraints
from kohort.encoding.points import Points
from kohort.methods.method import Method, Options, Partition
from kohort.methods.search.grow_groups import group_for, join_rest, pool_of
from kohort.progress import Progress


def partition(points: Points, constraints: Constraints, options: Options, seed: int, progress: Progress) -> Partition:
    """Grow, then join the rest."""
    del options
    return grown(points, constraints, seed, progress, random_seeds=False)


def grown(points: Points, constraints: Constraints, seed: int, progress: Progress, *, random_seeds: bool) -> Partition:
    """Groups from seeds that are far from the last record, or drawn."""
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
    if not groups:  # not one group can be grown: all of it is one, for whoever repairs it to judge
        return Partition(np.zeros_like(labels))
    deal(seed, np.int64(points.rows), rest)
    join_rest(points, constraints, labels, rest, progress)
    return Partition(labels)


METHOD = Method(
    name="k-member",
    summary="grow each group from a far record by whoever costs least",
    paper="Byun, Kamra, Bertino, Li 2007; compared with in paper 004",
    cost="n^2 / k x axes within a block",
    good_for="little loss at small k",
    options=Options,
    partition=partition,
    in_blocks=True,
    asks_while_grouping=True,
)
