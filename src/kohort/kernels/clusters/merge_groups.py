"""Merge each invalid group with the group that costs least, until all groups are valid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.clusters.nearest_group import NeighbourBoxes, merge, nearest
from kohort.kernels.core.group_checks import group_is_valid
from kohort.kernels.core.promise_rules import Rules, Tally
from kohort.kernels.core.randomness import below
from kohort.kernels.core.widths import AxisTables


@kernel
def merge_failing(
    axes: AxisTables,
    rules: Rules,
    tally: Tally,
    sensitive: NDArray[np.int64],  # IN (rows, sensitive)
    boxes: NeighbourBoxes,  # IN OUT
    head: NDArray[np.int64],  # IN OUT (groups): the first row of its chain
    tail: NDArray[np.int64],  # IN OUT (groups): the last row of its chain
    following: NDArray[np.int64],  # IN OUT (rows): the next row of the chain, or -1
    valid: NDArray[np.bool_],  # IN OUT (groups)
    goes_to: NDArray[np.int64],  # IN OUT (groups): the group that each was merged into; itself before the call
    until: int,  # stop when only this many groups remain
    seed: int,  # below 0: take the smallest invalid group, in a tie the lowest number; otherwise draw one at random
    step: int | np.int64,  # counter of the random numbers
    members: NDArray[np.int64],  # scratch (rows, sensitive)
    state: NDArray[np.int64],  # IN state[1] = stop now
) -> int | np.int64:
    """Merge until all groups are valid or only `until` groups remain. Return the next step of the random numbers.

    A group that was merged into another is marked as valid.
    """
    failing, left = np.int64(0), valid.size
    for group in range(valid.size):
        failing += not valid[group]
    while failing > 0 and left > until and state[1] == 0:
        one = _smallest(boxes, valid) if seed < 0 else _numbered(valid, below(seed, step, failing))
        step += 1
        left -= 1
        here = boxes.index_of[one]
        there = nearest(axes, boxes, here)
        other = boxes.number[there]
        if boxes.sizes[here] < boxes.sizes[there]:
            here, there = there, here
        merge(axes, boxes, here, there)
        into, gone = min(one, other), max(one, other)
        following[tail[into]], tail[into] = head[gone], tail[gone]
        goes_to[gone] = into
        failing -= 1 if valid[other] else 2
        valid[gone] = True
        size = boxes.sizes[boxes.index_of[into]]
        row = head[into]
        for i in range(size if sensitive.shape[1] > 0 else 0):  # counted again, not added up: people may have rows in both groups
            for c in range(sensitive.shape[1]):
                members[i, c] = sensitive[row, c]
            row = following[row]
        valid[into] = group_is_valid(rules, tally, members, np.int64(0), size) if sensitive.shape[1] > 0 else size >= rules.k
        failing += not valid[into]
    return step


@kernel
def _smallest(boxes: NeighbourBoxes, valid: NDArray[np.bool_]) -> int:
    """Return the invalid group with the fewest rows; in a tie the first."""
    found, least = -1, np.iinfo(np.int64).max
    for group in range(valid.size):
        if not valid[group] and boxes.sizes[boxes.index_of[group]] < least:
            found, least = group, boxes.sizes[boxes.index_of[group]]
    return found


@kernel
def _numbered(valid: NDArray[np.bool_], number: int | np.int64) -> int:
    """Return the invalid group with this number, counting only invalid groups."""
    group = 0
    while valid[group] or number > 0:
        number -= not valid[group]
        group += 1
    return group
