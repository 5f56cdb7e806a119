"""GCCG: grade the records by how common their values are; centre after centre takes its nearest; generalize.

Ni, Xie, Qian, Clustering based k-anonymity algorithm for privacy preservation, paper 001.

Grade: a record's score is the sum of its values' frequencies, numbers too (the text's "ratio of the value to K" is unclear;
plain frequencies give its Table 5); sorted falling, equal ones in row order. Centre and cluster: the first record that is
left and its k-1 nearest form a cluster, ties earlier in the sorted list; once fewer than 2k are left, they are the last.
Clusters have k to 2k-1 rows.

Parallel, `parts` > 1, rounded up to a power of two c: while a part has more than ceil(n/c) records, its first record and the
floor(size/2)-1 nearest are one half, the others the other, unless a half would have fewer than k. Parts keep the order of
the whole list. Comparing only inside a part costs loss, and saves time even on one core.

Beyond k: a cluster takes further records, the nearest that bring it nearer to its promise.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from kohort.constraints.constraints import Constraints
from kohort.encoding.points import Points
from kohort.methods.method import Method, Options, Partition
from kohort.methods.search.grow_groups import group_for, pool_of
from kohort.progress import Progress, Task


class GCCGOptions(Options):
    """Options of `gccg`."""

    parts: int = Field(
        default=1,
        ge=1,
        le=4_096,
        description="parts that are clustered by themselves; rounded up to a power of two",
        examples=[3],
    )


def partition(points: Points, constraints: Constraints, options: GCCGOptions, seed: int, progress: Progress) -> Partition:
    """Grade, divide, cluster."""
    del seed  # nothing here is random
    parts = list(_divided(points, graded(points), options.parts, constraints.k)) if points.rows else []
    labels = [np.empty(0, np.int64)] * len(parts)

    def work(number: int) -> Task:
        def task() -> Iterable[Task]:
            labels[number] = _clustered(points.take(parts[number]), constraints.take(parts[number]), progress)
            return ()

        return task

    progress.run([work(number) for number in range(len(parts))])
    whole, clusters = np.empty(points.rows, np.int64), 0
    for part, inside in zip(parts, labels, strict=True):
        whole[part] = inside + clusters
        clusters += int(inside.max(initial=-1)) + 1
    return Partition(whole)


def graded(points: Points) -> NDArray[np.int64]:
    """The rows, those with the commonest values first."""
    score = np.zeros(points.rows, np.int64)  # as counts: the same order as shares, and exact
    for codes in points.codes.T:
        score += np.bincount(codes)[codes]
    return np.argsort(-score, kind="stable")


def _divided(points: Points, part: NDArray[np.int64], parts: int, k: int) -> Iterable[NDArray[np.int64]]:
    """The parts of a list of rows, each in its order."""
    from kohort.kernels.clusters.gccg import distances

    half = len(part) // 2
    if parts < 2 or len(part) <= -(-points.rows // _power_of_two(parts)) or half < k:
        yield part
        return
    pool = pool_of(points, part)
    distances(points.kernel_tables(), pool, np.int64(0))
    is_near = np.zeros(len(part), np.bool_)
    is_near[np.argsort(pool.costs, kind="stable")[:half]] = True
    for side in (part[is_near], part[~is_near]):
        yield from _divided(points, side, parts, k)


def _power_of_two(number: int) -> int:
    return 1 << (number - 1).bit_length()


def _clustered(points: Points, constraints: Constraints, progress: Progress) -> NDArray[np.int64]:
    from kohort.kernels.clusters.gccg import centre_and_cluster

    labels = np.empty(points.rows, np.int64)
    centre_and_cluster(
        points.kernel_tables(), constraints.rules, pool_of(points), group_for(constraints),
        constraints.sensitive_values, constraints.beyond_k,
        np.empty(constraints.k, np.int64), labels, progress.slot(),
    )  # fmt: skip
    return labels


METHOD = Method(
    name="gccg",
    summary="the record with the commonest values takes its nearest, then the next",
    paper="Ni, Xie, Qian 2017 (paper 001)",
    cost="n^2 / k x axes within a block, divided by the parts",
    good_for="small k, quick; nothing random",
    options=GCCGOptions,
    partition=partition,
    in_blocks=True,
    asks_while_grouping=True,
)
