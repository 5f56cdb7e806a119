"""The default method: in each block, try the methods that suit the job and keep the groups that lose least. Then improve them.

The job determines which methods are tried:

- `top-down` always, except for the objective square-error.
- `merge` if k is at most 4, or if the other promises raise the loss of `top-down` by more than 25 %.
- `k-member` if the other promises raise the loss that much and one of them compares groups with the whole table (t, beta,
  delta). Both sides of a cut must then resemble the table. A growing group can choose the rows that make it resemble the table.
- `mdav` alone for the objective square-error, because MDAV was designed to keep the square error low.
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
from kohort.methods.run import group_rows
from kohort.methods.search.finish import repair
from kohort.progress import Progress

MERGE_UP_TO_K = 4  # up to this k, merging loses less than cutting on some tables
EXPENSIVE = 1.25  # promises other than k are expensive if they raise the loss by more than this factor


class AutoOptions(Options):
    """Options of `auto`. There are none."""


def partition(points: Points, constraints: Constraints, _options: AutoOptions, seed: int, progress: Progress) -> Partition:
    """Return the groups of the method that loses least."""
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
    """Run the methods that suit the job and repair their groups."""

    def start(method: Method, constraints: Constraints) -> Partition:
        made = group_rows(method, points, constraints, method.options(), seed, progress)
        labels = repair(points, constraints, made.labels, progress)
        return Partition(labels, start=method.name, decisions=made.decisions, merged=merged_groups(made.labels, labels))

    if points.objective == "square-error":
        yield start(mdav.METHOD, constraints)
        return
    cut = start(top_down.METHOD, constraints)
    yield cut
    is_expensive = False
    if constraints.beyond_k:
        for_k = start(top_down.METHOD, constraints.k_alone())
        is_expensive = cost(cut.labels) > EXPENSIVE * cost(for_k.labels)
    if is_expensive or constraints.k <= MERGE_UP_TO_K:
        yield start(merge.METHOD, constraints)
    if is_expensive and constraints.compared_with_table:
        yield start(k_member.METHOD, constraints)


METHOD = Method(
    name="auto",
    summary="Run the methods that suit the job (top-down, merge, k-member, mdav), keep the best groups and improve them.",
    paper="kohort's own method",
    cost="linear in the number of rows, because it works block by block",
    good_for="almost every table; this is the default",
    options=AutoOptions,
    partition=partition,
    uses_workload=True,
    in_blocks=True,
    effort=1,
)
