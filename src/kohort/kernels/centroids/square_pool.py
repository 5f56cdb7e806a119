"""Pool a few neighbouring groups and form their groups again, using only the squared distances between their rows.

The squared error of a group about its mean is the sum of the squared distances of its pairs, divided by its size. So the sums
of the squared distances from each row to each group are enough to compute the effect of a move or a swap, for numbers and
categories. No mean is needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.core.group_checks import group_is_valid
from kohort.kernels.core.promise_rules import Rules, Tally, Whole
from kohort.kernels.core.randomness import below

NOBODY = np.int64(-1)  # no row, or no group
ENOUGH = 50  # largest number of changes per row of a pool: not reached in practice, but rounding must not cause an endless loop
REFUSALS = 3  # after this many changes of one row that break a promise, the row stays in its group


class PromiseCheck(NamedTuple):
    """The promises and the data needed to check them for a group in a pool."""

    k: int
    beyond_k: bool
    rules: Rules
    tally: Tally
    sensitive: NDArray[np.int64]  # (rows, sensitive)
    mine: NDArray[np.int64]  # scratch (rows of a pool, sensitive)


class SquarePool(NamedTuple):
    """Working memory for R rows in up to G groups. Rows and groups are numbered within the pool."""

    rows: NDArray[np.int64]  # (R): their numbers in the table
    apart: NDArray[np.float64]  # (R, R): squared distances
    group: NDArray[np.int64]  # (R): the group of each row, -1 for none
    sizes: NDArray[np.int64]  # (G)
    sums: NDArray[np.float64]  # (G, R): sum of the squared distances from each row to the members of the group
    pairs: NDArray[np.float64]  # (G): sum of the squared distances of the pairs of members
    inverse: NDArray[np.float64]  # (G): 1 / size
    own: NDArray[np.float64]  # (R): mean squared distance to the members of the row's own group
    to: NDArray[np.float64]  # (G): mean squared distance of the current row to the members of each group
    seeds: NDArray[np.int64]  # (G): the row from which each group was formed


@kernel
def is_valid(promise_check: PromiseCheck, pool: SquarePool, count: Whole, group: Whole, without: Whole, plus: Whole) -> bool:
    """Return whether a group satisfies the promises without row `without` and with row `plus`. Either may be NOBODY."""
    sensitive, mine, rows, of_row = promise_check.sensitive, promise_check.mine, pool.rows, pool.group
    size = 0
    for row in range(count):
        if row == plus or (of_row[row] == group and row != without):
            for column in range(mine.shape[1]):
                mine[size, column] = sensitive[rows[row], column]
            size += 1
    return group_is_valid(promise_check.rules, promise_check.tally, mine, np.int64(0), np.int64(size))


@kernel
def add_up(pool: SquarePool, count: Whole, groups: Whole) -> float:
    """Compute all sums of the current groups. Return the squared error."""
    _rows, apart, group, sizes, sums, pairs, _inverse, _own, _to, _seeds = pool
    sizes[:groups] = 0
    pairs[:groups] = 0.0
    sums[:groups, :count] = 0.0
    for row in range(count):
        home = group[row]
        sizes[home] += 1
        for other in range(count):
            sums[home, other] += apart[row, other]
    for row in range(count):
        pairs[group[row]] += 0.5 * sums[group[row], row]
    error = 0.0
    for home in range(groups):
        error += pairs[home] / sizes[home]
    return error


@kernel
def _move(pool: SquarePool, count: Whole, row: Whole, to: Whole) -> None:
    """Move a row to another group and update the sums."""
    _rows, apart, group, sizes, sums, pairs, _inverse, _own, _to, _seeds = pool
    home = group[row]
    pairs[home] -= sums[home, row]
    pairs[to] += sums[to, row]
    sizes[home] -= 1
    sizes[to] += 1
    group[row] = to
    for other in range(count):
        sums[home, other] -= apart[row, other]
        sums[to, other] += apart[row, other]


@kernel
def move_and_swap(promise_check: PromiseCheck, pool: SquarePool, count: Whole, groups: Whole, least: float) -> float:
    """Move and swap rows while the best change of some row gains more than `least`. Return the squared error."""
    _rows, apart, group, sizes, sums, pairs, inverse, own, to, _seeds = pool
    k, beyond_k = promise_check.k, promise_check.beyond_k
    add_up(pool, count, groups)
    for home in range(groups):
        inverse[home] = 1.0 / sizes[home]
    for other in range(count):
        own[other] = sums[group[other], other] * inverse[group[other]]
    row, content, refused, worst, changes = np.int64(0), 0, 0, -np.inf, 0
    while content < count and changes < ENOUGH * count:
        home = group[row]
        change, target, partner = -least, NOBODY, NOBODY
        for other in range(groups):
            to[other] = sums[other, row] * inverse[other]
        if sizes[home] > k:
            gone = (pairs[home] - sums[home, row]) / (sizes[home] - 1) - pairs[home] * inverse[home]
            for other in range(groups):
                if other != home:
                    here = gone + (pairs[other] + sums[other, row]) / (sizes[other] + 1) - pairs[other] * inverse[other]
                    if worst < here < change:
                        change, target = here, np.int64(other)
        mine, share = own[row], inverse[home]
        for other in range(count):
            there = group[other]
            if there != home:
                here = sums[home, other] * share - own[other] + to[there] - mine - apart[row, other] * (share + inverse[there])
                if worst < here < change:
                    change, target, partner = here, there, np.int64(other)
        if target >= 0 and beyond_k:
            fits = is_valid(promise_check, pool, count, home, row, partner) and is_valid(
                promise_check, pool, count, target, partner, row
            )
            if not fits:
                refused, worst = refused + 1, change  # next: find the second best change
                if refused < REFUSALS:
                    continue
                target = NOBODY
        refused, worst = 0, -np.inf
        content += 1
        if target >= 0:
            content, changes = 0, changes + 1
            _move(pool, count, row, target)
            if partner >= 0:
                _move(pool, count, partner, home)
            inverse[home], inverse[target] = 1.0 / sizes[home], 1.0 / sizes[target]
            for other in range(count):
                if group[other] == home or group[other] == target:
                    own[other] = sums[group[other], other] * inverse[group[other]]
        row = row + 1 if row + 1 < count else np.int64(0)
    return add_up(pool, count, groups)


@kernel
def exchange(promise_check: PromiseCheck, pool: SquarePool, count: Whole, swaps: Whole, seed: int, step: Whole) -> None:
    """Swap random rows between groups. Each swap uses two steps of the random numbers."""
    group = pool.group
    for swap in range(swaps):
        one, other = below(seed, step + 2 * swap, count), below(seed, step + 2 * swap + 1, count)
        home, there = group[one], group[other]
        if home == there or (promise_check.beyond_k and not is_valid(promise_check, pool, count, home, one, other)):
            continue
        if promise_check.beyond_k and not is_valid(promise_check, pool, count, there, other, one):
            continue
        group[one], group[other] = there, home


@kernel
def regrow(promise_check: PromiseCheck, pool: SquarePool, count: Whole, groups: Whole, seed: int, step: Whole) -> np.int64:
    """Form the groups again: add to a random row its nearest rows until the group is valid. Other rows join the nearest seed row.

    Uses `groups` steps of the random numbers. Return the number of groups: fewer if no more valid groups can be formed, and 0
    if some group is not valid.
    """
    apart, group, seeds = pool.apart, pool.group, pool.seeds
    group[:count] = NOBODY
    free, made = np.int64(count), np.int64(0)
    while made < groups and free >= promise_check.k:
        skip, first = below(seed, step + made, free), np.int64(0)
        while group[first] >= 0 or skip > 0:
            skip -= group[first] < 0
            first += 1
        group[first], seeds[made], size = made, first, 1
        free -= 1
        while size < promise_check.k or (
            promise_check.beyond_k and not is_valid(promise_check, pool, count, made, NOBODY, NOBODY)
        ):
            nearest, least = NOBODY, np.inf
            for row in range(count):
                if group[row] < 0 and apart[first, row] < least:
                    nearest, least = np.int64(row), apart[first, row]
            if nearest < 0:
                break
            group[nearest] = made
            size += 1
            free -= 1
        made += 1
    fails = promise_check.beyond_k and not is_valid(promise_check, pool, count, made - 1, NOBODY, NOBODY)
    if fails:  # no free row was left to make it valid
        made -= 1
    for row in range(count):
        if group[row] < 0 or group[row] >= made:
            nearest, least = NOBODY, np.inf
            for home in range(made):
                if apart[seeds[home], row] < least:
                    nearest, least = np.int64(home), apart[seeds[home], row]
            group[row] = nearest
    if promise_check.beyond_k:
        for home in range(made):
            if not is_valid(promise_check, pool, count, home, NOBODY, NOBODY):
                return np.int64(0)
    return made
