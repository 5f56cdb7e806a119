"""The default: in each block the start that loses least, then improvement.

Which starts are tried follows from what is asked: cuts from the top always; merging from below for small k, and where the
promise makes cuts lose much more than k alone would; growing groups (k-member) where groups must then be like the table, as a
cut must leave both sides so while growing picks what is wanted. For square error it is MDAV, which was made for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from kohort.constraints.constraints import Constraints
from kohort.encoding.groups import merged_groups, total_cost
from kohort.encoding.points import Points
from kohort.methods import k_member, mdav, merge, top_down
from kohort.methods.method import Method, Options, Partition
from kohort.methods.run import made_by
from kohort.methods.search.finish import repair
from kohort.progress import Progress

MERGED_UP_TO = 4  # k: where merging from below still beats cuts from above, on some tables
DEAR = 1.25  # times the loss that k alone costs, from which a promise is dear


class AutoOptions(Options):
    """Options of `auto`: none."""


def partition(points: Points, constraints: Constraints, _options: AutoOptions, seed: int, progress: Progress) -> Partition:
    """The start that loses least."""
    searched = points.searched()
    tables = searched.costs()

    def cost(labels: NDArray[np.int64]) -> int:
        return total_cost(searched, labels, tables)

    tried = list(_starts(points, constraints, seed, progress, cost))
    best = min(tried, key=lambda start: cost(start.labels))
    starts = tuple(start.start for start in tried)
    return Partition(best.labels, start=best.start, starts=starts, decisions=best.decisions, merged=best.merged)


def _starts(
    points: Points, constraints: Constraints, seed: int, progress: Progress, cost: Callable[[NDArray[np.int64]], int]
) -> Iterator[Partition]:
    def start(method: Method, constraints: Constraints) -> Partition:
        made = made_by(method, points, constraints, method.options(), seed, progress)
        labels = repair(points, constraints, made.labels, progress)
        return Partition(labels, start=method.name, decisions=made.decisions, merged=merged_groups(made.labels, labels))

    if points.objective == "square-error":
        yield start(mdav.METHOD, constraints)
        return
    cut = start(top_down.METHOD, constraints)
    yield cut
    is_expensive = False
    if constraints.beyond_k:
        plain = start(top_down.METHOD, constraints.k_alone())
        is_expensive = cost(cut.labels) > DEAR * cost(plain.labels)
    if is_expensive or constraints.k <= MERGED_UP_TO:
        yield start(merge.METHOD, constraints)
    if is_expensive and constraints.compared_with_table:
        yield start(k_member.METHOD, constraints)


METHOD = Method(
    name="auto",
    summary="the start that loses least (top-down, merge, k-member, mdav), then improved",
    paper="ours",
    cost="linear in rows: blocks, each improved",
    good_for="nearly everything; the default",
    options=AutoOptions,
    partition=partition,
    goes_by_workload=True,
    in_blocks=True,
    effort=1,
)
