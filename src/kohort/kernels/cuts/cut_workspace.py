"""Scratch arrays for cutting a small set of rows, with values replaced by their ranks among the values that occur.

With ranks, cutting a few rows is fast also on an axis with many values, and all data needed is in these arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import inlined, kernel
from kohort.kernels.core.promise_rules import Whole
from kohort.kernels.core.widths import AxisTables

NUMERIC, MISSING, SCALE, COARSE_FROM, FULL = range(5)  # columns of `of_axis`


class CutWorkspace(NamedTuple):
    """Working memory of one thread for up to P rows on A axes with S sensitive columns. Rows are numbered 0 to P - 1."""

    rank: NDArray[np.int32]  # (A, P): the rank of each row's value among the values that occur
    distinct: NDArray[np.int64]  # (A): number of values that occur
    of_axis: NDArray[np.float64]  # (A, 5): NUMERIC, 1 for numbers; MISSING, 1 if rank 0 is missing; others as in `AxisTables`
    ends: NDArray[np.float64]  # (4, A, P): numbers, by rank: published lower and upper end of a box; the same with coarse ends
    gap: NDArray[np.int64]  # (A, P): trees, by rank: cost of the smallest box with this rank and the next
    runs: NDArray[np.int32]  # (2, A, 2P): trees: first and last rank below each node that does not include all rows
    many_runs: NDArray[np.int64]  # (A): number of runs
    counts: NDArray[np.int32]  # (A, P): number of current rows with each value
    near: NDArray[np.int32]  # (3, P + 1): by rank: number of rows before it; the last and the next rank that occurs
    box: NDArray[np.int64]  # (3, A): lowest and highest rank of the current rows; cost of this box
    kept: NDArray[np.int32]  # (P): the current rows
    depth: NDArray[np.int32]  # (P): how many times each row was kept
    order: NDArray[np.int32]  # (P): the rows, part by part
    opened: NDArray[np.int32]  # (P + 1, 2A + 2): parts not cut yet: where they begin and end, and a box around them
    parts: NDArray[np.int64]  # (P, 2): where each finished part begins and ends in `order`
    values: NDArray[np.int64]  # (P): the codes of one axis, by rank
    by_code: NDArray[np.int32]  # (codes of the largest axis)
    keys: NDArray[np.int64]  # (P)
    members: NDArray[np.int64]  # (P, S): sensitive values of the current rows


@inlined
def number_cost(of_axis: NDArray[np.float64], ends: NDArray[np.float64], axis: int, low: Whole, high: Whole) -> Whole:
    """Return the cost of the ranks low..high of a numeric axis, as `widths.number_width` does for codes."""
    missing, scale, coarse_from, full = (
        of_axis[axis, MISSING] > 0,
        of_axis[axis, SCALE],
        of_axis[axis, COARSE_FROM],
        of_axis[axis, FULL],
    )
    return rank_width(ends, axis, missing, scale, coarse_from, full, low, high)


@inlined
def rank_width(
    ends: NDArray[np.float64],
    axis: int,
    missing: bool,
    scale: float,
    coarse_from: float,
    full: float,
    low: Whole,
    high: Whole,
) -> Whole:
    """Do the same as `number_cost`, with the properties of the axis as arguments, for loops over one axis."""
    if missing and low == 0:
        return np.int64(full) if high > 0 else np.int64(0)
    span = ends[1, axis, high] - ends[0, axis, low]
    if span >= coarse_from and (low < high or span > 0):
        span = ends[3, axis, high] - ends[2, axis, low]
    return np.int64(min(np.rint(span * scale), full))


@inlined
def tree_cost(gap: NDArray[np.int64], axis: int, low: Whole, high: Whole) -> Whole:
    """Return the cost of the ranks low..high of a tree.

    The common ancestor of a run of leaves is the highest of the common ancestors of two neighbouring leaves.
    """
    cost = np.int64(0)
    for rank in range(low, high):
        cost = max(cost, gap[axis, rank])
    return cost


@kernel
def lay_out(axes: AxisTables, codes: NDArray[np.integer], rows: NDArray[np.int64], workspace: CutWorkspace) -> None:
    """Fill the workspace with these rows: rank their values, axis by axis."""
    values, ends, gap, of_axis, distinct, many_runs = (
        workspace.values, workspace.ends, workspace.gap, workspace.of_axis, workspace.distinct, workspace.many_runs,
    )  # fmt: skip
    numeric, starts, lengths, heights, fulls = axes.numeric, axes.start, axes.size, axes.height, axes.full
    down, up, coarse_down, coarse_up = axes.down, axes.up, axes.coarse_down, axes.coarse_up
    ancestors, node_cost, scales, coarse_froms = axes.ancestors, axes.node_cost, axes.scale, axes.coarse_from
    for j in range(codes.shape[1]):
        found = _rank_values(codes, rows, j, lengths[j], workspace)
        distinct[j] = found
        of_axis[j, NUMERIC], of_axis[j, MISSING], of_axis[j, FULL] = numeric[j], values[0] == 0, fulls[j]
        of_axis[j, SCALE], of_axis[j, COARSE_FROM] = scales[j], coarse_froms[j]
        if numeric[j]:
            for rank in range(found):
                at = starts[j] + values[rank]
                ends[0, j, rank], ends[1, j, rank] = down[at], up[at]
                ends[2, j, rank], ends[3, j, rank] = coarse_down[at], coarse_up[at]
            continue
        for rank in range(found - 1):
            gap[j, rank] = fulls[j]
            row = starts[j]
            for _ in range(heights[j] if values[rank] > 0 else 0):
                row += lengths[j]
                if ancestors[row + values[rank]] == ancestors[row + values[rank + 1]]:
                    gap[j, rank] = node_cost[ancestors[row + values[rank]]]
                    break
        many_runs[j] = _find_runs(axes, workspace, j, found)
    order = workspace.order
    for i in range(rows.size):
        order[i] = i


@kernel
def _rank_values(
    codes: NDArray[np.integer], rows: NDArray[np.int64], axis: int, size: int | np.int64, workspace: CutWorkspace
) -> int:
    """Rank the values of one axis. Return the number of different values."""
    many, found, rank, values, by_code, keys = rows.size, 0, workspace.rank, workspace.values, workspace.by_code, workspace.keys
    if size <= 8 * many:
        by_code[:size] = 0
        for i in range(many):
            by_code[codes[rows[i], axis]] = 1
        for code in range(size):
            if by_code[code] > 0:
                values[found], by_code[code] = code, found
                found += 1
        for i in range(many):
            rank[axis, i] = by_code[codes[rows[i], axis]]
        return found
    for i in range(many):
        keys[i] = (np.int64(codes[rows[i], axis]) << 32) | i
    keys[:many].sort()
    for i in range(many):
        code = keys[i] >> 32
        if found == 0 or values[found - 1] != code:
            values[found] = code
            found += 1
        rank[axis, keys[i] & 0xFFFFFFFF] = found - 1
    return found


@kernel
def _find_runs(axes: AxisTables, workspace: CutWorkspace, axis: int, found: int) -> int:
    """Find the different runs of ranks below the nodes of a tree, except the run of all ranks. Return their number.

    Missing values are treated as a node.
    """
    values, runs, last_end, ancestors = workspace.values, workspace.runs, workspace.near, axes.ancestors
    many, begin, size, row = 0, 0, axes.size[axis], axes.start[axis]
    for rank in range(found):
        last_end[0, rank] = -1
    if values[0] == 0 and found > 1:
        runs[0, axis, 0], runs[1, axis, 0], many, begin = 0, 0, 1, 1
    for _ in range(axes.height[axis] + 1):
        here = begin
        while here < found:
            node, end = ancestors[row + values[here]], here
            while end + 1 < found and ancestors[row + values[end + 1]] == node:
                end += 1
            if last_end[0, here] != end and end - here + 1 < found:
                runs[0, axis, many], runs[1, axis, many] = here, end
                many += 1
            last_end[0, here] = end
            here = end + 1
        row += size
    return many
