"""KACA: classes of equal records merge, one that is too small with its nearest, until none is too small.

Li, Wong, Fu, Pei, Achieving k-anonymity by clustering in attribute hierarchical structures, 2006; compared with in paper 001.

One of the classes that are too small is drawn; it merges with the class for which |A| d(A, AB) + |B| d(B, AB) is least, where
d(A, AB) is what a record of A then loses more; ties: the class with the lowest row. `start=records` begins with every record
for itself: the mean sizes of paper 001's Table 10 cannot come from classes of equal records, of which there are too few.
TopDown-KACA is this method inside blocks.

Beyond k: a class that does not keep the whole promise counts as too small.
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
        default="classes", description="begin with the classes of equal records, or with each record", examples=["records"]
    )


def partition(points: Points, constraints: Constraints, options: KACAOptions, seed: int, progress: Progress) -> Partition:
    """Merge classes until all stand."""
    labels = points.equal_rows() if options.start == "classes" else np.arange(points.rows)
    valid = constraints.valid_groups(labels)
    if not valid.all():
        labels = merge_failing(points, constraints, labels, valid, progress, seed=seed)
        progress.check()
    return Partition(labels)


METHOD = Method(
    name="kaca",
    summary="classes of equal records that are too small merge with the nearest",
    paper="Li, Wong, Fu, Pei 2006; compared with in paper 001",
    cost="(distinct records)^2 x axes within a block",
    good_for="tables with many equal records",
    options=KACAOptions,
    partition=partition,
    in_blocks=True,
    asks_while_grouping=True,
)
