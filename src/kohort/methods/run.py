"""Run a method on a whole table, or block by block if the method compares rows with rows.

Mondrian's cuts make the blocks. A table of up to twice the block size is one block. A larger table is cut into blocks of at most
the block size, and each block satisfies the constraints as one group. The random numbers of a block depend only on the seed and
on the block itself, so the release depends neither on the number of threads nor on the other blocks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.constraints.constraints import Constraints
from kohort.encoding.groups import merged_groups, total_cost
from kohort.encoding.points import Points
from kohort.encoding.row_order import block_number, own_seed
from kohort.errors import PromiseError
from kohort.methods.method import Method, Partition
from kohort.methods.search import finish as finishing
from kohort.methods.search.decisions import Cuts, Decisions, Improvement, SweepCount
from kohort.methods.search.improve import improve
from kohort.methods.search.median_cuts import recorded_cuts
from kohort.progress import Progress, Task


def partition_table(
    method: Method,
    points: Points,
    constraints: Constraints,
    options: Any,
    seed: int,
    block: int,
    progress: Progress,
    rounds: int = 0,
) -> Partition:
    """Group a table with a method, then repair, suppress and improve.

    Every group of the result is valid, and no more rows are suppressed than allowed.
    """
    run = Run(method, options, seed, block, rounds, progress)
    return (
        progress.aside(lambda: run.as_one(points, constraints))
        if run.is_one_block(points.rows)
        else run.in_blocks(points, constraints)
    )


def group_rows(
    method: Method, points: Points, constraints: Constraints, options: Any, seed: int, progress: Progress
) -> Partition:
    """Group the rows of one block with a method.

    If the groups for k alone keep the other promises too, the result is these groups.
    """
    if method.uses_promises and constraints.beyond_k:
        with suppress(PromiseError):
            for_k = method.partition(points, constraints.k_alone(), options, seed, progress)
            if constraints.valid_groups(for_k.labels).all():
                return for_k
    return method.partition(points, constraints, options, seed, progress)


@dataclass(frozen=True)
class RunSummary:
    """Counts and costs of the run in some blocks. The summaries of different parts of a table can be added."""

    rows: int = 0
    blocks: int = 0
    suppressed: int = 0
    taken: Mapping[str, int] = field(default_factory=dict)
    """For each method that `auto` chose: the number of blocks. Empty for all other methods."""
    tried: frozenset[str] = frozenset()
    """Methods that `auto` tried in at least one block."""
    costs: tuple[int, int] = (0, 0)
    """Cost by the objective, before and after improvement."""
    groups: tuple[int, int] = (0, 0)
    """Number of groups, before and after improvement."""
    sweeps: int = 0
    """Number of sweeps that improvement ran."""
    merged: int = 0
    """Number of groups that were merged with others because they were not valid."""

    def __add__(self, other: RunSummary) -> RunSummary:
        taken = dict(Counter(self.taken) + Counter(other.taken))
        costs = self.costs[0] + other.costs[0], self.costs[1] + other.costs[1]
        counts = self.rows + other.rows, self.blocks + other.blocks, self.suppressed + other.suppressed
        groups = self.groups[0] + other.groups[0], self.groups[1] + other.groups[1]
        sweeps, merged = self.sweeps + other.sweeps, self.merged + other.merged
        return RunSummary(*counts, taken, self.tried | other.tried, costs, groups, sweeps, merged)


class _Finished(NamedTuple):
    """A method's groups after repair, suppression and improvement."""

    before: NDArray[np.int64]
    """Valid groups, before improvement."""
    after: NDArray[np.int64]
    decisions: Decisions | None
    """The cuts of the method that made the groups."""
    merged: int
    sweeps: int = 0


