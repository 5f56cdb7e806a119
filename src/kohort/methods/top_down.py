"""Top-down: the table is cut where the loss falls most, each part again, until no cut gains or none is allowed.

Our own. Mondrian cuts the widest axis at its median, whatever that gains. Here every node of a tree against the rest and every
gap between two numbers is a candidate, and a cut may narrow several axes at once: a box of records leaves the rest, which loses
no more than before. Both ways are tried, one axis a cut and boxes, and the one that loses less is kept.

Beyond k: a cut is made only if both sides keep the promise.
"""

from __future__ import annotations

from kohort.constraints.constraints import Constraints
from kohort.encoding.groups import total_cost
from kohort.encoding.points import Points
from kohort.methods.method import Method, Options, Partition
from kohort.methods.search.gain_cuts import STEPS, recorded_splits
from kohort.progress import Progress


class TopDownOptions(Options):
    """Options of `top-down`: none."""


def partition(points: Points, constraints: Constraints, _options: TopDownOptions, _seed: int, progress: Progress) -> Partition:
    """Cut by gain; boxes or straight, whichever loses less."""
    searched = points.searched()
    tables = searched.costs()
    record = points.record_decisions
    both = [recorded_splits(searched, constraints, steps, progress, record=record) for steps in (1, STEPS)]
    best = min(both, key=lambda cuts: total_cost(searched, cuts.labels, tables))
    return Partition(best.labels, decisions=best.decisions)


METHOD = Method(
    name="top-down",
    summary="cuts where the loss falls most: a node against the rest, a number at a value, a box out of the rest",
    paper="ours; after LeFevre et al. 2006 (Mondrian) and what peeling off dense regions gains (Friedman, Fisher 1999)",
    cost="n log n x axes for even cuts",
    good_for="little loss at once, at any k; then improved",
    options=TopDownOptions,
    partition=partition,
    goes_by_workload=True,
    in_blocks=True,
    effort=1,
)
