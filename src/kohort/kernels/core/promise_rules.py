"""Check whether a group of rows is valid, with a tally that is updated as rows are added to the group or removed from it.

`sensitive` is an array (rows, sensitive). Its columns hold one value per sensitive column. The values of all sensitive columns
are numbered consecutively, column by column. If people have several rows, further columns hold the number of the person and,
per sensitive column, the number of the pair (person, value). A person then counts once, and so does each value of the person.
The tally then also counts the rows of each person, and of each pair, on each side.

A tally has two sides, left and right of a cut. A group that is not cut uses one side.
Counts that change with one row are updated at once. Measures that depend on all shares are computed when a check needs them,
from the values that occur in the group.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel

EQUAL, ORDERED, TREE = 0, 1, 2  # distances between two values, for t-closeness
NOISE = 1e-11  # rounding error allowed in shares and entropies. The audit allows more, so it never rejects what passes here.


BOUNDED, ENTROPY, RECURSIVE_L, RECURSIVE_C, T, DISTANCE, TREE_BASE = range(7)  # columns of `Rules.of_column`
MOST_OF_SIZE, MOST, LEAST, SHARE, UP_TO = range(5)  # columns of `Rules.of_value`
WEIGHT, NODE_SHARE = range(2)  # columns of `Rules.of_node`

Whole = int | np.int64


class Rules(NamedTuple):
    """The promises for one table as plain numbers. C sensitive columns, V values, N nodes of their trees.

    Few arrays, because numba needs time for each array of a tuple, when it compiles and at each call.
    """

    k: int
    persons: bool
    shares_count: bool  # False: the promises limit only group sizes and numbers of different values
    first: NDArray[np.int64]  # (C + 1): where each column's values begin
    least_distinct: NDArray[np.int64]  # (C): how many different values a group must have
    of_column: NDArray[np.float64]  # (C, 7): BOUNDED, 1 if shares have bounds; the smallest allowed ENTROPY; RECURSIVE_L and
    #   RECURSIVE_C; the largest allowed T; its DISTANCE; TREE_BASE, the tree distance of a group without values to the table.
    #   A number below 0 means that the promise was not requested.
    of_value: NDArray[np.float64]  # (V, 5): MOST_OF_SIZE, largest share of the group's size; MOST, largest share of the counts
    #   of the column; LEAST, smallest share if the value is present; SHARE, share in the table; UP_TO, cumulative share in
    #   the table of the column's values up to this one
    up_to_before: NDArray[np.float64]  # (V + C): the sum of UP_TO before each value; one entry more per column
    path: NDArray[np.int64]  # (V + 1): where the nodes of each value begin in `nodes`, from the leaf up, without the root
    nodes: NDArray[np.int64]
    of_node: NDArray[np.float64]  # (N, 2): WEIGHT, half the height difference to its parent divided by the height of the tree;
    #   NODE_SHARE, the share of its values in the table


class Tally(NamedTuple):
    """Counts of one group, on two sides of a cut. One thread uses it. All counts are zero between two groups."""

    sums: NDArray[np.int64]  # (2, 1 + 2C): size in rows or people; per column the sum of counts; per column the different values
    counts: NDArray[np.int64]  # (2, V): number of rows, or people, with each value
    rows_of: NDArray[np.int32]  # (2, people and pairs): rows of each person, then of each pair (person, value)
    present: NDArray[np.int64]  # (V): the values of each column that occur in the group, from `first` of the column on
    listed: NDArray[np.int64]  # (C): how many values of each column are in `present`
    largest: NDArray[np.int64]  # scratch: the largest counts of a column
    mass: NDArray[np.float64]  # scratch (N): share of the group below each node


@kernel
def enter(
    rules: Rules, tally: Tally, sensitive: NDArray[np.int64], begin: int | np.int64, end: int | np.int64, side: int | np.int64
) -> None:
    """Add the rows begin..end of `sensitive` to one side of the tally."""
    columns = rules.first.size - 1
    sums, counts, rows_of = tally.sums, tally.counts, tally.rows_of
    for i in range(begin, end):
        sums[side, 0] += not rules.persons or _one_more(rows_of, side, sensitive[i, columns])
        for c in range(columns):
            if rules.persons and not _one_more(rows_of, side, sensitive[i, columns + 1 + c]):
                continue
            value = sensitive[i, c]
            if counts[side, value] == 0:
                sums[side, 1 + columns + c] += 1
                if counts[1 - side, value] == 0:
                    tally.present[rules.first[c] + tally.listed[c]] = value
                    tally.listed[c] += 1
            counts[side, value] += 1
            sums[side, 1 + c] += 1


@kernel
def cross(
    sums: NDArray[np.int64],  # IN OUT: of the tally
    counts: NDArray[np.int64],  # IN OUT: of the tally
    rows_of: NDArray[np.int32],  # IN OUT: of the tally
    sensitive: NDArray[np.int64],
    begin: Whole,
    end: Whole,
    to: Whole,
) -> None:
    """Move the rows begin..end from the other side to side `to`. The list of values present does not change.

    It takes single arrays, not the whole tally, to keep calls cheap: it is called for every value.
    """
    columns = (sums.shape[1] - 1) // 2
    persons = sensitive.shape[1] > columns
    off = 1 - to
    for i in range(begin, end):
        if persons:
            sums[to, 0] += _one_more(rows_of, to, sensitive[i, columns])
            sums[off, 0] -= _one_less(rows_of, off, sensitive[i, columns])
        for c in range(columns):
            value = sensitive[i, c]
            comes = not persons or _one_more(rows_of, to, sensitive[i, columns + 1 + c])
            goes = not persons or _one_less(rows_of, off, sensitive[i, columns + 1 + c])
            sums[to, 1 + columns + c] += comes and counts[to, value] == 0
            counts[to, value] += comes
            counts[off, value] -= goes
            sums[off, 1 + columns + c] -= goes and counts[off, value] == 0
            sums[to, 1 + c] += comes
            sums[off, 1 + c] -= goes
    if not persons:
        sums[to, 0] += end - begin
        sums[off, 0] -= end - begin


@kernel
def _one_more(rows_of: NDArray[np.int32], side: Whole, who: Whole) -> bool:
    """Count one row more of a person or pair. Return whether it is the first on this side."""
    rows_of[side, who] += 1
    return rows_of[side, who] == 1


@kernel
def _one_less(rows_of: NDArray[np.int32], side: Whole, who: Whole) -> bool:
    """Count one row less of a person or pair. Return whether it was the last on this side."""
    rows_of[side, who] -= 1
    return rows_of[side, who] == 0


@kernel
def clear(rules: Rules, tally: Tally, sensitive: NDArray[np.int64], begin: Whole, end: Whole) -> None:
    """Set the tally to zero, only where the group changed it.

    The rows begin..end of `sensitive` are those of the group. They are used only if people are counted.
    """
    tally.sums[:] = 0
    for c in range(rules.first.size - 1):
        for i in range(rules.first[c], rules.first[c] + tally.listed[c]):
            tally.counts[0, tally.present[i]] = 0
            tally.counts[1, tally.present[i]] = 0
        tally.listed[c] = 0
    if rules.persons:
        for i in range(begin, end):
            for j in range(rules.first.size - 1, sensitive.shape[1]):
                tally.rows_of[0, sensitive[i, j]] = 0
                tally.rows_of[1, sensitive[i, j]] = 0


@kernel
def sort_present(rules: Rules, tally: Tally) -> None:
    """Sort the values present, for the columns whose distance uses the order of the values."""
    for c in range(rules.first.size - 1):
        if rules.of_column[c, T] >= 0 and rules.of_column[c, DISTANCE] == ORDERED:
            tally.present[rules.first[c] : rules.first[c] + tally.listed[c]].sort()


@kernel
def has_room(sums: NDArray[np.int64], side: Whole, k: int, least_distinct: NDArray[np.int64]) -> bool:
    """Return whether a side has enough people or rows, and enough different values. If not, no part of the side has."""
    if sums[side, 0] < k:
        return False
    columns = least_distinct.size
    for c in range(columns):  # noqa: SIM110 - numba has no all()
        if sums[side, 1 + columns + c] < least_distinct[c]:
            return False
    return True


@kernel
def side_is_valid(rules: Rules, tally: Tally, side: Whole) -> bool:
    """Return whether a side satisfies all promises."""
    return has_room(tally.sums, side, rules.k, rules.least_distinct) and is_balanced(rules, tally, side)


@kernel
def is_balanced(rules: Rules, tally: Tally, side: Whole) -> bool:
    """Return whether a side satisfies the promises that limit shares of values."""
    if not rules.shares_count:
        return True
    for c in range(rules.first.size - 1):
        if rules.of_column[c, BOUNDED] > 0 and not is_within_bounds(rules, tally, side, c):
            return False
        if rules.of_column[c, ENTROPY] >= 0 and not is_mixed(rules, tally, side, c):
            return False
        if rules.of_column[c, RECURSIVE_L] > 0 and not has_no_favourite(rules, tally, side, c):
            return False
        if rules.of_column[c, T] >= 0 and distance_to_table(rules, tally, side, c) > rules.of_column[c, T] + NOISE:
            return False
    return True


@kernel
def is_within_bounds(rules: Rules, tally: Tally, side: Whole, column: Whole) -> bool:
    """Return whether the share of each value present is within its bounds."""
    size, total = tally.sums[side, 0] * (1 + NOISE), tally.sums[side, 1 + column]
    for i in range(rules.first[column], rules.first[column] + tally.listed[column]):
        value = tally.present[i]
        count, limits = tally.counts[side, value], rules.of_value[value]
        if count > 0 and (count > limits[MOST_OF_SIZE] * size or count > limits[MOST] * total or count < limits[LEAST] * total):
            return False
    return True


@kernel
def is_mixed(rules: Rules, tally: Tally, side: Whole, column: Whole) -> bool:
    """Return whether the entropy of the values is large enough."""
    total, sum_of_logs = np.float64(tally.sums[side, 1 + column]), 0.0
    for i in range(rules.first[column], rules.first[column] + tally.listed[column]):
        count = np.float64(tally.counts[side, tally.present[i]])
        if count > 0:
            sum_of_logs += count * np.log(count)
    return np.log(total) - sum_of_logs / total >= rules.of_column[column, ENTROPY] - NOISE


@kernel
def has_no_favourite(rules: Rules, tally: Tally, side: Whole, column: Whole) -> bool:
    """Return whether recursive (c, l)-diversity holds.

    The most frequent value must have a count below c times the sum of the counts from the l-th most frequent value on.
    """
    before = np.int64(rules.of_column[column, RECURSIVE_L]) - 1
    largest = tally.largest[:before]
    largest[:] = 0
    for i in range(rules.first[column], rules.first[column] + tally.listed[column]):
        count = tally.counts[side, tally.present[i]]
        index = before
        while index > 0 and largest[index - 1] < count:
            if index < before:
                largest[index] = largest[index - 1]
            index -= 1
        if index < before:
            largest[index] = count
    tail = tally.sums[side, 1 + column] - largest.sum()
    return largest[0] < rules.of_column[column, RECURSIVE_C] * tail * (1 - NOISE)


@kernel
def distance_to_table(rules: Rules, tally: Tally, side: Whole, column: Whole) -> float:
    """Return the earth mover's distance between the values of a side and those of the whole table."""
    begin = rules.first[column]
    end = begin + tally.listed[column]
    total = np.float64(tally.sums[side, 1 + column])
    if rules.of_column[column, DISTANCE] == EQUAL:
        excess = 0.0
        for i in range(begin, end):
            value = tally.present[i]
            excess += max(tally.counts[side, value] / total - rules.of_value[value, SHARE], 0.0)
        return excess
    if rules.of_column[column, DISTANCE] == ORDERED:
        return _along_the_order(rules, tally, side, column, total)
    moved = rules.of_column[column, TREE_BASE]
    for i in range(begin, end):
        value = tally.present[i]
        for at in range(rules.path[value], rules.path[value + 1]):
            tally.mass[rules.nodes[at]] += tally.counts[side, value] / total
    for i in range(begin, end):
        value = tally.present[i]
        for at in range(rules.path[value], rules.path[value + 1]):
            node = rules.nodes[at]
            share = rules.of_node[node, NODE_SHARE]
            if tally.mass[node] > 0:
                moved += rules.of_node[node, WEIGHT] * (abs(tally.mass[node] - share) - share)
                tally.mass[node] = 0.0
    return moved


@kernel
def _along_the_order(rules: Rules, tally: Tally, side: Whole, column: Whole, total: float) -> float:
    """Return the mean difference between the cumulative shares of the side and of the table.

    Between two values present the cumulative share of the side is constant, so these runs of values are summed at once.
    """
    first, last = rules.first[column], rules.first[column + 1]
    if last - first < 2:
        return 0.0
    before, start, reached, gaps = rules.up_to_before[column:], first, np.int64(0), 0.0
    for i in range(first, first + tally.listed[column] + 1):
        is_last = i == first + tally.listed[column]
        stop = last if is_last else tally.present[i]
        here = reached / total
        low, high = start, stop  # finds the first value of the run where the table's cumulative share exceeds the side's
        while low < high:
            middle = (low + high) // 2
            if rules.of_value[middle, UP_TO] > here:
                high = middle
            else:
                low = middle + 1
        gaps += here * (low - start) - (before[low] - before[start]) + (before[stop] - before[low]) - here * (stop - low)
        if not is_last:
            reached += tally.counts[side, stop]
            start = stop
    return gaps / (last - first - 1)
