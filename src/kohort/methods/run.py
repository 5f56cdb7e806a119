"""A method over a whole table: as it is, or, if it compares rows with rows, inside blocks made by Mondrian's cuts.

A table of up to twice the size asked for is one block; a larger one is cut into blocks of at most that size, each of which
may stand. A block's random numbers are its own, so the release depends neither on threads nor on where other blocks lie.
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
    """What a method makes of a table, finished and improved: every group keeps the promise, no more is left out than allowed."""
    run = Run(method, options, seed, block, rounds, progress)
    return (
        progress.aside(lambda: run.as_one(points, constraints))
        if run.is_one_block(points.rows)
        else run.in_blocks(points, constraints)
    )


def made_by(method: Method, points: Points, constraints: Constraints, options: Any, seed: int, progress: Progress) -> Partition:
    """What a method makes of a block. A promise that its groups keep anyway changes nothing."""
    if method.asks_while_grouping and constraints.beyond_k:
        with suppress(PromiseError):
            plain = method.partition(points, constraints.k_alone(), options, seed, progress)
            if constraints.valid_groups(plain.labels).all():
                return plain
    return method.partition(points, constraints, options, seed, progress)


@dataclass(frozen=True)
class RunSummary:
    """What happened in some blocks; summaries of different parts of a table add up."""

    rows: int = 0
    blocks: int = 0
    suppressed: int = 0
    taken: Mapping[str, int] = field(default_factory=dict)
    """In how many blocks each start was taken, if there was a choice."""
    tried: frozenset[str] = frozenset()
    costs: tuple[int, int] = (0, 0)
    """Before and after improvement."""
    groups: tuple[int, int] = (0, 0)
    """Before and after improvement."""
    sweeps: int = 0
    """Of improvement."""
    merged: int = 0
    """Groups that were merged with others because they were not valid."""

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
    """The cuts of the method that led to them."""
    merged: int
    sweeps: int = 0


@dataclass(frozen=True)
class Run:
    """One method at work."""

    method: Method
    options: Any
    seed: int
    block: int
    rounds: int
    progress: Progress

    def is_one_block(self, rows: int) -> bool:
        """Whether a table of so many rows is worked on at once."""
        return not self.method.in_blocks or not self.block or rows <= 2 * self.block

    def as_one(self, points: Points, constraints: Constraints) -> Partition:
        """The whole table at once."""
        made = self._made(points, constraints, self.seed)
        if made.boxes is not None:
            return made
        finished = self._finished(made, points, constraints, self.seed, block=False)
        return self._partition(points, constraints, finished.after, self._summary(points, made, finished), finished.decisions)

    def in_blocks(self, points: Points, constraints: Constraints) -> Partition:
        """Block by block, each by itself."""
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
        """The groups as they are valid in the whole release, with what led to them."""
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
        """A part of a table that cuts have made, in blocks: it comes out the same whatever the other parts are."""
        if not self.method.in_blocks:
            made = self._made(points, constraints, self.seed)
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
                    made = self._made(inside, bound, own)
                except PromiseError as error:
                    raise PromiseError(f"In a block of {inside.rows:,} rows (--block, 0 = none): {error}") from None
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
        """What was done and why, in sentences."""
        return *self._ignored(points), *_chosen(summary), *_fell(points, constraints, summary, self.rounds)

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

    def _ignored(self, points: Points) -> list[str]:
        """That an objective or a workload was named which nothing went by."""
        named = []
        if not (self.rounds or self.method.effort or points.objective == "leaf"):
            named.append(f"the objective {points.objective}")
        if not (self.rounds or self.method.goes_by_workload or points.wanted is None):
            named.append("the workload")
        instead = "; improvement would (--effort 1)" if not self.method.recodes_globally else ""
        return [f"{self.method.name} goes by its paper, not by {' and '.join(named)}{instead}."] if named else []

    def _made(self, points: Points, constraints: Constraints, seed: int) -> Partition:
        return made_by(self.method, points, constraints, self.options, seed, self.progress)

    def _finished(self, made: Partition, points: Points, constraints: Constraints, seed: int, *, block: bool) -> _Finished:
        """The method's groups as they are valid, and after improvement."""
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
        """The method over the rows that are left when outliers are: found in groups twice as large, which can spare some."""
        twice = replace(constraints, promise=constraints.promise.model_copy(update={"k": 2 * constraints.k}), suppress=0)
        large = np.zeros(points.rows, np.int64)
        if twice.valid_groups(large).all():
            large = finishing.finish(points, twice, self._made(points, twice, seed).labels, self.progress, block=True)
        labels = finishing.suppress_records(points, constraints, large, constraints.budget, self.progress)
        kept = np.flatnonzero(labels >= 0)
        inside, bound = points.take(kept), replace(constraints.take(kept), suppress=0)
        if not bound.valid_groups(np.zeros(len(kept), np.int64)).all():
            return _Finished(labels, labels, None, 0)
        made, count = self._made(inside, bound, seed), SweepCount()
        before = finishing.finish(inside, bound, made.labels, self.progress, block=True)
        labels[kept] = improve(inside, bound, before, self.rounds, seed, self.progress, count)
        decisions = None if made.decisions is None else made.decisions.of_rows(kept)
        return _Finished(labels, labels, decisions, made.merged + merged_groups(made.labels, before), count.ran)


def rows_of_blocks(labels: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The rows of each block, in the order of the table."""
    return np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])


def _joined(blocks: Sequence[NDArray[np.int64]], labels: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The groups of all blocks, numbered through."""
    whole, groups = np.empty(sum(map(len, blocks)), np.int64), 0
    for rows, inside in zip(blocks, labels, strict=True):
        whole[rows] = np.where(inside < 0, -1, inside + groups)
        groups += int(inside.max(initial=-1)) + 1
    return whole


def _chosen(summary: RunSummary) -> list[str]:
    """Which starts were taken, if there was a choice."""
    if not summary.taken:
        return []
    often = sorted(summary.taken.items(), key=lambda start: (-start[1], start[0]))
    where = [f"{name} in {many:,} of {summary.blocks:,} blocks" if summary.blocks > 1 else name for name, many in often]
    tried = sorted(summary.tried)
    why = f"which lost least of {', '.join(tried)}" if len(tried) > 1 else "which suits what is asked"
    return [f"Started with {', '.join(where)}, {why}."]


def _fell(points: Points, constraints: Constraints, summary: RunSummary, rounds: int) -> list[str]:
    """By how much improvement lowered what it was asked to lower; that nobody was left out, although some might."""
    if not rounds:
        return []
    stay = ["Nobody was left out: that would have lost more."] if constraints.budget and not summary.suppressed else []
    if points.objective == "square-error":
        return [f"Improved the square error by effort {rounds}.", *stay]
    first, last = (cost / _cost_of_all(points, summary.rows) for cost in summary.costs)
    how = f"fell from {first:.4f} to {last:.4f}" if last < first else f"stays {first:.4f}: nothing better was found"
    counted = "weighted " if len(set(points.searched().weights)) > 1 else ""
    return [f"Improved by effort {rounds}: {counted}{points.objective} loss in the search {how}.", *stay]


def _cost_of_all(points: Points, rows: int) -> int:
    """What so many rows cost if nothing of them is published, in the units of the search."""
    return max(int(points.searched().costs().full.sum()) * rows, 1)
