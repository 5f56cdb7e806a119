"""A method over a whole table: as it is, or, if it compares rows with rows, inside blocks made by Mondrian's cuts.

A table of up to twice the size asked for is one block; a larger one is cut into blocks of at most that size, each of which
may stand. Blocks are numbered left to right and have their own random numbers, so the release does not depend on threads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kohort import finishing
from kohort.algorithms.base import Method, Partition
from kohort.axes import Points
from kohort.checks import Checks
from kohort.cutting import cut_table
from kohort.encoding import own_seed
from kohort.errors import PromiseError
from kohort.groups import total_cost
from kohort.improving import improve
from kohort.progress import Progress, Task


def partition_table(
    method: Method, points: Points, checks: Checks, options: Any, seed: int, block: int, progress: Progress, rounds: int = 0
) -> Partition:
    """What a method makes of a table, finished and improved: every group keeps the promise, no more is left out than allowed."""
    run = _Run(method, options, rounds, progress)
    if not method.in_blocks or not block or points.rows <= 2 * block:
        return progress.aside(lambda: run.as_one(points, checks, seed))
    return run.in_blocks(points, checks, seed, block)


def made_by(method: Method, points: Points, checks: Checks, options: Any, seed: int, progress: Progress) -> Partition:
    """What a method makes of a block. A promise that its groups keep anyway changes nothing."""
    if method.asks_while_grouping and checks.beyond_k:
        with suppress(PromiseError):
            plain = method.partition(points, checks.k_alone(), options, seed, progress)
            if checks.standing(plain.labels).all():
                return plain
    return method.partition(points, checks, options, seed, progress)


@dataclass(frozen=True)
class _Run:
    """One method at work."""

    method: Method
    options: Any
    rounds: int
    progress: Progress

    def as_one(self, points: Points, checks: Checks, seed: int) -> Partition:
        """The whole table at once."""
        made = self._made(points, checks, seed)
        if made.boxes is not None:
            return made
        before, after = self._finished(made, points, checks, seed, block=False)
        told = (*self._ignored(points), *_chosen([made]), *_fell(points, before, after, checks, self.rounds))
        return Partition(finishing.stand_alone(points, checks, after, self.progress), told=told)

    def in_blocks(self, points: Points, checks: Checks, seed: int, largest: int) -> Partition:
        """Block by block, each by itself."""
        blocks = rows_of_blocks(cut_table(points, checks, self.progress, largest=largest))
        parts = [Partition(np.empty(0, np.int64))] * len(blocks)
        started = [np.empty(0, np.int64)] * len(blocks)

        def work(number: int) -> Task:
            def task() -> Iterable[Task]:
                own = own_seed(seed, number)
                inside, bound = points.take(blocks[number]), checks.take(blocks[number])
                try:
                    made = self._made(inside, bound, own)
                except PromiseError as error:
                    raise PromiseError(f"In block {number + 1} of {len(blocks)} (--block, 0 = none): {error}") from None
                started[number], after = self._finished(made, inside, bound, own, block=True)
                parts[number] = replace(made, labels=after)
                return ()

            return task

        self.progress.run([work(number) for number in range(len(blocks))])
        before, after = _joined(blocks, started), _joined(blocks, [part.labels for part in parts])
        told = (*self._ignored(points), *_chosen(parts), *_fell(points, before, after, checks, self.rounds))
        return Partition(finishing.stand_alone(points, checks, after, self.progress), blocks=len(blocks), told=told)

    def _ignored(self, points: Points) -> list[str]:
        """That an objective or a workload was named which nothing went by."""
        named = []
        if not (self.rounds or self.method.effort or points.objective == "leaf"):
            named.append(f"the objective {points.objective}")
        if not (self.rounds or self.method.goes_by_workload or points.wanted is None):
            named.append("the workload")
        instead = "; improvement would (--effort 1)" if not self.method.recodes_globally else ""
        return [f"{self.method.name} goes by its paper, not by {' and '.join(named)}{instead}."] if named else []

    def _made(self, points: Points, checks: Checks, seed: int) -> Partition:
        return made_by(self.method, points, checks, self.options, seed, self.progress)

    def _finished(
        self, made: Partition, points: Points, checks: Checks, seed: int, *, block: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The method's groups as they may stand, and after improvement."""
        if not self.rounds:
            labels = finishing.finish(points, checks, made.labels, self.progress, block=block)
            return labels, labels
        all_stay = replace(checks, suppress=0) if checks.standing(made.labels).all() else checks
        before = finishing.finish(points, all_stay, made.labels, self.progress, block=block)
        after = improve(points, all_stay, before, self.rounds, seed, self.progress)
        if checks.budget:
            fewer = self._without_outliers(points, checks, seed)
            searched, tables = points.searched(), points.searched().costs()
            if total_cost(searched, fewer, tables) < total_cost(searched, after, tables):
                return before, fewer
        return before, after

    def _without_outliers(self, points: Points, checks: Checks, seed: int) -> NDArray[np.int64]:
        """The method over the rows that are left when outliers are: found in groups twice as large, which can spare some."""
        twice = replace(checks, promise=checks.promise.model_copy(update={"k": 2 * checks.k}), suppress=0)
        large = np.zeros(points.rows, np.int64)
        if twice.standing(large).all():
            large = finishing.finish(points, twice, self._made(points, twice, seed).labels, self.progress, block=True)
        labels = finishing.suppress_records(points, checks, large, checks.budget, self.progress)
        kept = np.flatnonzero(labels >= 0)
        inside, bound = points.take(kept), replace(checks.take(kept), suppress=0)
        if bound.standing(np.zeros(len(kept), np.int64)).all():
            before = finishing.finish(inside, bound, self._made(inside, bound, seed).labels, self.progress, block=True)
            labels[kept] = improve(inside, bound, before, self.rounds, seed, self.progress)
        return labels


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


def _chosen(parts: Sequence[Partition]) -> list[str]:
    """Which starts were taken, if there was a choice."""
    taken = Counter(part.start for part in parts if part.start)
    tried = sorted({name for part in parts for name in part.starts})
    if not taken:
        return []
    where = [f"{name} in {many:,} of {len(parts):,} blocks" if len(parts) > 1 else name for name, many in taken.most_common()]
    why = f"which lost least of {', '.join(tried)}" if len(tried) > 1 else "which suits what is asked"
    return [f"Started with {', '.join(where)}, {why}."]


def _fell(points: Points, before: NDArray[np.int64], after: NDArray[np.int64], checks: Checks, rounds: int) -> list[str]:
    """By how much improvement lowered what it was asked to lower; that nobody was left out, although some might."""
    if not rounds:
        return []
    stay = ["Nobody was left out: that would have lost more."] if checks.budget and not (after < 0).any() else []
    if points.objective == "square-error":
        return [f"Improved the square error by effort {rounds}.", *stay]
    searched = points.searched()
    tables = searched.costs()
    whole = max(int(tables.full.sum()) * points.rows, 1)
    first, last = (total_cost(searched, labels, tables) / whole for labels in (before, after))
    how = f"fell from {first:.4f} to {last:.4f}" if last < first else f"stays {first:.4f}: nothing better was found"
    counted = "weighted " if len(set(searched.weights)) > 1 else ""
    return [f"Improved by effort {rounds}: {counted}{points.objective} loss in the search {how}.", *stay]
