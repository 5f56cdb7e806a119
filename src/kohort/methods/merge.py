"""Bottom-up merging: the smallest class that is too small merges where the loss grows least, until none is too small.

Our own, after KACA (Li et al. 2006), which draws the class that is next and goes by heights of trees. Taking the smallest first
leaves no class behind that only a far one could take in, and loss is measured as the objective says.

Beyond k: a class that does not keep the whole promise counts as too small.
"""

from __future__ import annotations

from kohort.constraints.constraints import Constraints
from kohort.encoding.points import Points
from kohort.methods.method import Method, Options, Partition
from kohort.methods.search.finish import merge_failing
from kohort.progress import Progress


class MergeOptions(Options):
    """Options of `merge`: none."""


def partition(points: Points, constraints: Constraints, _options: MergeOptions, _seed: int, progress: Progress) -> Partition:
    """Merge classes of equal records until all stand."""
    searched = points.searched()
    labels = searched.equal_rows()
    valid = constraints.valid_groups(labels)
    if not valid.all():
        labels = merge_failing(searched, constraints, labels, valid, progress, measure=points.measure)
        progress.check()
    return Partition(labels)


METHOD = Method(
    name="merge",
    summary="the smallest class that is too small merges where the loss grows least",
    paper="ours; after Li, Wong, Fu, Pei 2006 (KACA)",
    cost="(distinct records)^2 x axes within a block at worst",
    good_for="small k; tables with many equal records",
    options=MergeOptions,
    partition=partition,
    goes_by_workload=True,
    in_blocks=True,
    asks_while_grouping=True,
    effort=1,
)
