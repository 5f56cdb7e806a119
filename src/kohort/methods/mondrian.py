"""Mondrian: cut the table in two at the median of its widest axis, then cut each half again, while both sides are valid.

LeFevre, DeWitt, Ramakrishnan, Mondrian multidimensional k-anonymity, 2006; Murthy, Srinivas.

Strict: equal values stay together. The cut is at the lower median; values up to the median go left. If this makes a side
invalid, the valid cut nearest to balance on the same axis is used. (The paper says that the median suffices. This is wrong when
values repeat.) If the axis has no valid cut, the next widest axis is tried. A group has at most 2d(k-1)+m rows, where m is the
largest number of equal rows and d the number of axes.
Relaxed: the rows at the median are divided, in the order of the rows, so that the halves differ by at most one row. Groups then
have k to 2k-1 rows.

Categories can be cut between any two neighbouring leaves of their tree. The width of a part is its share of the range, or for a
category the height of the lowest common ancestor as a share of the height of the tree. The cuts do not depend on the number of
threads, because each part is cut by its own rows alone.
"""

from __future__ import annotations

from pydantic import Field

from kohort.constraints.constraints import Constraints
from kohort.encoding.points import Points
from kohort.methods.method import Method, Options, Partition
from kohort.methods.search.median_cuts import recorded_cuts
from kohort.progress import Progress


class MondrianOptions(Options):
    """Options of `mondrian`."""

    relaxed: bool = Field(
        default=False,
        description="divide rows with the median value between both halves, so that equal values may be published differently",
        examples=[True],
    )


def partition(points: Points, constraints: Constraints, options: MondrianOptions, seed: int, progress: Progress) -> Partition:
    """Cut until no cut is valid. Groups are numbered from left to right."""
    del seed  # nothing here is random
    cuts = recorded_cuts(points, constraints, progress, relaxed=options.relaxed, record=points.record_decisions)
    return Partition(cuts.labels, decisions=cuts.decisions)


METHOD = Method(
    name="mondrian",
    summary="Cut the table in two at the median of its widest column, again and again, while both sides keep the promises.",
    paper="LeFevre, DeWitt, Ramakrishnan 2006; Murthy, Srinivas",
    cost="n log n",
    good_for="large tables; a quick first result; columns of numbers",
    options=MondrianOptions,
    partition=partition,
    uses_workload=True,
    uses_row_order=lambda options: bool(options.relaxed),
)
