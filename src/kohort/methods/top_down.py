"""Top-down: cut the table where the loss falls most, then cut each part again, until no valid cut lowers the loss.

kohort's own method. Mondrian cuts the widest axis at its median, whether or not this lowers the loss much. Here the candidates
are every node of a tree against all other values and every gap between two numbers. A cut can also narrow several axes at once:
it separates a box of rows from the other rows, and these do not lose more than before. The table is cut twice, once with one axis
per cut and once with boxes. The result with less loss is kept.

Other promises: a cut is made only if both sides keep all promises.
"""

from __future__ import annotations

from kohort.constraints.constraints import Constraints
from kohort.encoding.groups import total_cost
from kohort.encoding.points import Points
from kohort.methods.method import Method, Options, Partition
from kohort.methods.search.gain_cuts import STEPS, recorded_splits
from kohort.progress import Progress


class TopDownOptions(Options):
    """Options of `top-down`. There are none."""


def partition(points: Points, constraints: Constraints, _options: TopDownOptions, _seed: int, progress: Progress) -> Partition:
    """Cut with one axis per cut and with boxes, and return the result with less loss."""
    searched = points.searched()
    tables = searched.costs()
    record = points.record_decisions
    both = [recorded_splits(searched, constraints, steps, progress, record=record) for steps in (1, STEPS)]
    best = min(both, key=lambda cuts: total_cost(searched, cuts.labels, tables))
    return Partition(best.labels, decisions=best.decisions)


METHOD = Method(
    name="top-down",
    summary="Cut the table where the loss falls most: at a number, between a tree node and the rest, or around a box of rows.",
    paper="kohort's own method, based on LeFevre et al. 2006 (Mondrian) and Friedman, Fisher 1999 (separating dense regions)",
    cost="n log n x columns if the cuts are balanced",
    good_for="little loss at any k, even before improvement",
    options=TopDownOptions,
    partition=partition,
    uses_workload=True,
    in_blocks=True,
    effort=1,
)
