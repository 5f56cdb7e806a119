"""Datafly: raise the column with most different values by one level, until few enough rows are left in classes that fail.

Sweeney, Achieving k-anonymity privacy protection using generalization and suppression, 2002.

Each column is published at one level for the whole table. Different values are those that would be published, missing among
them; ties go by the order of the columns, and a column at its last level is not raised. Deviations: Sweeney leaves out up to k
rows, here `suppress` says how many may be; a class must keep the whole promise, not only k, and what is left must keep it
among itself, else another column is raised. With every column at its last level there is one class.
"""

from __future__ import annotations

import numpy as np

from kohort.constraints.constraints import Constraints
from kohort.encoding.points import Points
from kohort.errors import PromiseError
from kohort.methods.method import Method, Options, Partition
from kohort.methods.search.full_domain_levels import Classes, FullDomain, Vector
from kohort.progress import Progress


def partition(points: Points, constraints: Constraints, options: Options, seed: int, progress: Progress) -> Partition:
    """The classes of the first vector that may be published, in the order of their boxes."""
    del options, seed  # nothing here is random
    table = FullDomain(points, constraints, progress)
    vector: Vector = (0,) * len(table.heights)
    while True:
        classes = table.classes(vector)
        if table.may_be_published(classes):
            table.state[0] = points.rows
            return table.partition(classes)
        if vector == table.top:
            raise PromiseError("Not even one class of all rows keeps what is promised. Promise less.")
        vector = _raised(table, classes)


def _raised(table: FullDomain, classes: Classes) -> Vector:
    """One level more for the column with most different values."""
    vector = classes.vector
    columns = zip(classes.low.T, vector, table.top, strict=True)
    different = [len(np.unique(low)) if level < top else 0 for low, level, top in columns]
    axis = int(np.argmax(different))  # the first of the largest
    return (*vector[:axis], vector[axis] + 1, *vector[axis + 1 :])


METHOD = Method(
    name="datafly",
    summary="each column at one level for the whole table: raise the one with most values until classes are large enough",
    paper="Sweeney 2002",
    cost="n, times the levels of all columns",
    good_for="the same text for the same value everywhere, many columns, comparisons",
    options=Options,
    partition=partition,
    recodes_globally=True,
    uses_row_order=lambda _options: False,
)
