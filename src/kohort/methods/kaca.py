"""KACA: start with groups of equal rows and merge an invalid group with its nearest group, until all groups are valid.

Li, Wong, Fu, Pei, Achieving k-anonymity by clustering in attribute hierarchical structures, 2006. Ni, Xie, Qian 2017 compare
with it.

The next invalid group A is drawn at random. It merges with the group B for which |A| d(A, AB) + |B| d(B, AB) is least, where
d(A, AB) is the additional loss of a row of A after the merge. Ties go to the group that contains the lowest row number.
`start=records` starts with every row as its own group. The mean sizes in Table 10 of Ni, Xie, Qian 2017 cannot come from groups
of equal rows, because there are too few of them. TopDown-KACA is this method in blocks.

Other promises: a group that does not keep all promises is invalid, like a group with fewer than k rows.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from kohort.constraints.constraints import Constraints
from kohort.encoding.points import Points
from kohort.methods.method import Method, Options, Partition
from kohort.methods.search.finish import merge_failing
from kohort.progress import Progress


class KACAOptions(Options):
    """Options of `kaca`."""

    start: Literal["classes", "records"] = Field(
        default="classes",
        description="start with groups of equal rows (`classes`) or with every row as its own group (`records`)",
        examples=["records"],
    )


def partition(points: Points, constraints: Constraints, options: KACAOptions, seed: int, progress: Progress) -> Partition:
    """Merge groups until all are valid."""
    labels = points.equal_rows() if options.start == "classes" else np.arange(points.rows)
    valid = constraints.valid_groups(labels)
    if not valid.all():
        labels = merge_failing(points, constraints, labels, valid, progress, seed=seed)
        progress.check()
    return Partition(labels)


METHOD = Method(
    name="kaca",
    summary="Start with groups of equal rows; merge a random invalid group with its nearest group until all groups are valid.",
    paper="Li, Wong, Fu, Pei 2006 (Ni, Xie, Qian 2017 compare with it)",
    cost="(distinct rows)^2 x columns in each block",
    good_for="tables with many equal rows",
    options=KACAOptions,
    partition=partition,
    in_blocks=True,
    uses_promises=True,
)