@dataclass(frozen=True)
class Run:
    """One method with its settings, ready to run on a table or on parts of a table."""

    method: Method
    options: Any
    seed: int
    block: int
    rounds: int
    progress: Progress

    def is_one_block(self, rows: int) -> bool:
        """Return whether a table of this many rows is processed as one block."""
        return not self.method.in_blocks or not self.block or rows <= 2 * self.block

    def as_one(self, points: Points, constraints: Constraints) -> Partition:
        """Process the whole table as one block."""
        made = self._group(points, constraints, self.seed)
        if made.boxes is not None:
            return made
        finished = self._finished(made, points, constraints, self.seed, block=False)
        return self._partition(points, constraints, finished.after, self._summary(points, made, finished), finished.decisions)

    def in_blocks(self, points: Points, constraints: Constraints) -> Partition:
        """Process each block separately."""
        cuts, summary = self._block_by_block(points, constraints)
        whole = self._partition(points, constraints, cuts.labels, summary, cuts.decisions)
        return replace(whole, blocks=summary.blocks)

    def _partition(
        self,
        points: Points,
        constraints: Constraints,
        groups: NDArray[np.int64],
        summary: RunSummary,
        decisions: Decisions | None,
    ) -> Partition:
        """Return the groups, repaired so that they are valid in the whole release, with the notes and decisions."""
        labels = finishing.repair_without_suppressed(points, constraints, groups, self.progress)
        improvement = None
        if self.rounds:
            whole = _cost_of_all(points, summary.rows)
            improvement = Improvement(summary.sweeps, summary.groups, (summary.costs[0] / whole, summary.costs[1] / whole))
        return Partition(
            labels,
            notes=self.notes(points, constraints, summary),
            decisions=decisions,
            improvement=improvement,
            merged=summary.merged + merged_groups(groups, labels),
        )

    def of_part(self, points: Points, constraints: Constraints) -> tuple[NDArray[np.int64], RunSummary]:
        """Process one part of a table, in blocks. The result does not depend on the other parts."""
        if not self.method.in_blocks:
            made = self._group(points, constraints, self.seed)
            return made.labels, RunSummary(points.rows, 1)
        cuts, summary = self._block_by_block(points, constraints)
        return cuts.labels, summary

    def _block_by_block(self, points: Points, constraints: Constraints) -> tuple[Cuts, RunSummary]:
        cuts = recorded_cuts(points, constraints, self.progress, largest=self.block, record=points.record_decisions)
        blocks = rows_of_blocks(cuts.labels)
        labels = [np.empty(0, np.int64)] * len(blocks)
        summaries = [RunSummary()] * len(blocks)
        inside_blocks: list[Decisions | None] = [None] * len(blocks)

        def work(number: int) -> Task:
            def task() -> Iterable[Task]:
                inside, bound = points.take(blocks[number]), constraints.take(blocks[number])
                own = own_seed(self.seed, block_number(inside))
                try:
                    made = self._group(inside, bound, own)
                except PromiseError as error:
                    raise PromiseError(
                        f"In a block of {inside.rows:,} rows: {error} To process the table without blocks, set block (--block 0)."
                    ) from None
                finished = self._finished(made, inside, bound, own, block=True)
                labels[number], summaries[number] = finished.after, self._summary(inside, made, finished)
                if finished.decisions is not None:
                    inside_blocks[number] = finished.decisions.of_rows(blocks[number])
                return ()

            return task

        self.progress.run([work(number) for number in range(len(blocks))])
        decisions = None if cuts.decisions is None else cuts.decisions.grown(cuts.labels, inside_blocks)
        return Cuts(_joined(blocks, labels), decisions), sum(summaries, RunSummary())

    def notes(self, points: Points, constraints: Constraints, summary: RunSummary) -> tuple[str, ...]:
        """Return sentences for the user: what was done and why."""
        return (
            *self._ignored_settings(points),
            *_method_notes(points, constraints, summary),
            *_improvement_notes(points, constraints, summary, self.rounds),
        )

    def _summary(self, points: Points, made: Partition, finished: _Finished) -> RunSummary:
        before, after = finished.before, finished.after
        taken, suppressed = {made.start: 1} if made.start else {}, int(np.count_nonzero(after < 0))
        costs, groups = (0, 0), (0, 0)
        if self.rounds:
            groups = int(before.max(initial=-1)) + 1, int(after.max(initial=-1)) + 1
            searched = points.searched()
            tables = searched.costs()
            first = total_cost(searched, before, tables)
            costs = first, first if after is before else total_cost(searched, after, tables)
        tried = frozenset(made.starts)
        return RunSummary(points.rows, 1, suppressed, taken, tried, costs, groups, finished.sweeps, finished.merged)

    def _ignored_settings(self, points: Points) -> list[str]:
        """Return a note if the job has an objective or a workload that neither the method nor improvement uses."""
        ignored = []
        if not (self.rounds or self.method.effort or points.objective == "leaf"):
            ignored.append(f"the objective {points.objective}")
        if not (self.rounds or self.method.uses_workload or points.wanted is None):
            ignored.append("the workload")
        if not ignored:
            return []
        settings = " and ".join(ignored)
        if self.method.recodes_globally:
            return [f"Method {self.method.name} does not use {settings}."]
        return [f"Method {self.method.name} does not use {settings}. Improvement does: set effort (--effort 1)."]

    def _group(self, points: Points, constraints: Constraints, seed: int) -> Partition:
        return group_rows(self.method, points, constraints, self.options, seed, self.progress)

    def _finished(self, made: Partition, points: Points, constraints: Constraints, seed: int, *, block: bool) -> _Finished:
        """Repair, suppress and improve the groups of the method."""
        if not self.rounds:
            labels = finishing.finish(points, constraints, made.labels, self.progress, block=block)
            return _Finished(labels, labels, made.decisions, made.merged + merged_groups(made.labels, labels))
        all_stay = replace(constraints, suppress=0) if constraints.valid_groups(made.labels).all() else constraints
        before = finishing.finish(points, all_stay, made.labels, self.progress, block=block)
        count = SweepCount()
        after = improve(points, all_stay, before, self.rounds, seed, self.progress, count)
        if constraints.budget:
            fewer = self._without_outliers(points, constraints, seed)
            searched, tables = points.searched(), points.searched().costs()
            if total_cost(searched, fewer.after, tables) < total_cost(searched, after, tables):
                return fewer._replace(before=before)
        return _Finished(before, after, made.decisions, made.merged + merged_groups(made.labels, before), count.ran)

    def _without_outliers(self, points: Points, constraints: Constraints, seed: int) -> _Finished:
        """Suppress outliers first, then run the method on the remaining rows.

        Outliers are the rows that cost most in groups of at least 2k rows. Such groups stay valid without some of their rows.
        """
        twice = replace(constraints, promise=constraints.promise.model_copy(update={"k": 2 * constraints.k}), suppress=0)
        large = np.zeros(points.rows, np.int64)
        if twice.valid_groups(large).all():
            large = finishing.finish(points, twice, self._group(points, twice, seed).labels, self.progress, block=True)
        labels = finishing.suppress_records(points, constraints, large, constraints.budget, self.progress)
        kept = np.flatnonzero(labels >= 0)
        inside, bound = points.take(kept), replace(constraints.take(kept), suppress=0)
        if not bound.valid_groups(np.zeros(len(kept), np.int64)).all():
            return _Finished(labels, labels, None, 0)
        made, count = self._group(inside, bound, seed), SweepCount()
        before = finishing.finish(inside, bound, made.labels, self.progress, block=True)
        labels[kept] = improve(inside, bound, before, self.rounds, seed, self.progress, count)
        decisions = None if made.decisions is None else made.decisions.of_rows(kept)
        return _Finished(labels, labels, decisions, made.merged + merged_groups(made.labels, before), count.ran)


