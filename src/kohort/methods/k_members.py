"""k-members clustering: as `k-member`, but every seed is drawn at random.

Wang, Liu, Gao, paper 000. Its claim of linear cost does not hold: each record is compared with all that are free.

Everything but the seeds is as in `k_member`, also what is done beyond k and with the records that are left.
"""

from __future__ import annotations

from kohort.constraints.constraints import Constraints
from kohort.encoding.points import Points
from kohort.methods.k_member import grown
from kohort.methods.method import Method, Options, Partition
from kohort.progress import Progress


def partition(points: Points, constraints: Constraints, options: Options, seed: int, progress: Progress) -> Partition:
    """Grow, then join the rest."""
    del options
    return grown(points, constraints, seed, progress, random_seeds=True)


METHOD = Method(
    name="k-members",
    summary="grow each group from a random record by whoever costs least",
    paper="Wang, Liu, Gao (paper 000)",
    cost="n^2 / k x axes within a block",
    good_for="the same as k-member, a little quicker",
    options=Options,
    partition=partition,
    in_blocks=True,
    asks_while_grouping=True,
)
