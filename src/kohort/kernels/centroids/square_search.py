"""Search for groups of less square error: each group in turn is pooled with its nearest, and the pool is grouped anew."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import inlined, kernel
from kohort.kernels.centroids.centroid_tree import Nest
from kohort.kernels.centroids.centroids import ClusterMembers, Space, join
from kohort.kernels.centroids.square_pool import PromiseCheck, SquarePool, add_up, exchange, move_and_swap, regrow
from kohort.kernels.core.promise_rules import Whole
from kohort.kernels.core.randomness import below, deal

TRIES = 2  # new groupings of a pool
SWAPS = 8  # pairs of rows that are swapped at most, where a new grouping begins with random swaps
SELDOM = 0.1  # how often a group that has no error is looked at
OFTEN = 4.0  # a group of this part of the mean error is always looked at
SHARES = np.int64(1 << 30)
NOISE = 1e-10  # of errors and distances: smaller gains may be those of rounding


@inlined
def _squared(
    shape: NDArray[np.int64], runs: NDArray[np.float64], power: NDArray[np.int64], axis: int, one: float, other: float
) -> float:
    """How far two features of one axis are apart, squared: `centroids.apart`, without a call."""
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
    """The rows of each group as a chain; rows below 0 are left out."""
    for row in range(labels.size):
        if labels[row] >= 0:
            join(members, row, labels[row])


@kernel
def unchain(members: ClusterMembers, labels: NDArray[np.int64]) -> None:
    """The group of each row of a chain."""
    for group in range(members.head.size):
        row = members.head[group]
        while row >= 0:
            labels[row] = group
            row = members.following[row]


@kernel
def describe(
    space: Space,
    members: ClusterMembers,
    middles: NDArray[np.float64],  # OUT (groups, axes): means of numbers; of categories the middle one, within any majority
    spread: NDArray[np.float64],  # OUT (groups): squared distances of the members from there
    column: NDArray[np.float64],  # scratch (rows of the largest group)
) -> None:
    """Where each group lies, and how far it reaches."""
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
    space: Space,  # its values are the groups' middles
    nest: Nest,
    near: NDArray[np.int64],  # OUT (groups, neighbours): the nearest groups, nearest first; -1 where there are no more
    distance: NDArray[np.float64],  # scratch (neighbours)
    state: NDArray[np.int64],  # IN state[1] = stop now
) -> None:
    """The nearest groups of each. Boxes that are further away than the last of the nearest so far are not opened."""
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
            if waiting == before + 2 and bound[before] < bound[before + 1]:  # the nearer of two boxes is opened first
                stack[before], stack[before + 1] = stack[before + 1], stack[before]
                bound[before], bound[before + 1] = bound[before + 1], bound[before]


@kernel
def _measure(space: Space, pool: SquarePool, count: Whole, column: NDArray[np.float64]) -> float:
    """The squared distances of a pool's rows. Returns the largest."""
    values, _point, _factor, shape, runs, power = space
    rows, between = pool.rows, pool.apart
    for row in range(count):
        between[row, :count] = 0.0
    for axis in range(values.shape[1]):
        lowest = np.inf
        for row in range(count):
            column[row] = values[rows[row], axis]
            lowest = min(lowest, column[row])
        plain = shape[axis, 1] == 0 and lowest >= 0  # numbers, none missing
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
    """A group and some of its nearest, as many as are drawn and as fit. Returns the number of rows and of groups."""
    rows, of_row = pool.rows, pool.group
    count, groups, wanted = 0, 0, 2 + below(seed, step, most - 1)
    for index in range(-1, near.shape[1]):
        candidate = group if index < 0 else near[group, index]
        if candidate < 0 or groups == wanted:
            break
        if sizes[candidate] == 0 or count + sizes[candidate] > rows.size:
            continue
        if index >= 0 and below(seed, step + 2 + index, np.int64(4)) == 0:  # not always the same ones
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
    members: ClusterMembers,  # IN OUT: with room for new groups
    near: NDArray[np.int64],  # IN (groups, neighbours)
    spread: NDArray[np.float64],  # IN (groups)
    sizes: NDArray[np.int64],  # IN OUT (room for groups)
    order: NDArray[np.int64],  # scratch (groups)
    taken: NDArray[np.int64],  # scratch (groups of a pool)
    best: NDArray[np.int64],  # scratch (rows of a pool)
    column: NDArray[np.float64],  # scratch (rows of a pool)
    most: Whole,  # groups in a pool
    used: Whole,  # numbers of groups
    loose: float,  # by which part of its error a pool may become worse
    seed: int,
    state: NDArray[np.int64],  # IN state[1] = stop now
) -> tuple[Whole, float]:
    """Every group with neighbours once, in a random order. Returns the numbers of groups used, and what was gained."""
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
            way = below(seed, at, np.int64(8))  # of eight times, three as many groups, one more and one fewer, three swaps
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
