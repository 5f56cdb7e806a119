"""Search for groups with less squared error: pool each group with its nearest groups, and form the groups of the pool again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import inlined, kernel
from kohort.kernels.centroids.centroid_tree import Nest
from kohort.kernels.centroids.centroids import ClusterMembers, Space, join
from kohort.kernels.centroids.square_pool import PromiseCheck, SquarePool, add_up, exchange, move_and_swap, regrow
from kohort.kernels.core.promise_rules import Whole
from kohort.kernels.core.randomness import below, deal

TRIES = 2  # attempts to form the groups of a pool again
SWAPS = 8  # largest number of random swaps, if an attempt starts with random swaps
SELDOM = 0.1  # probability that a group without error is tried
OFTEN = 4.0  # added to this probability: this factor times the group's error, relative to the mean error
SHARES = np.int64(1 << 30)  # resolution of the probabilities
NOISE = 1e-10  # relative to errors and distances: smaller gains may come from rounding


@inlined
def _squared(
    shape: NDArray[np.int64], runs: NDArray[np.float64], power: NDArray[np.int64], axis: int, one: float, other: float
) -> float:
    """Return the squared distance of two features of one axis: `centroids.apart`, but inlined and squared."""
    start, size = shape[axis, 0], shape[axis, 1]
    if size == 0:
        between = one - other
        if (one < 0) != (other < 0):
            between = runs[start]
    else:
        low, high = np.int64(min(one, other)), np.int64(max(one, other))
        level = power[high - low]
        start += level * size
        between = max(runs[start + low], runs[start + high - ((1 << level) >> 1)])
    return between * between


@kernel
def chain(members: ClusterMembers, labels: NDArray[np.int64]) -> None:
    """Store the rows of each group as a linked list. Rows with a label below 0 are skipped."""
    for row in range(labels.size):
        if labels[row] >= 0:
            join(members, row, labels[row])


@kernel
def unchain(members: ClusterMembers, labels: NDArray[np.int64]) -> None:
    """Write the group of each row into `labels`."""
    for group in range(members.head.size):
        row = members.head[group]
        while row >= 0:
            labels[row] = group
            row = members.following[row]


@kernel
def describe(
    space: Space,
    members: ClusterMembers,
    middles: NDArray[np.float64],  # OUT (groups, axes): mean of numbers; median code of categories, which is in any majority
    spread: NDArray[np.float64],  # OUT (groups): sum of the squared distances of the members from the middle
    column: NDArray[np.float64],  # scratch (rows of the largest group)
) -> None:
    """Compute the middle of each group and the spread of its members around it."""
    values, _point, _factor, shape, runs, power = space
    head, following = members
    spread[:] = 0.0
    for group in range(middles.shape[0]):
        for axis in range(middles.shape[1]):
            row, size, present, total = head[group], 0, 0, 0.0
            while row >= 0:
                index = values[row, axis]
                column[size] = index
                size += 1
                if index >= 0:
                    present += 1
                    total += index
                row = following[row]
            if shape[axis, 1] > 0:
                column[:size].sort()
                middle = column[size // 2]
            else:
                middle = total / present if 2 * present >= size else -1.0
            middles[group, axis] = middle
            for index in column[:size]:
                spread[group] += _squared(shape, runs, power, axis, index, middle)


@kernel
def update_neighbourhood(
    space: Space,  # its values are the middles of the groups
    nest: Nest,
    near: NDArray[np.int64],  # OUT (groups, neighbours): the nearest groups, nearest first; -1 where there are no more
    distance: NDArray[np.float64],  # scratch (neighbours)
    state: NDArray[np.int64],  # IN state[1] = stop now
) -> None:
    """Find the nearest groups of each group. Boxes farther away than the last of the nearest found so far are skipped."""
    values, _point, _factor, shape, runs, power = space
    low, high, first, last, _lowest, _room, order, _index, _home, stack, bound = nest
    boxes, most = first.size, near.shape[1]
    for group in range(near.shape[0]):
        if state[1] != 0:
            return
        near[group] = -1
        distance[:] = np.inf
        stack[0], bound[0], waiting = 0, 0.0, 1
        while waiting > 0:
            waiting -= 1
            box = stack[waiting]
            if bound[waiting] >= distance[most - 1]:
                continue
            inner = 2 * box + 2 < boxes
            entry, end = (2 * box + 1, 2 * box + 3) if inner else (boxes + first[box], boxes + last[box])
            before = waiting
            while entry < end:
                away, furthest = 0.0, distance[most - 1]
                for axis in range(values.shape[1]):
                    value = values[group, axis]
                    away += _squared(shape, runs, power, axis, value, min(max(value, low[entry, axis]), high[entry, axis]))
                    if away >= furthest:
                        break
                if inner and away < furthest:
                    stack[waiting], bound[waiting] = entry, away
                    waiting += 1
                elif away < furthest and order[entry - boxes] != group:
                    at = most - 1
                    while at > 0 and distance[at - 1] > away:
                        distance[at], near[group, at] = distance[at - 1], near[group, at - 1]
                        at -= 1
                    distance[at], near[group, at] = away, order[entry - boxes]
                entry += 1
            if waiting == before + 2 and bound[before] < bound[before + 1]:  # the nearer of two boxes is searched first
                stack[before], stack[before + 1] = stack[before + 1], stack[before]
                bound[before], bound[before + 1] = bound[before + 1], bound[before]


@kernel
def _measure(space: Space, pool: SquarePool, count: Whole, column: NDArray[np.float64]) -> float:
    """Compute the squared distances between the rows of a pool. Return the largest."""
    values, _point, _factor, shape, runs, power = space
    rows, between = pool.rows, pool.apart
    for row in range(count):
        between[row, :count] = 0.0
    for axis in range(values.shape[1]):
        lowest = np.inf
        for row in range(count):
            column[row] = values[rows[row], axis]
            lowest = min(lowest, column[row])
        plain = shape[axis, 1] == 0 and lowest >= 0  # numbers without missing values
        for row in range(count):
            here = column[row]
            if plain:
                for other in range(row):
                    between[row, other] += (here - column[other]) ** 2
            else:
                for other in range(row):
                    between[row, other] += _squared(shape, runs, power, axis, here, column[other])
    largest = 0.0
    for row in range(count):
        for other in range(row):
            between[other, row] = between[row, other]
            largest = max(largest, between[row, other])
    return largest


@kernel
def _gather(
    pool: SquarePool, members: ClusterMembers, near: NDArray[np.int64], sizes: NDArray[np.int64], taken: NDArray[np.int64],
    group: Whole, most: Whole, seed: int, step: Whole,
) -> tuple[int, int]:  # fmt: skip
    """Fill the pool with a group and some of its nearest groups. Return the number of rows and of groups.

    The number of groups is drawn at random. Groups that do not fit are skipped.
    """
    rows, of_row = pool.rows, pool.group
    count, groups, wanted = 0, 0, 2 + below(seed, step, most - 1)
    for index in range(-1, near.shape[1]):
        candidate = group if index < 0 else near[group, index]
        if candidate < 0 or groups == wanted:
            break
        if sizes[candidate] == 0 or count + sizes[candidate] > rows.size:
            continue
        if index >= 0 and below(seed, step + 2 + index, np.int64(4)) == 0:  # skip some at random, so that pools differ
            continue
        taken[groups] = candidate
        row = members.head[candidate]
        while row >= 0:
            rows[count], of_row[count] = row, groups
            count += 1
            row = members.following[row]
        groups += 1
    return count, groups


@kernel
def sweep(
    space: Space,
    promise_check: PromiseCheck,
    pool: SquarePool,
    members: ClusterMembers,  # IN OUT: has room for new groups
    near: NDArray[np.int64],  # IN (groups, neighbours)
    spread: NDArray[np.float64],  # IN (groups)
    sizes: NDArray[np.int64],  # IN OUT (room for groups)
    order: NDArray[np.int64],  # scratch (groups)
    taken: NDArray[np.int64],  # scratch (groups of a pool)
    best: NDArray[np.int64],  # scratch (rows of a pool)
    column: NDArray[np.float64],  # scratch (rows of a pool)
    most: Whole,  # largest number of groups in a pool
    used: Whole,  # group numbers used so far
    loose: float,  # share by which the error of a pool may grow
    seed: int,
    state: NDArray[np.int64],  # IN state[1] = stop now
) -> tuple[Whole, float]:
    """Try every group with its neighbours once, in random order. Return the group numbers used, and the fall of the error."""
    groups, gained = order.size, 0.0
    for group in range(groups):
        order[group] = group
    deal(seed, np.int64(0), order)
    step, steps = np.int64(groups), near.shape[1] + 3 + TRIES * (2 + 2 * SWAPS + pool.sizes.size)
    mean = spread.sum() / groups
    for group in order:
        step += steps
        often = SELDOM + OFTEN * spread[group] / mean if mean > 0 else 0.0
        if state[1] != 0 or sizes[group] == 0 or below(seed, step, SHARES) >= often * SHARES:
            continue
        count, before = _gather(pool, members, near, sizes, taken, group, most, seed, step + 1)
        if before == 0:
            continue
        least = NOISE * (mean + _measure(space, pool, count, column))
        start = add_up(pool, count, before)
        kept: Whole = before
        error = move_and_swap(promise_check, pool, count, before, least)
        best[:count] = pool.group[:count]
        at = step + near.shape[1] + 3
        for _ in range(TRIES):
            pool.group[:count] = best[:count]
            made: Whole = kept
            way = below(seed, at, np.int64(8))  # of 8: 1 group less, 1 group more, 3 the same number, 3 swaps
            wanted = kept - 1 if way == 0 else kept + 1 if way == 1 else kept
            if way < 5 and 0 < wanted <= pool.sizes.size and wanted * promise_check.k <= count:
                made = regrow(promise_check, pool, count, wanted, seed, at + 2)
            else:
                exchange(promise_check, pool, count, 2 + below(seed, at + 1, np.int64(SWAPS - 1)), seed, at + 2)
            at += 2 + 2 * SWAPS + pool.sizes.size
            if made == 0:
                continue
            now = move_and_swap(promise_check, pool, count, made, least)
            if now < error * (1 + loose) - least:
                error, kept = now, made
                best[:count] = pool.group[:count]
        if abs(error - start) <= least:
            continue
        gained += start - error
        for number in range(before):
            members.head[taken[number]] = -1
            sizes[taken[number]] = 0
        for number in range(before, kept):
            taken[number] = used
            members.head[used] = -1
            used += 1
        for row in range(count):
            join(members, pool.rows[row], taken[best[row]])
            sizes[taken[best[row]]] += 1
    return used, gained
