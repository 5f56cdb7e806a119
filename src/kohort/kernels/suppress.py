"""Which record to leave out next: the one without which the release loses least.

A group is a piece of `order`; a record that leaves it is swapped to the end of the piece, which then is one shorter. The best
record of each group stands in a tournament of groups, so that after a removal one group and its path to the top are renewed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.promises import Rules, Tally, clear, cross, enter, may_stand, sort_present
from kohort.kernels.widths import AxisTables, width

NOTHING = 0  # a gain that is none
IN, OUT = np.int64(0), np.int64(1)  # sides of the tally: who stays, and who is tried without


@kernel
def _second_ends(
    codes: NDArray[np.unsignedinteger],
    rows: NDArray[np.int64],
    axes: AxisTables,
    ends: NDArray[np.int64],  # OUT (6, axes): low, high; cost as it is, without the only lowest, without the only highest; spare
) -> None:
    """What the group costs on each axis, and what it would without a record that alone holds the lowest or highest code."""
    for j in range(codes.shape[1]):
        low, high = np.int64(codes[rows[0], j]), np.int64(codes[rows[0], j])
        for i in range(1, rows.size):
            low, high = min(low, np.int64(codes[rows[i], j])), max(high, np.int64(codes[rows[i], j]))
        above, below, lowest, highest = high, low, 0, 0
        for i in range(rows.size):
            code = np.int64(codes[rows[i], j])
            lowest += code == low
            highest += code == high
            if code != low:
                above = min(above, code)
            if code != high:
                below = max(below, code)
        ends[0, j], ends[1, j] = low, high
        ends[2, j] = width(axes, j, low, high)
        ends[3, j] = width(axes, j, above, high) if lowest == 1 else ends[2, j]
        ends[4, j] = width(axes, j, low, below) if highest == 1 else ends[2, j]


@kernel
def best_of_group(
    axes: AxisTables,
    rules: Rules,
    tally: Tally,
    secrets: NDArray[np.int64],
    codes: NDArray[np.unsignedinteger],
    rows: NDArray[np.int64],
    asked: bool,
    ends: NDArray[np.int64],
) -> tuple[int, int]:
    """How much the total loss falls without one record of the group, and its place; it counts as lost in every cell."""
    best, place = NOTHING, -1
    if rows.size <= rules.k and not rules.persons:
        return best, place
    _second_ends(codes, rows, axes, ends)
    whole = ends[2].sum()
    lost = axes.full.sum()
    if asked:
        for i in range(rows.size):
            enter(rules, tally, secrets, rows[i], rows[i] + 1, IN)
        sort_present(rules, tally)
    for i in range(rows.size):
        left = 0
        for j in range(codes.shape[1]):
            code = np.int64(codes[rows[i], j])
            left += ends[3, j] if code == ends[0, j] else ends[4, j] if code == ends[1, j] else ends[2, j]
        gain = rows.size * whole - (rows.size - 1) * left - lost
        if gain > best or (gain == best and place >= 0 and rows[i] < rows[place]):
            if asked:
                cross(tally.sums, tally.counts, tally.rows_of, secrets, rows[i], rows[i] + 1, OUT)
                stands = may_stand(rules, tally, IN)
                cross(tally.sums, tally.counts, tally.rows_of, secrets, rows[i], rows[i] + 1, IN)
                if not stands:
                    continue
            best, place = gain, i
    if asked:
        clear(rules, tally, secrets, np.int64(0), np.int64(0))
        for i in range(rows.size if rules.persons else 0):
            clear(rules, tally, secrets, rows[i], rows[i] + 1)
    return best, place


@kernel
def suppress(
    axes: AxisTables,
    rules: Rules,
    tally: Tally,
    secrets: NDArray[np.int64],
    codes: NDArray[np.unsignedinteger],
    order: NDArray[np.int64],  # IN OUT rows, group by group
    first: NDArray[np.int64],  # IN (groups + 1): where each group begins in `order`
    sizes: NDArray[np.int64],  # IN OUT (groups): members still in
    asked: bool,  # whether more than rows must be counted
    budget: int,
    labels: NDArray[np.int64],  # IN OUT (rows): -1 once left out
    state: NDArray[np.int64],  # OUT state[0] = left out; IN state[1] = stop now
) -> None:
    """Leave records out, one after the other, while the total loss falls; ties lowest row."""
    groups = sizes.size
    ends = np.empty((5, codes.shape[1]), np.int64)
    gains, places = np.empty(groups, np.int64), np.empty(groups, np.int64)
    leaves = 1
    while leaves < groups:
        leaves *= 2
    winner = np.full(2 * leaves, -1, np.int64)  # per node of the tournament: the group with the best record below it
    for group in range(groups):
        rows = order[first[group] : first[group] + sizes[group]]
        gains[group], places[group] = best_of_group(axes, rules, tally, secrets, codes, rows, asked, ends)
        winner[leaves + group] = group
    for node in range(leaves - 1, 0, -1):
        winner[node] = _better(winner[2 * node], winner[2 * node + 1], gains, places, order, first)
    while budget > 0 and state[1] == 0 and places[winner[1]] >= 0:
        group = winner[1]
        at, end = first[group] + places[group], first[group] + sizes[group] - 1
        labels[order[at]] = -1
        order[at], order[end] = order[end], order[at]
        sizes[group] -= 1
        rows = order[first[group] : first[group] + sizes[group]]
        gains[group], places[group] = best_of_group(axes, rules, tally, secrets, codes, rows, asked, ends)
        node = (leaves + group) // 2
        while node > 0:
            winner[node] = _better(winner[2 * node], winner[2 * node + 1], gains, places, order, first)
            node //= 2
        budget -= 1
        state[0] += 1


@kernel
def _better(
    one: int, two: int, gains: NDArray[np.int64], places: NDArray[np.int64], order: NDArray[np.int64], first: NDArray[np.int64]
) -> int:
    """Of two groups the one whose best record gains more; ties lowest row."""
    if one < 0 or two < 0:
        return max(one, two)
    if places[one] < 0 or places[two] < 0:
        return one if places[two] < 0 else two
    if gains[one] != gains[two]:
        return one if gains[one] > gains[two] else two
    return one if order[first[one] + places[one]] < order[first[two] + places[two]] else two
