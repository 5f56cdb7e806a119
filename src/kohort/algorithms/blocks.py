"""A method over a whole table: as it is, or, if it compares rows with rows, inside blocks made by Mondrian's cuts.

A table of up to twice the size asked for is one block; a larger one is cut into blocks of at most that size, each of which
may stand. Blocks are numbered left to right and have their own random numbers, so the release does not depend on threads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
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
    if not method.in_blocks or not block or points.rows <= 2 * block:
        return progress.aside(lambda: _as_one(method, points, checks, options, seed, progress, rounds))
    blocks = rows_of_blocks(cut_table(points, checks, progress, largest=block))
    parts = [Partition(np.empty(0, np.int64))] * len(blocks)
    started = np.empty(points.rows, np.int64)

    def work(number: int) -> Task:
        def task() -> Iterable[Task]:
            rows, own = blocks[number], own_seed(seed, number)
            inside, bound = points.take(rows), checks.take(rows)
            try:
                made = made_by(method, inside, bound, options, own, progress)
            except PromiseError as error:
                raise PromiseError(f"In block {number + 1} of {len(blocks)} (--block, 0 = none): {error}") from None
            started[rows], after = _finished(method, made, inside, bound, options, own, progress, rounds, block=True)
            parts[number] = replace(made, labels=after)
            return ()

        return task

    progress.run([work(number) for number in range(len(blocks))])
    whole = _joined(blocks, [part.labels for part in parts])
    told = (*_chosen(parts), *_fell(points, _joined(blocks, [started[rows] for rows in blocks]), whole, rounds))
    return Partition(finishing.stand_alone(points, checks, whole, progress), blocks=len(blocks), told=told)


def _as_one(
    method: Method, points: Points, checks: Checks, options: Any, seed: int, progress: Progress, rounds: int
) -> Partition:
    made = made_by(method, points, checks, options, seed, progress)
    if made.boxes is not None:
        return made
    before, after = _finished(method, made, points, checks, options, seed, progress, rounds, block=False)
    told = (*_chosen([made]), *_fell(points, before, after, rounds))
    return Partition(finishing.stand_alone(points, checks, after, progress), told=told)


def _finished(
    method: Method,
    made: Partition,
    points: Points,
    checks: Checks,
    options: Any,
    seed: int,
    progress: Progress,
    rounds: int,
    *,
    block: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The method's groups as they may stand, and after improvement."""
    if not rounds:
        labels = finishing.finish(points, checks, made.labels, progress, block=block)
        return labels, labels
    all_stay = replace(checks, suppress=0) if checks.standing(made.labels).all() else checks
    before = finishing.finish(points, all_stay, made.labels, progress, block=block)
    after = improve(points, all_stay, before, rounds, seed, progress)
    if checks.budget:
        fewer = _without_outliers(method, points, checks, options, seed, progress, rounds)
        searched, tables = points.searched(), points.searched().costs()
        if total_cost(searched, fewer, tables) < total_cost(searched, after, tables):
            return before, fewer
    return before, after


def _without_outliers(
    method: Method, points: Points, checks: Checks, options: Any, seed: int, progress: Progress, rounds: int
) -> NDArray[np.int64]:
    """The method over the rows that are left when outliers are: found in groups twice as large, which can spare some."""
    twice = replace(checks, promise=checks.promise.model_copy(update={"k": 2 * checks.k}), suppress=0)
    large = np.zeros(points.rows, np.int64)
    if twice.standing(large).all():
        made = made_by(method, points, twice, options, seed, progress)
        large = finishing.finish(points, twice, made.labels, progress, block=True)
    labels = finishing.suppress_records(points, checks, large, checks.budget, progress)
    kept = np.flatnonzero(labels >= 0)
    inside, bound = points.take(kept), replace(checks.take(kept), suppress=0)
    if bound.standing(np.zeros(len(kept), np.int64)).all():
        made = made_by(method, inside, bound, options, seed, progress)
        before = finishing.finish(inside, bound, made.labels, progress, block=True)
        labels[kept] = improve(inside, bound, before, rounds, seed, progress)
    return labels


def made_by(method: Method, points: Points, checks: Checks, options: Any, seed: int, progress: Progress) -> Partition:
    """What a method makes of a block. A promise that its groups keep anyway changes nothing."""
    if method.asks_while_grouping and checks.beyond_k:
        with suppress(PromiseError):
            plain = method.partition(points, checks.k_alone(), options, seed, progress)
            if checks.standing(plain.labels).all():
                return plain
    return method.partition(points, checks, options, seed, progress)


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
    why = f"lost least of {', '.join(tried)}" if len(tried) > 1 else "suits what is asked"
    return [f"Started with {', '.join(where)}, which {why}."]


def _fell(points: Points, before: NDArray[np.int64], after: NDArray[np.int64], rounds: int) -> list[str]:
    """By how much improvement lowered what it was asked to lower."""
    if not rounds or points.objective == "square-error":
        return [f"Improved the square error by effort {rounds}."] if rounds else []
    searched = points.searched()
    tables = searched.costs()
    whole = max(int(tables.full.sum()) * points.rows, 1)
    first, last = (total_cost(searched, labels, tables) / whole for labels in (before, after))
    how = f"fell from {first:.4f} to {last:.4f}" if last < first else f"stays {first:.4f}: nothing better was found"
    return [f"Improved by effort {rounds}: {points.objective} loss in the search {how}."]
