"""Grow a group from one row to k rows, and further until it satisfies the promises."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.clusters.free_records import FREE, TAKEN, FreeRecords, cheapest, take, widen
from kohort.kernels.clusters.wanted_values import SIDE, mark_wanted
from kohort.kernels.core.promise_rules import Rules, Tally, clear, enter, side_is_valid, sort_present
from kohort.kernels.core.widths import AxisTables


class GrowingGroup(NamedTuple):
    """The group that is being formed: its rows and the tally of its sensitive values."""

    tally: Tally
    members: NDArray[np.int64]  # (rows, sensitive): values of its rows, in the order in which they were added
    records: NDArray[np.int64]  # (rows): their indices in the pool
    size: NDArray[np.int64]  # (1): number of its rows
    wanted: NDArray[np.bool_]  # scratch (values): whether one more row with the value helps


@kernel
def admit(rules: Rules, group: GrowingGroup, pool: FreeRecords, sensitive: NDArray[np.int64], record: int | np.int64) -> None:
    """Add a row of the pool to the group. `record` is its index in the pool."""
    at = group.size[0]
    group.records[at] = record
    for c in range(sensitive.shape[1]):
        group.members[at, c] = sensitive[pool.rows[record], c]
    group.size[0] = at + 1
    enter(rules, group.tally, group.members, at, at + 1, SIDE)
    take(pool, record)


@kernel
def is_valid(rules: Rules, group: GrowingGroup) -> bool:
    """Return whether the group satisfies all promises."""
    sort_present(rules, group.tally)
    return side_is_valid(rules, group.tally, SIDE)


@kernel
def dismiss(rules: Rules, group: GrowingGroup) -> None:
    """Empty the group. The pool does not change."""
    clear(rules, group.tally, group.members, np.int64(0), group.size[0])
    group.size[0] = 0


@kernel
def cheapest_wanted(rules: Rules, group: GrowingGroup, pool: FreeRecords, sensitive: NDArray[np.int64]) -> int:
    """Return the index of the cheapest free row that brings the group closer to its promises, or -1 if there is none."""
    columns = rules.first.size - 1
    short = group.tally.sums[SIDE, 0] < rules.k  # first reach k people, then the other promises
    if short:
        group.wanted[:] = True
    else:
        mark_wanted(rules, group.tally, group.wanted)
    best, best_cost = -1, TAKEN // 2
    for i in range(pool.counts[FREE]):
        if pool.costs[i] < best_cost:
            row = pool.rows[i]
            helps = not short or not rules.persons or group.tally.rows_of[SIDE, sensitive[row, columns]] == 0
            for c in range(columns):
                helps &= group.wanted[sensitive[row, c]]
            if helps:
                best, best_cost = i, pool.costs[i]
    return best


@kernel
def grow(
    axes: AxisTables,
    rules: Rules,
    group: GrowingGroup,
    pool: FreeRecords,
    sensitive: NDArray[np.int64],
    cost: int | np.int64,
    beyond_k: bool,
) -> bool:
    """Add the row with which the box costs least, until the group has k rows and satisfies the promises. Return whether it does.

    At the start the group has one row, and the costs in the pool are those of its box. `cost` is the cost of the box itself.
    """
    while group.size[0] < rules.k and not rules.persons:
        record = cheapest(pool, cost)
        if record < 0:
            return False
        if group.size[0] + 1 < rules.k or beyond_k:  # after the last row the costs are not used
            cost = widen(axes, pool, record)
        admit(rules, group, pool, sensitive, record)
    while beyond_k and not is_valid(rules, group):
        record = cheapest_wanted(rules, group, pool, sensitive)
        if record < 0:
            return False
        widen(axes, pool, record)
        admit(rules, group, pool, sensitive, record)
    return True
