"""Bottom-up merging: the smallest invalid group merges with the group for which the loss grows least, until all are valid.

kohort's own method, based on KACA (Li, Wong, Fu, Pei 2006). KACA picks the next group at random and measures loss by heights of
trees. Here the smallest group is next, so that no small group remains that only a distant group could take, and the objective of
the job measures the loss.

Other promises: a group that does not keep all promises is invalid, like a group with fewer than k rows.
"""

from __future__ import annotations

from kohort.constraints.constraints import Constraints
from kohort.encoding.points import Points
from kohort.methods.method import Method, Options, Partition
from kohort.methods.search.finish import merge_failing
from kohort.progress import Progress


class MergeOptions(Options):
    """Options of `merge`. There are none."""


def partition(points: Points, constraints: Constraints, _options: MergeOptions, _seed: int, progress: Progress) -> Partition:
    """Start with groups of equal rows and merge until all groups are valid."""
    searched = points.searched()
    labels = searched.equal_rows()
    valid = constraints.valid_groups(labels)
    if not valid.all():
        labels = merge_failing(searched, constraints, labels, valid, progress, measure=points.measure)
        progress.check()
    return Partition(labels)


METHOD = Method(
    name="merge",
    summary="Merge the smallest invalid group with the group for which the loss grows least, until all groups are valid.",
    paper="kohort's own method, based on Li, Wong, Fu, Pei 2006 (KACA)",
    cost="(distinct rows)^2 x columns in each block at worst",
    good_for="small k; tables with many equal rows",
    options=MergeOptions,
    partition=partition,
    uses_workload=True,
    in_blocks=True,
    uses_promises=True,
    effort=1,
)
