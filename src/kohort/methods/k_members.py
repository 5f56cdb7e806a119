"""k-members clustering: like `k-member`, but every group starts at a random row.

Wang, Liu, Gao 2012. Their claim of linear cost does not hold, because each row is compared with all free rows.

Only the first row of each group differs from `k_member`. Other promises and remaining rows are handled in the same way.
"""

from __future__ import annotations

from kohort.constraints.constraints import Constraints
from kohort.encoding.points import Points
from kohort.methods.k_member import grow_groups
from kohort.methods.method import Method, Options, Partition
from kohort.progress import Progress


def partition(points: Points, constraints: Constraints, options: Options, seed: int, progress: Progress) -> Partition:
    """Grow groups from random rows, then let the remaining rows join them."""
    del options
    return grow_groups(points, constraints, seed, progress, random_seeds=True)


METHOD = Method(
    name="k-members",
    summary="Start each group at a random row and add the rows that cost least.",
    paper="Wang, Liu, Gao 2012",
    cost="n^2 / k x columns in each block",
    good_for="the same as k-member, slightly faster",
    options=Options,
    partition=partition,
    in_blocks=True,
    uses_promises=True,
)
