"""Suppress rows: next the row whose removal lowers the total loss most.

The box of a group becomes smaller only without a row that is the only one with the lowest or the highest code of the group on
some axis. So the members of each group are sorted by every axis, and only the two ends are checked. A tournament tree over the
groups holds the best row of each group. After a removal, only one group and its path to the root are updated. Members are
numbered group by group.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.core.promise_rules import Rules, Tally, Whole, clear, cross, enter, side_is_valid, sort_present
from kohort.kernels.core.widths import AxisTables, width

NOTHING = 0  # no gain
IN, OUT = np.int64(0), np.int64(1)  # sides of the tally: rows that stay in the group, rows that are removed


class GroupMembers(NamedTuple):
    """The members of all groups, group by group."""

    first: NDArray[np.int64]  # (groups + 1): where each group begins
    rows: NDArray[np.int64]  # (members): their row numbers, ascending in each group
    codes: NDArray[np.unsignedinteger]  # (members, axes)
    sensitive: NDArray[np.int64]  # (members, sensitive)
    sorted: NDArray[np.int64]  # (axes, members): the members of each group, sorted by code
    ends: NDArray[np.int64]  # IN OUT (groups, axes, 2): indices in `sorted` of the lowest and highest member not suppressed
    sizes: NDArray[np.int64]  # IN OUT (groups): members not suppressed
    gone: NDArray[np.bool_]  # IN OUT (members): whether suppressed


@kernel
def _next_in(members: GroupMembers, axis: int, index: Whole, step: int) -> int | np.int64:
    """Return the next index in `sorted`, from `index` on, whose member is not suppressed."""
    while members.gone[members.sorted[axis, index]]:
        index += step
    return index


@kernel
def _look_at_ends(
    axes: AxisTables, members: GroupMembers, group: Whole, costs: NDArray[np.int64], alone: NDArray[np.int64]
) -> None:
    """Compute, per axis, the cost of the group, and its cost without the only lowest and without the only highest member.

    `alone` gets these two members, or -1 where several members share the lowest or highest code.
    """
    for j in range(members.codes.shape[1]):
        low = _next_in(members, j, members.ends[group, j, 0], 1)
        high = _next_in(members, j, members.ends[group, j, 1], -1)
        members.ends[group, j, 0], members.ends[group, j, 1] = low, high
        lowest, highest = members.sorted[j, low], members.sorted[j, high]
        above, below = members.sorted[j, _next_in(members, j, low + 1, 1)], members.sorted[j, _next_in(members, j, high - 1, -1)]
        least, most = np.int64(members.codes[lowest, j]), np.int64(members.codes[highest, j])
        second, last_but_one = np.int64(members.codes[above, j]), np.int64(members.codes[below, j])
        costs[j, 0] = width(axes, j, least, most)
        costs[j, 1] = width(axes, j, second, most)
        costs[j, 2] = width(axes, j, least, last_but_one)
        alone[j, 0] = lowest if second > least else -1
        alone[j, 1] = highest if last_but_one < most else -1


@kernel
def _best_of_group(
    axes: AxisTables,
    rules: Rules,
    tally: Tally,
    members: GroupMembers,
    group: Whole,
    requested: bool,  # whether promises other than k were made
    loaded: NDArray[np.int64],  # IN OUT (1): the group in the tally, or -1
    costs: NDArray[np.int64],  # scratch (axes, 3)
    alone: NDArray[np.int64],  # scratch (axes, 2)
) -> tuple[int, int | np.int64]:
    """Return the largest fall of the total loss without one member of the group, and that member, or -1 if there is none.

    A suppressed row counts with the full loss in every cell.
    """
    best, who = NOTHING, np.int64(-1)
    size = members.sizes[group]
    if size < 2 or (size <= rules.k and not rules.persons):
        return best, who
    _look_at_ends(axes, members, group, costs, alone)
    whole, lost = costs[:, 0].sum(), axes.full.sum()
    for j in range(alone.shape[0]):
        for side in range(2):
            one, left = alone[j, side], 0
            if one < 0:
                continue
            for i in range(alone.shape[0]):
                left += costs[i, 1] if alone[i, 0] == one else costs[i, 2] if alone[i, 1] == one else costs[i, 0]
            gain = size * whole - (size - 1) * left - lost
            if gain > best or (gain == best and who >= 0 and one < who):
                if requested and not _is_valid_without(rules, tally, members, group, one, loaded):
                    continue
                best, who = gain, one
    return best, who


@kernel
def _is_valid_without(
    rules: Rules, tally: Tally, members: GroupMembers, group: Whole, one: Whole, loaded: NDArray[np.int64]
) -> bool:
    """Return whether a group is valid without one member.

    The group stays in the tally, because the next call is often for the same group.
    """
    if loaded[0] != group:
        if loaded[0] >= 0:
            clear(rules, tally, members.sensitive, members.first[loaded[0]], members.first[loaded[0] + 1])
        for i in range(members.first[group], members.first[group + 1]):
            if not members.gone[i]:
                enter(rules, tally, members.sensitive, i, i + 1, IN)
        sort_present(rules, tally)
        loaded[0] = group
    cross(tally.sums, tally.counts, tally.rows_of, members.sensitive, one, one + 1, OUT)
    valid = side_is_valid(rules, tally, IN)
    cross(tally.sums, tally.counts, tally.rows_of, members.sensitive, one, one + 1, IN)
    return valid


@kernel
def suppress(
    axes: AxisTables,
    rules: Rules,
    tally: Tally,
    members: GroupMembers,
    requested: bool,
    budget: int,
    state: NDArray[np.int64],  # OUT state[0] = suppressed rows; IN state[1] = stop now
) -> None:
    """Suppress one row after the other, up to `budget` rows, while the total loss falls; in a tie the lowest row number."""
    groups, dimensions = members.sizes.size, members.codes.shape[1]
    costs, alone = np.empty((dimensions, 3), np.int64), np.empty((dimensions, 2), np.int64)
    loaded = np.full(1, -1, np.int64)
    gains, best = np.empty(groups, np.int64), np.empty(groups, np.int64)
    leaves = 1
    while leaves < groups:
        leaves *= 2
    winner = np.full(2 * leaves, -1, np.int64)  # per node of the tournament tree: the group with the best row below it
    for group in range(groups):
        if state[1] != 0:
            return
        gains[group], best[group] = _best_of_group(axes, rules, tally, members, group, requested, loaded, costs, alone)
        winner[leaves + group] = group
    for node in range(leaves - 1, 0, -1):
        winner[node] = _better(winner[2 * node], winner[2 * node + 1], gains, best, members.rows)
    while budget > 0 and state[1] == 0 and best[winner[1]] >= 0:
        group = winner[1]
        members.gone[best[group]] = True
        members.sizes[group] -= 1
        if loaded[0] == group:
            cross(tally.sums, tally.counts, tally.rows_of, members.sensitive, best[group], best[group] + 1, OUT)
        gains[group], best[group] = _best_of_group(axes, rules, tally, members, group, requested, loaded, costs, alone)
        node = (leaves + group) // 2
        while node > 0:
            winner[node] = _better(winner[2 * node], winner[2 * node + 1], gains, best, members.rows)
            node //= 2
        budget -= 1
        state[0] += 1


@kernel
def _better(one: Whole, two: Whole, gains: NDArray[np.int64], best: NDArray[np.int64], rows: NDArray[np.int64]) -> int | np.int64:
    """Return which of two groups has the row with the larger gain; in a tie the lowest row number."""
    if one < 0 or two < 0:
        return max(one, two)
    if best[one] < 0 or best[two] < 0:
        return one if best[two] < 0 else two
    if gains[one] != gains[two]:
        return one if gains[one] > gains[two] else two
    return one if rows[best[one]] < rows[best[two]] else two
