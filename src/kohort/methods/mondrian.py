"""Mondrian: cut the table in two at the median of its widest axis, and each half again, while both sides may stand.

LeFevre, DeWitt, Ramakrishnan, Mondrian multidimensional k-anonymity, 2006; Murthy, Srinivas, paper 002.

Strict: equal values stay together. The cut is at the lower median, `<=` goes left; if that leaves a side too small, the
allowed cut nearest to balance on that axis is taken (the paper's claim that the median suffices fails when values repeat),
else the next widest axis is tried. A class has at most 2d(k-1)+m rows, m = most copies of one point.
Relaxed: the rows at the median are dealt, in row order, so that the halves differ by at most one; classes have k..2k-1 rows.

Categories are cut between any two neighbouring leaves of their tree; width is the share of the range, or of the tree's
height at the lowest common ancestor. Cutting does not depend on threads: each partition is cut by its own rows alone.
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

    relaxed: bool = Field(default=False, description="deal the rows at the median to both halves", examples=[True])


def partition(points: Points, constraints: Constraints, options: MondrianOptions, seed: int, progress: Progress) -> Partition:
    """Cut until no cut is allowed; classes are numbered left to right."""
    del seed  # nothing here is random
    cuts = recorded_cuts(points, constraints, progress, relaxed=options.relaxed, record=points.record_decisions)
    return Partition(cuts.labels, decisions=cuts.decisions)


METHOD = Method(
    name="mondrian",
    summary="cut the table at medians of the widest column while both sides keep the promise",
    paper="LeFevre, DeWitt, Ramakrishnan 2006; Murthy, Srinivas (paper 002)",
    cost="n log n",
    good_for="large tables, a first look, numbers",
    options=MondrianOptions,
    partition=partition,
    goes_by_workload=True,
    uses_row_order=lambda options: bool(options.relaxed),
)