def rows_of_blocks(labels: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the row numbers of each block, ascending."""
    return np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])


def _joined(blocks: Sequence[NDArray[np.int64]], labels: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the labels of all blocks as labels of the table. The groups of all blocks get one common numbering."""
    whole, groups = np.empty(sum(map(len, blocks)), np.int64), 0
    for rows, inside in zip(blocks, labels, strict=True):
        whole[rows] = np.where(inside < 0, -1, inside + groups)
        groups += int(inside.max(initial=-1)) + 1
    return whole


def _method_notes(points: Points, constraints: Constraints, summary: RunSummary) -> list[str]:
    """Return which methods `auto` chose and why; nothing for all other methods."""
    if not summary.taken:
        return []
    most_first = sorted(summary.taken.items(), key=lambda start: (-start[1], start[0]))
    methods = ", ".join(f"{name}{_in_blocks(many, summary.blocks)}" for name, many in most_first)
    if len(summary.tried) == 1:
        return [f"Method: {methods}, chosen by `auto` because {_only_candidate(points, constraints)}."]
    compared = f"Compared: {', '.join(sorted(summary.tried))}."
    why = "it loses least" if len(summary.taken) == 1 else "each loses least in its blocks"
    return [f"Method: {methods}, chosen by `auto` because {why}. {compared}"]


def _in_blocks(many: int, blocks: int) -> str:
    if blocks == 1:
        return ""
    return f" in all {blocks:,} blocks" if many == blocks else f" in {many:,} of {blocks:,} blocks"


def _only_candidate(points: Points, constraints: Constraints) -> str:
    """Return why `auto` tried no other method. The conditions are those of `kohort.methods.auto`."""
    if points.objective == "square-error":
        return "the objective is square-error"
    if not constraints.beyond_k:
        return f"k is {constraints.k:,} and no other promise was made"
    what = "the other promises raise" if constraints.sensitive else "counting people instead of rows raises"
    return f"k is {constraints.k:,} and {what} the loss by at most 25 %"


def _improvement_notes(points: Points, constraints: Constraints, summary: RunSummary, rounds: int) -> list[str]:
    """Return by how much improvement lowered the loss, and that no row was suppressed although some rows could be."""
    if not rounds:
        return []
    nothing_suppressed = constraints.budget and not summary.suppressed
    suppression = ["No row was suppressed, because suppression would raise the loss."] if nothing_suppressed else []
    run = "1 round" if rounds == 1 else f"{rounds:,} rounds"
    if points.objective == "square-error":
        return [f"Improvement ran {run} to lower the square error.", *suppression]
    before, after = (cost / _cost_of_all(points, summary.rows) for cost in summary.costs)
    loss = "detail lost" if points.objective == "leaf" else f"{points.objective} loss"
    loss = f"weighted {loss}" if len(set(points.searched().weights)) > 1 else loss
    loss = f"{loss} (with the cost of the workload)" if points.wanted is not None else loss
    first, last = _per_cent(before, after)
    if after < before:
        return [f"Improvement lowered the {loss} from {first} to {last} in {run}.", *suppression]
    return [f"Improvement found nothing better in {run}. The {loss} stays at {first}.", *suppression]


def _per_cent(before: float, after: float) -> tuple[str, str]:
    """Return two shares in per cent, with as many decimals as they need to differ, from one to four.

    >>> _per_cent(0.14161, 0.1214), _per_cent(0.14161, 0.14152), _per_cent(0.1416, 0.1416)
    (('14.2 %', '12.1 %'), ('14.16 %', '14.15 %'), ('14.2 %', '14.2 %'))
    """
    for decimals in range(1, 5) if before != after else (1,):
        first, last = f"{100 * before:.{decimals}f} %", f"{100 * after:.{decimals}f} %"
        if first != last:
            break
    return first, last


def _cost_of_all(points: Points, rows: int) -> int:
    """Return the cost of this many rows if all their values are lost, in the units of the search."""
    return max(int(points.searched().costs().full.sum()) * rows, 1)
