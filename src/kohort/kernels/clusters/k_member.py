"""Greedy k-member clustering: complete one group after the other, each from a seed row."""

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
    sensitive: NDArray[np.int64],  # IN (rows, sensitive)
    beyond_k: bool,
    random_seeds: bool,
    seed: int,
    labels: NDArray[np.int64],  # IN OUT (rows): filled with -1 before the call; rows without a group keep -1
    state: NDArray[np.int64],  # IN state[1] = stop now; OUT state[0] = rows done
) -> int:
    """Form groups while k rows are free and a valid group can be formed. Return the number of groups.

    Seed rows are drawn at random, or are the rows farthest from the row taken last. In the second case the first seed row is
    the farthest from a row drawn at random, which stays free.
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
