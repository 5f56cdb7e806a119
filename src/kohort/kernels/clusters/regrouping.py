"""Improve groups: pool a group with some of its nearest groups, cut the pool again, and keep the result if it loses less.

A cell is a set of groups that are near each other. Each group is in one cell only. So the result does not depend on the order
of the cells, or on the number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.core.randomness import chance, hashed
from kohort.kernels.core.widths import AxisTables, number_width, width
from kohort.kernels.cuts.cut_workspace import CutWorkspace, lay_out
from kohort.kernels.cuts.gain_cuts import Promised, is_valid, split


class Search(NamedTuple):
    """How thorough the search is."""

    partners: int  # number of groups that a group is pooled with
    nearby: int  # partners are drawn from this many nearest groups
    tries: int  # attempts to cut a pool: straight cuts and boxes in turn, the first of each without noise
    steps: int  # largest number of axes by which a box is narrowed
    noise: float  # as in `gain_cuts.split`
    tolerance: float  # share by which the cost of a pool may grow


class GroupCell(NamedTuple):
    """The groups of one cell in S slots. A slot without rows is free."""

    low: NDArray[np.int64]  # (S, axes)
    high: NDArray[np.int64]  # (S, axes)
    sizes: NDArray[np.int64]  # (S)
    costs: NDArray[np.int64]  # (S): cost of one row
    head: NDArray[np.int64]  # (S): the first row of the group's chain, or -1
    following: NDArray[np.int64]  # (rows): the next row of the same group, or -1
    found: NDArray[np.int64]  # scratch: slots that are near, or pooled
    growth: NDArray[np.int64]  # scratch: growth of the loss if merged with each slot in `found`
    box: NDArray[np.int64]  # scratch (2, axes)
    rows: NDArray[np.int64]  # scratch: the rows of a pool
    best: NDArray[np.int64]  # scratch: the part of each row of a pool, in the best cut so far


@kernel
def improve_cell(
    axes: AxisTables,
    k: int,
    promised: Promised | None,
    codes: NDArray[np.integer],  # IN (rows, axes)
    order: NDArray[np.int64],  # IN: rows, group by group
    first: NDArray[np.int64],  # IN (groups + 1)
    groups: NDArray[np.int64],  # IN: the groups of the cell
    search: Search,
    seed: int,
    workspace: CutWorkspace,
    following: NDArray[np.int64],  # scratch (rows)
    labels: NDArray[np.int64],  # OUT: groups of the cell's rows, numbered within the cell, with gaps
    state: NDArray[np.int64],  # IN state[1] = stop now
) -> int:
    """Pool every group of a cell with its neighbours once. Return the number of slots in use."""
    cell = _set_up(axes, k, codes, order, first, groups, search, workspace.order.size, following)
    rng_state, used = np.array([hashed(seed, groups[0])], np.uint64), groups.size
    for slot in range(used):
        if cell.costs[slot] == 0 or state[1] != 0:
            continue
        pooled = _pool(axes, codes, cell, used, slot, search, rng_state)
        many = 0
        for i in range(pooled):
            row = cell.head[cell.found[i]]
            while row >= 0:
                cell.rows[many] = row
                many += 1
                row = cell.following[row]
        if many < 2 * k:
            continue
        rows = cell.rows[:many]
        lay_out(axes, codes, rows, workspace)
        if promised is not None and not is_valid(promised, rows, workspace, 0, many):  # it may remain uncut
            continue
        parts = _recut(k, promised, cell, rows, pooled, search, workspace, rng_state)
        if parts > 0:
            used = _put_back(axes, codes, cell, used, pooled, many, parts)
    for slot in range(used):
        row = cell.head[slot]
        while row >= 0:
            labels[row] = slot
            row = following[row]
    return used


@kernel
def _set_up(
    axes: AxisTables,
    k: int,
    codes: NDArray[np.integer],
    order: NDArray[np.int64],
    first: NDArray[np.int64],
    groups: NDArray[np.int64],
    search: Search,
    largest: int,
    following: NDArray[np.int64],
) -> GroupCell:
    """Put the groups into slots. There are enough slots for the largest number of groups that the rows can form."""
    rows = 0
    for group in groups:
        rows += first[group + 1] - first[group]
    slots, room = max(groups.size, rows // k), max(search.nearby, search.partners) + 1
    cell = GroupCell(
        np.empty((slots, codes.shape[1]), np.int64),
        np.empty((slots, codes.shape[1]), np.int64),
        np.zeros(slots, np.int64),
        np.zeros(slots, np.int64),
        np.full(slots, -1, np.int64),
        following,
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.empty((2, codes.shape[1]), np.int64),
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
    )
    for slot in range(groups.size):
        for i in range(first[groups[slot] + 1] - 1, first[groups[slot]] - 1, -1):
            following[order[i]], cell.head[slot] = cell.head[slot], order[i]
        _bound(axes, codes, cell, slot)
    return cell


@kernel
def _bound(axes: AxisTables, codes: NDArray[np.integer], cell: GroupCell, slot: int | np.int64) -> None:
    """Compute size, box and cost of a group from its rows."""
    low, high, following, row, size = cell.low, cell.high, cell.following, cell.head[slot], 0
    for j in range(codes.shape[1]):
        low[slot, j], high[slot, j] = np.iinfo(np.int64).max, 0
    while row >= 0:
        size += 1
        for j in range(codes.shape[1]):
            code = np.int64(codes[row, j])
            low[slot, j], high[slot, j] = min(low[slot, j], code), max(high[slot, j], code)
        row = following[row]
    cost = np.int64(0)
    for j in range(codes.shape[1]):
        cost += width(axes, j, low[slot, j], high[slot, j])
    cell.sizes[slot], cell.costs[slot] = size, cost


@kernel
def _pool(
    axes: AxisTables,
    codes: NDArray[np.integer],
    cell: GroupCell,
    used: int,
    slot: int,
    search: Search,
    rng_state: NDArray[np.uint64],
) -> int:
    """Choose a group and some of its nearest groups. Return how many were chosen, or 0 if they have too many rows.

    The distance is measured from the group or from one of its rows, with equal chance: a single row may fit into another group.
    """
    box, found, size, own = cell.box, cell.found, cell.sizes[slot], cell.costs[slot]
    if chance(rng_state) < 0.5:
        box[0], box[1] = cell.low[slot], cell.high[slot]
    else:
        row = cell.head[slot]
        for _ in range(np.int64(chance(rng_state) * size)):
            row = cell.following[row]
        for j in range(codes.shape[1]):
            box[0, j] = box[1, j] = codes[row, j]
        size, own = np.int64(1), np.int64(0)
    near = _nearest(axes, cell, used, slot, size, own, search.nearby)
    pooled, records = 0, cell.sizes[slot]
    for i in range(near):  # drawn one by one; groups that would make the pool too large are skipped
        other = i + np.int64(chance(rng_state) * (near - i))
        found[i], found[other] = found[other], found[i]
        if pooled < search.partners and records + cell.sizes[found[i]] <= cell.rows.size:
            records += cell.sizes[found[i]]
            found[pooled] = found[i]
            pooled += 1
    found[pooled] = slot
    return pooled + 1 if records <= cell.rows.size else 0


@kernel
def _nearest(axes: AxisTables, cell: GroupCell, used: int, but: int, size: int | np.int64, own: int | np.int64, many: int) -> int:
    """Find the groups whose merge with the box increases the loss least, sorted by this growth. Return their number.

    `size` and `own` are the rows of the box and the cost of one of them.
    """
    numeric, starts, lengths, heights, fulls = axes.numeric, axes.start, axes.size, axes.height, axes.full
    scales, coarse_froms, down, up = axes.scale, axes.coarse_from, axes.down, axes.up
    coarse_down, coarse_up, ancestors, node_cost = axes.coarse_down, axes.coarse_up, axes.ancestors, axes.node_cost
    low, high, sizes, costs, box, found, growth = (
        cell.low, cell.high, cell.sizes, cell.costs, cell.box, cell.found, cell.growth,
    )  # fmt: skip
    near, limit = 0, np.iinfo(np.int64).max
    for slot in range(used):
        if sizes[slot] == 0 or slot == but:
            continue
        rows = size + sizes[slot]
        grown = -(size * own + sizes[slot] * costs[slot])
        for j in range(box.shape[1]):
            begin, end = min(low[slot, j], box[0, j]), max(high[slot, j], box[1, j])
            if begin == 0:
                grown += rows * fulls[j] if end > 0 else 0
            elif numeric[j]:
                at = starts[j]
                grown += rows * number_width(
                    down, up, coarse_down, coarse_up, coarse_froms[j], scales[j], fulls[j], at + begin, at + end
                )
            elif begin < end:
                row = starts[j]
                for _ in range(heights[j]):
                    row += lengths[j]
                    if ancestors[row + begin] == ancestors[row + end]:
                        break
                grown += rows * node_cost[ancestors[row + begin]]
            if grown >= limit:
                break
        if grown < limit:
            near = min(near + 1, many)
            index = near - 1
            while index > 0 and growth[index - 1] > grown:
                growth[index], found[index] = growth[index - 1], found[index - 1]
                index -= 1
            growth[index], found[index] = grown, slot
            if near == many:
                limit = growth[many - 1]
    return near


@kernel
def _recut(
    k: int,
    promised: Promised | None,
    cell: GroupCell,
    rows: NDArray[np.int64],
    pooled: int,
    search: Search,
    workspace: CutWorkspace,
    rng_state: NDArray[np.uint64],
) -> int:
    """Cut the pool several times and keep the best result. Return its number of parts, or 0 if the pool stays unchanged."""
    limit, parts, order, best = np.int64(0), 0, workspace.order, cell.best
    for i in range(pooled):
        limit += cell.costs[cell.found[i]] * cell.sizes[cell.found[i]]
    limit += np.int64(limit * search.tolerance)
    for attempt in range(search.tries):
        for i in range(rows.size):
            order[i] = i
        steps, noise = search.steps if attempt % 2 else 1, search.noise if attempt > 1 else 0.0
        found, cost = split(k, promised, rows, workspace, np.int64(0), steps, noise, rng_state, limit, None)
        if cost < limit:
            limit, parts = np.int64(cost), found
            for part in range(found):
                for i in range(workspace.parts[part, 0], workspace.parts[part, 1]):
                    best[order[i]] = part
    return parts


@kernel
def _put_back(
    axes: AxisTables, codes: NDArray[np.integer], cell: GroupCell, used: int, pooled: int, many: int, parts: int
) -> int:
    """Turn the parts into groups, first in the slots of the pool. Return the number of slots then in use."""
    for i in range(pooled):
        cell.sizes[cell.found[i]], cell.costs[cell.found[i]], cell.head[cell.found[i]] = 0, 0, -1
    free, slot = np.int64(0), np.int64(0)
    for part in range(parts):
        if part < pooled:
            slot = cell.found[part]
        else:
            while cell.head[free] >= 0:
                free += 1
            slot = np.int64(free)
        for i in range(many):
            if cell.best[i] == part:
                cell.following[cell.rows[i]], cell.head[slot] = cell.head[slot], cell.rows[i]
        _bound(axes, codes, cell, slot)
        used = max(used, int(slot) + 1)
    return used
