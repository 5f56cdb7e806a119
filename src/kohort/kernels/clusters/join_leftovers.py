"""Add the rows that have no group to the groups whose loss grows least."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.core.group_checks import group_is_valid
from kohort.kernels.core.promise_rules import Rules, Tally
from kohort.kernels.core.widths import AxisTables, width

TRIES = 16  # number of groups tried for a row, if adding it can break a promise


@kernel
def join(
    axes: AxisTables,
    rules: Rules,
    tally: Tally,
    sensitive: NDArray[np.int64],  # IN (rows, sensitive)
    codes: NDArray[np.int64],  # IN (rows, axes)
    rest: NDArray[np.int64],  # IN: the rows to add, in this order
    beyond_k: bool,
    low: NDArray[np.int64],  # IN OUT (groups, axes)
    high: NDArray[np.int64],  # IN OUT (groups, axes)
    sizes: NDArray[np.int64],  # IN OUT (groups)
    labels: NDArray[np.int64],  # IN OUT (rows)
    members: NDArray[np.int64],  # scratch (rows, sensitive)
    state: NDArray[np.int64],  # IN state[1] = stop now; OUT state[0] = rows done
) -> None:
    """Add each row to the group where the total loss grows least and which stays valid; in a tie the first.

    If none of the nearest groups stays valid, the row joins the nearest one. A later repair merges that group with others.
    """
    groups, none = sizes.size, np.iinfo(np.int64).max
    costs, growth = np.zeros(groups, np.int64), np.empty(groups, np.int64)
    head, following = np.full(groups, -1, np.int64), np.full(labels.size, -1, np.int64)  # the rows of each group, as a chain
    for row in range(labels.size - 1, -1, -1):
        if labels[row] >= 0:
            following[row], head[labels[row]] = head[labels[row]], row
    for group in range(groups):
        for j in range(low.shape[1]):
            costs[group] += width(axes, j, low[group, j], high[group, j])
    for row in rest:
        if state[1] != 0:
            return
        for group in range(groups):
            cost = 0
            for j in range(low.shape[1]):
                cost += width(axes, j, min(low[group, j], codes[row, j]), max(high[group, j], codes[row, j]))
            growth[group] = (sizes[group] + 1) * cost - sizes[group] * costs[group]
        nearest = np.argmin(growth)
        chosen, tries = nearest, TRIES if beyond_k else 0
        following[row] = -1
        while tries > 0:
            following[row] = head[chosen]
            if _chain_is_valid(rules, tally, sensitive, row, following, members):
                break
            growth[chosen] = none
            chosen = np.argmin(growth)
            tries -= 1
            if tries == 0 or growth[chosen] == none:
                chosen, tries = nearest, 0
        following[row], head[chosen] = head[chosen], row
        costs[chosen] = 0
        for j in range(low.shape[1]):
            low[chosen, j], high[chosen, j] = min(low[chosen, j], codes[row, j]), max(high[chosen, j], codes[row, j])
            costs[chosen] += width(axes, j, low[chosen, j], high[chosen, j])
        sizes[chosen] += 1
        labels[row] = chosen
        state[0] += 1


@kernel
def _chain_is_valid(
    rules: Rules,
    tally: Tally,
    sensitive: NDArray[np.int64],
    row: int | np.int64,
    following: NDArray[np.int64],
    members: NDArray[np.int64],  # scratch
) -> bool:
    """Return whether the rows of the chain that begins with `row` are valid as one group."""
    size = np.int64(0)
    while row >= 0:
        for c in range(sensitive.shape[1]):
            members[size, c] = sensitive[row, c]
        size += 1
        row = following[row]
    return group_is_valid(rules, tally, members, np.int64(0), size)
