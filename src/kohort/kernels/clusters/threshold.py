"""Form groups that grow while the cost of their box is within a limit."""

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
    sensitive: NDArray[np.int64],  # IN (rows, sensitive)
    limit: int,  # largest cost of one row in a group
    seed: int,
    labels: NDArray[np.int64],  # OUT (rows): the group of each row, numbered in the order of creation
    valid: NDArray[np.bool_],  # OUT (rows): for each group, whether it satisfies the promises
    state: NDArray[np.int64],  # IN state[1] = stop now; OUT state[0] = rows done
) -> int:
    """Draw a row and add the cheapest free rows while the cost of the box is within the limit. Repeat until no row is free.

    Return the number of groups.
    """
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
