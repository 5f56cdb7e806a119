"""Datafly: generalise the column with most distinct values by one level, until the rows in invalid groups can be suppressed.

Sweeney, Achieving k-anonymity privacy protection using generalization and suppression, 2002.

Each column is published at one level for the whole table. Distinct values are counted as published; a missing value counts as
one. Ties go to the first column. A column at its last level is not generalised further. Two things differ from the paper.
Sweeney suppresses up to k rows; here `suppress` sets the limit. A group must keep all promises, not only k, and the remaining
rows must keep them without the suppressed rows; otherwise another column is generalised. With every column at its last level
there is one group.
"""

from __future__ import annotations

import numpy as np

from kohort.constraints.constraints import Constraints
from kohort.encoding.points import Points
from kohort.errors import PromiseError
from kohort.methods.method import Method, Options, Partition
from kohort.methods.search.full_domain_levels import FullDomain, RecodedGroups, Vector
from kohort.progress import Progress


def partition(points: Points, constraints: Constraints, options: Options, seed: int, progress: Progress) -> Partition:
    """Return the groups of the first vector that can be published, in the order of their boxes."""
    del options, seed  # nothing here is random
    table = FullDomain(points, constraints, progress)
    vector: Vector = (0,) * len(table.heights)
    while True:
        groups = table.groups(vector)
        if table.can_be_published(groups):
            table.state[0] = points.rows
            return table.partition(groups)
        if vector == table.top:
            raise PromiseError("All rows together, as one group, do not satisfy the promises. Lower the promises.")
        vector = _next_vector(table, groups)


def _next_vector(table: FullDomain, groups: RecodedGroups) -> Vector:
    """Return the vector in which the column with most distinct values is one level higher."""
    vector = groups.vector
    columns = zip(groups.low.T, vector, table.top, strict=True)
    distinct = [len(np.unique(low)) if level < top else 0 for low, level, top in columns]
    axis = int(np.argmax(distinct))  # the first column of those with most distinct values
    return (*vector[:axis], vector[axis] + 1, *vector[axis + 1 :])


METHOD = Method(
    name="datafly",
    summary="Publish each column at one level; generalise the column with most values until the groups are large enough.",
    paper="Sweeney 2002",
    cost="n x levels of all columns",
    good_for="equal values published identically everywhere; many columns; comparisons",
    options=Options,
    partition=partition,
    recodes_globally=True,
    uses_row_order=lambda _options: False,
)
