"""A method over a whole table: as it is, or, if it compares rows with rows, inside blocks made by Mondrian's cuts.

A table of up to twice the size asked for is one block; a larger one is cut into blocks of at most that size, each of which
may stand. Blocks are numbered left to right and have their own random numbers, so the release does not depend on threads.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kohort import finishing
from kohort.algorithms.base import Method, Partition
from kohort.axes import Points
from kohort.checks import Checks
from kohort.cutting import cut_table
from kohort.encoding import splitmix64
from kohort.errors import PromiseError
from kohort.progress import Progress, Task


def partition_table(
    method: Method, points: Points, checks: Checks, options: Any, seed: int, block: int, progress: Progress
) -> Partition:
    """What a method makes of a table, finished: every group keeps the promise, no more is left out than allowed."""
    if not method.in_blocks or not block or points.rows <= 2 * block:
        made = _partition(method, points, checks, options, seed, progress)
        return made if made.boxes is not None else Partition(finishing.finish(points, checks, made.labels, progress))
    blocks = rows_of_blocks(cut_table(points, checks, progress, largest=block))
    labels = [np.empty(0, np.int64)] * len(blocks)

    def work(number: int) -> Task:
        def task() -> Iterable[Task]:
            inside, bound = points.take(blocks[number]), checks.take(blocks[number])
            try:
                made = _partition(method, inside, bound, options, seed_of(seed, number), progress)
            except PromiseError as error:
                raise PromiseError(f"In block {number + 1} of {len(blocks)} (--block, 0 = none): {error}") from None
            labels[number] = finishing.finish(inside, bound, made.labels, progress, block=True)
            return ()

        return task

    progress.run([work(number) for number in range(len(blocks))])
    whole, groups = np.empty(points.rows, np.int64), 0
    for rows, inside in zip(blocks, labels, strict=True):
        whole[rows] = np.where(inside < 0, -1, inside + groups)
        groups += int(inside.max(initial=-1)) + 1
    return Partition(finishing.stand_alone(points, checks, whole, progress), blocks=len(blocks))


def _partition(method: Method, points: Points, checks: Checks, options: Any, seed: int, progress: Progress) -> Partition:
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


def seed_of(seed: int, block: int) -> int:
    """A block's own seed."""
    mixed = splitmix64(splitmix64(np.array([seed], np.uint64)) ^ np.uint64(block))
    return int(mixed[0] >> np.uint64(1))  # seeds are 63 bits
