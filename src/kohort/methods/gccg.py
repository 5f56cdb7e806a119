"""GCCG: grade rows by how common their values are, cluster each centre with its nearest rows, generalise.

Ni, Xie, Qian, Clustering based k-anonymity algorithm for privacy preservation, 2017.

Grade: the score of a row is the sum of the frequencies of its values, for numbers too. (The paper's "ratio of the value to K" is
unclear; plain frequencies give its Table 5.) Rows are sorted by falling score; equal scores keep the order of the rows.
Centre and cluster: the first free row and its k-1 nearest free rows form a cluster; ties go to the row earlier in the sorted
list. When fewer than 2k rows are free, they form the last cluster. Clusters have k to 2k-1 rows.

Parallel, with `parts` > 1: `parts` is rounded up to a power of two c. While a part has more than ceil(n/c) rows, it is halved:
its first row and the floor(size/2)-1 nearest rows are one half, the other rows are the other half. A part is not halved if a
half would have fewer than k rows. Parts keep the order of the sorted list. Comparing rows only within a part raises the loss and
saves time even on one core.

Other promises: a cluster takes more rows, each time the nearest row that brings it closer to its promises.
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
        description="number of parts that are clustered separately; rounded up to a power of two. More parts: faster, more loss",
        examples=[3],
    )


def partition(points: Points, constraints: Constraints, options: GCCGOptions, seed: int, progress: Progress) -> Partition:
    """Grade the rows, divide them into parts, cluster each part."""
    del seed  # nothing here is random
    parts = list(_divided(points, rows_by_score(points), options.parts, constraints.k)) if points.rows else []
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


def rows_by_score(points: Points) -> NDArray[np.int64]:
    """Return the row numbers, rows with the most common values first."""
    score = np.zeros(points.rows, np.int64)  # counts give the same order as frequencies and are exact
    for codes in points.codes.T:
        score += np.bincount(codes)[codes]
    return np.argsort(-score, kind="stable")


def _divided(points: Points, part: NDArray[np.int64], parts: int, k: int) -> Iterable[NDArray[np.int64]]:
    """Divide a list of rows into parts. Each part keeps the order of the list."""
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
    summary="Cluster the row with the most common values with its nearest rows, then the next such row.",
    paper="Ni, Xie, Qian 2017",
    cost="n^2 / k x columns in each block, divided by `parts`",
    good_for="small k; fast; no random choices",
    options=GCCGOptions,
    partition=partition,
    in_blocks=True,
    uses_promises=True,
)
