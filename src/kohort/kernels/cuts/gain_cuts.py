"""Cut rows top-down. Each step makes the cut, or takes out the box, that lowers the loss most.

Taking rows out never makes the other rows more expensive. So a cut need not be a straight line. The rows to keep are narrowed
axis by axis. If it gains most when only the rows inside the box become cheaper, they are separated from the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import inlined, kernel
from kohort.kernels.core.group_checks import group_is_valid
from kohort.kernels.core.promise_rules import Rules, Tally, Whole
from kohort.kernels.core.randomness import chance
from kohort.kernels.cuts.cut_workspace import (
    COARSE_FROM,
    FULL,
    MISSING,
    NUMERIC,
    SCALE,
    CutWorkspace,
    number_cost,
    rank_width,
    tree_cost,
)
from kohort.kernels.cuts.recorded_cuts import GAIN, RecordedCuts, keep_cut

RETRIES = 4  # number of cuts that are tried if promises forbid some


class Promised(NamedTuple):
    """The promises other than k, for one thread. If k is the only promise, kernels take None and are compiled without checks."""

    rules: Rules
    tally: Tally
    sensitive: NDArray[np.int64]  # (rows, sensitive)


@kernel
def split(
    k: int,
    promised: Promised | None,  # promises other than k
    rows: NDArray[np.int64],  # IN: row numbers in the table
    workspace: CutWorkspace,  # filled by `lay_out`; its `order` is cut into `parts`
    least: Whole,  # parts with fewer rows are not cut
    steps: int,  # largest number of axes by which a box is narrowed
    noise: float,  # largest share by which a gain is increased at random
    rng_state: NDArray[np.uint64],  # IN OUT (1): state of the random numbers
    limit: Whole,  # stop when the cost reaches this limit
    recorded: RecordedCuts | None,  # OUT, by indices in `order`; None = cuts are not recorded
) -> tuple[int, Whole]:
    """Cut until no cut is allowed or gains. Return the number of parts and the total cost of all rows."""
    rank, runs, many_runs, counts, near, box = (
        workspace.rank,
        workspace.runs,
        workspace.many_runs,
        workspace.counts,
        workspace.near,
        workspace.box,
    )
    kept, depth, order, opened, parts = workspace.kept, workspace.depth, workspace.order, workspace.opened, workspace.parts
    of_axis, ends, gap = workspace.of_axis, workspace.ends, workspace.gap
    columns, smallest = rank.shape[0], max(2 * k, least)
    opened[0, 0], opened[0, 1], waiting = 0, rows.size, 1
    for j in range(columns):
        opened[0, 2 + 2 * j], opened[0, 3 + 2 * j] = 0, workspace.distinct[j] - 1
    many = 0
    cost: Whole = np.int64(0)
    while waiting > 0 and cost < limit:
        waiting -= 1
        begin, end = np.int64(opened[waiting, 0]), np.int64(opened[waiting, 1])
        own: Whole = np.int64(0)
        middle: Whole = begin
        for attempt in range(1 if promised is None else RETRIES):
            for j in range(columns):
                box[0, j], box[1, j] = opened[waiting, 2 + 2 * j], opened[waiting, 3 + 2 * j]
            shake = noise if attempt == 0 else max(noise, 1.0)
            own, inside = _best_box(
                rank, runs, many_runs, counts, near, box, kept, depth, order, of_axis, ends, gap, begin, end, k, smallest,
                steps, shake, rng_state, recorded,
            )  # fmt: skip
            if inside == 0:
                break
            middle = _part(order, depth, begin, end, inside)
            if promised is None:
                break
            if is_valid(promised, rows, workspace, begin, middle) and is_valid(promised, rows, workspace, middle, end):
                break
            middle = begin
        if middle == begin:
            parts[many, 0], parts[many, 1] = begin, end
            many += 1
            cost += (end - begin) * own
            continue
        if recorded is not None:
            keep_cut(recorded, begin, middle, end, recorded.steps[0], GAIN)
            for step in range(1, inside):
                recorded.axes[middle, step] = recorded.steps[step]
        for j in range(2 * columns + 2):
            opened[waiting + 1, j] = opened[waiting, j]
        opened[waiting, 1] = opened[waiting + 1, 0] = middle
        waiting += 2
    return many, cost


@inlined
def _part(order: NDArray[np.int32], depth: NDArray[np.int32], begin: Whole, end: Whole, inside: int) -> Whole:
    """Move the rows that were kept at least `inside` times to the front. Return where the other rows begin."""
    middle, last = begin, end - 1
    while middle <= last:
        if depth[order[middle]] >= inside:
            middle += 1
        else:
            order[middle], order[last] = order[last], order[middle]
            last -= 1
    return middle


@kernel
def is_valid(promised: Promised, rows: NDArray[np.int64], workspace: CutWorkspace, begin: Whole, end: Whole) -> bool:
    """Return whether the rows begin..end of `order` satisfy the promises as one group."""
    members, sensitive, order = workspace.members, promised.sensitive, workspace.order
    for i in range(begin, end):
        for c in range(sensitive.shape[1]):
            members[i, c] = sensitive[rows[order[i]], c]
    return group_is_valid(promised.rules, promised.tally, members, np.int64(begin), np.int64(end))


@inlined
def _best_box(
    rank: NDArray[np.int32],
    runs: NDArray[np.int32],
    many_runs: NDArray[np.int64],
    counts: NDArray[np.int32],
    near: NDArray[np.int32],
    box: NDArray[np.int64],
    kept: NDArray[np.int32],
    depth: NDArray[np.int32],
    order: NDArray[np.int32],
    of_axis: NDArray[np.float64],
    ends: NDArray[np.float64],
    gap: NDArray[np.int64],
    begin: Whole,
    end: Whole,
    k: Whole,
    smallest: Whole,
    steps: int,
    noise: float,
    rng_state: NDArray[np.uint64],
    recorded: RecordedCuts | None,
) -> tuple[Whole, int]:
    """Find the best box to take out of a part. Return the cost of one row of the part, and the number of steps, or 0 for no box.

    The rows of the box are those that were kept at least this many times, as counted in `depth`.
    """
    total = many = end - begin
    for i in range(many):
        kept[i] = order[begin + i]
        depth[kept[i]] = 0
    inside = 0
    cost_all: Whole = np.int64(0)
    best: float = 0.0
    for step in range(steps + 1):
        cost = np.int64(0)
        for j in range(rank.shape[0]):
            low, high = box[0, j], box[1, j]
            if low < high:
                for value in range(low, high + 1):
                    counts[j, value] = 0
                for i in range(many):
                    counts[j, rank[j, kept[i]]] += 1
                while counts[j, low] == 0:
                    low += 1
                while counts[j, high] == 0:
                    high -= 1
                box[0, j], box[1, j] = low, high
            box[2, j] = number_cost(of_axis, ends, j, low, high) if of_axis[j, NUMERIC] > 0 else tree_cost(gap, j, low, high)
            cost += box[2, j]
        if step == 0:
            cost_all = cost
            if total < smallest or cost == 0:
                break
        else:
            alone = _shaken(np.float64(many * (cost_all - cost)), best, noise, rng_state)
            if alone > best:
                best, inside = float(alone), step
        if step == steps:
            break
        gain, axis, low, high = _best_cut(
            runs, many_runs, counts, near, box, of_axis, ends, gap, many, total, cost_all - cost, k, step == 0, noise, rng_state
        )
        if axis < 0:
            break
        if recorded is not None:
            recorded.steps[step] = axis
        if gain > best:
            best, inside = gain, step + 1
        left = 0
        for i in range(many):
            record = kept[i]
            if low <= rank[axis, record] <= high:
                depth[record] += 1
                kept[left] = record
                left += 1
        many = left
    return cost_all, inside


@inlined
def _best_cut(
    runs: NDArray[np.int32],
    many_runs: NDArray[np.int64],
    counts: NDArray[np.int32],
    near: NDArray[np.int32],
    box: NDArray[np.int64],
    of_axis: NDArray[np.float64],
    ends: NDArray[np.float64],
    gap: NDArray[np.int64],
    many: Whole,
    total: Whole,
    gained: Whole,  # gain of one row so far, compared with the whole part
    k: Whole,
    straight: bool,  # no axis was narrowed yet, so the other rows become cheaper too
    noise: float,
    rng_state: NDArray[np.uint64],
) -> tuple[float, int, Whole, Whole]:
    """Find the cut of one axis that gains most. Return its gain, the axis, or -1, and the lowest and highest rank to keep."""
    best, axis = 0.0, -1
    best_low: Whole = np.int64(0)
    best_high: Whole = np.int64(0)
    most = min(total - k, many - 1)
    for j in range(box.shape[1]):
        low, high, whole = box[0, j], box[1, j], box[2, j]
        if whole == 0:
            continue
        if of_axis[j, NUMERIC] > 0:
            missing, scale, coarse_from = of_axis[j, MISSING] > 0, of_axis[j, SCALE], of_axis[j, COARSE_FROM]
            full = of_axis[j, FULL]
            left, last = np.int64(counts[j, low]), low
            for here in range(low + 1, high + 1):
                held = counts[j, here]
                if held == 0:
                    continue
                right = many - left
                if (k <= left <= most) or (k <= right <= most):
                    fall_left = whole - rank_width(ends, j, missing, scale, coarse_from, full, low, last)
                    fall_right = whole - rank_width(ends, j, missing, scale, coarse_from, full, here, high)
                    both = left * fall_left + right * fall_right
                    if k <= left <= most:
                        gain = _shaken(both if straight else left * (gained + fall_left), best, noise, rng_state)
                        if gain > best:
                            best, axis, best_low, best_high = gain, j, low, last
                    if k <= right <= most:
                        gain = _shaken(both if straight else right * (gained + fall_right), best, noise, rng_state)
                        if gain > best:
                            best, axis, best_low, best_high = gain, j, here, high
                left += held
                last = here
            continue
        near[0, low] = 0
        last = low
        for here in range(low, high + 1):
            near[0, here + 1] = near[0, here] + counts[j, here]
            last = here if counts[j, here] > 0 else last
            near[1, here] = last
        for here in range(high, low - 1, -1):
            last = here if counts[j, here] > 0 else last
            near[2, here] = last
        for run in range(many_runs[j]):
            begin, end = max(np.int64(runs[0, j, run]), low), min(np.int64(runs[1, j, run]), high)
            if begin > end:
                continue
            inside = np.int64(near[0, end + 1] - near[0, begin])
            if inside < k or inside > most:
                continue
            begin, end = np.int64(near[2, begin]), np.int64(near[1, end])
            gain = np.float64(inside * (gained + whole - tree_cost(gap, j, begin, end)))
            if straight and (begin == low or end == high):
                rest_low = np.int64(near[2, end + 1]) if begin == low else low
                rest_high = np.int64(near[1, begin - 1]) if end == high else high
                gain += (total - inside) * (whole - tree_cost(gap, j, rest_low, rest_high))
            gain = _shaken(gain, best, noise, rng_state)
            if gain > best:
                best, axis, best_low, best_high = gain, j, begin, end
    return best, axis, best_low, best_high


@inlined
def _shaken(gain: float, best: float, noise: float, rng_state: NDArray[np.uint64]) -> float:
    """Return a gain increased by random noise, or the gain itself if not even the largest noise makes it the best."""
    return gain * (1 + noise * chance(rng_state)) if gain * (1 + noise) > best else np.float64(gain)
