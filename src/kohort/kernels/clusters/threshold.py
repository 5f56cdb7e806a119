"""Groups that grow while their box stays small enough."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.clusters.free_records import (
    FREE,
    OUT,
    FreeRecords,
    cheapest,
    compact,
    free_record,
    look_up_all,
    set_box,
    widen,
)
from kohort.kernels.clusters.grow_group import GrowingGroup, admit, dismiss, is_valid
from kohort.kernels.core.promise_rules import Rules
from kohort.kernels.core.randomness import below
from kohort.kernels.core.widths import AxisTables


@kernel
def grow_within(
    axes: AxisTables,
    rules: Rules,
    pool: FreeRecords,
    group: GrowingGroup,
    sensitive: NDArray[np.int64],  # IN (rows, secrets)
    limit: int,  # what a row of a group may cost
    seed: int,
    labels: NDArray[np.int64],  # OUT (rows): every group's number, in the order in which they were made
    valid: NDArray[np.bool_],  # OUT (rows): for each group, whether it keeps the promise
    state: NDArray[np.int64],  # IN state[1] = stop now; OUT state[0] = rows done
) -> int:
    """From each drawn record let in the cheapest while the box costs no more than the limit; how many groups there are."""
    groups = 0
    while pool.counts[FREE] > pool.counts[OUT] and state[1] == 0:
        record = free_record(pool, below(seed, groups, pool.counts[FREE] - pool.counts[OUT]))
        cost = set_box(axes, pool, record)
        look_up_all(axes, pool)
        admit(rules, group, pool, sensitive, record)
        record = cheapest(pool, cost)
        while record >= 0 and pool.costs[record] <= limit:
            cost = widen(axes, pool, record)
            admit(rules, group, pool, sensitive, record)
            record = cheapest(pool, cost)
        for i in range(group.size[0]):
            labels[pool.rows[group.records[i]]] = groups
        valid[groups] = is_valid(rules, group)
        groups += 1
        state[0] += group.size[0]
        dismiss(rules, group)
        compact(pool)
    return groups
