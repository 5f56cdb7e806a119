"""Greedy k-member clustering: seed after seed, each group grown to its end before the next begins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.clusters.free_records import (
    FREE,
    OUT,
    FreeRecords,
    compact,
    free_record,
    give_back,
    look_up_all,
    most_expensive,
    set_box,
)
from kohort.kernels.clusters.grow_group import GrowingGroup, admit, dismiss, grow
from kohort.kernels.core.promise_rules import Rules
from kohort.kernels.core.randomness import below
from kohort.kernels.core.widths import AxisTables


@kernel
def form_groups(
    axes: AxisTables,
    rules: Rules,
    pool: FreeRecords,
    group: GrowingGroup,
    sensitive: NDArray[np.int64],  # IN (rows, secrets)
    beyond_k: bool,
    random_seeds: bool,
    seed: int,
    labels: NDArray[np.int64],  # IN OUT (rows), comes in as -1: rows that are left over stay so
    state: NDArray[np.int64],  # IN state[1] = stop now; OUT state[0] = rows done
) -> int:
    """Form groups while k rows are left and a group can be grown to stand; how many there are.

    Seeds are drawn, or lie furthest from the last record taken; the first then from a record drawn, which stays free.
    """
    groups, drawn = 0, 0
    if pool.counts[FREE] >= rules.k:
        set_box(axes, pool, below(seed, drawn, pool.counts[FREE]))
    while pool.counts[FREE] - pool.counts[OUT] >= rules.k and state[1] == 0:
        if random_seeds:
            start = free_record(pool, below(seed, drawn, pool.counts[FREE] - pool.counts[OUT]))
            drawn += 1
        else:
            look_up_all(axes, pool)
            start = most_expensive(pool)
        cost = set_box(axes, pool, start)
        look_up_all(axes, pool)
        admit(rules, group, pool, sensitive, start)
        valid = grow(axes, rules, group, pool, sensitive, cost, beyond_k)
        if not valid:
            give_back(pool, group.size[0])
            dismiss(rules, group)
            break
        for i in range(group.size[0]):
            labels[pool.rows[group.records[i]]] = groups
        set_box(axes, pool, group.records[group.size[0] - 1])
        groups += 1
        state[0] += group.size[0]
        dismiss(rules, group)
        compact(pool)
    return groups
