"""Assign packed rows to the parts of a tree of cuts, and count the codes in each part.

Here rows are (rows, words), one row after the other as in a file. `kernels.packed` stores them word by word.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.core.packed import BitLayout


@kernel
def put(values: NDArray[np.uint64], layout: BitLayout, column: int, words: NDArray[np.uint64]) -> None:
    """Write one column of codes into packed rows. Its bits must be zero before the call."""
    word, shift = layout.word[column], layout.shift[column]
    for i in range(values.size):
        words[i, word] |= values[i] << shift


@kernel
def get(words: NDArray[np.uint64], layout: BitLayout, column: int, values: NDArray[np.uint64]) -> None:
    """Read one column of codes from packed rows."""
    word, shift, mask = layout.word[column], layout.shift[column], layout.mask[column]
    for i in range(values.size):
        values[i] = (words[i, word] >> shift) & mask


@kernel
def route(
    words: NDArray[np.uint64],  # IN (rows, words)
    layout: BitLayout,
    axis: NDArray[np.int64],  # IN (nodes): the axis that cuts each node; -1 = not cut
    cut: NDArray[np.int64],  # IN (nodes): the last code in the left part
    left: NDArray[np.int64],  # IN (nodes): the left child; the right child has the next number
    node_of: NDArray[np.int64],  # OUT (rows): the part of each row
) -> None:
    """Find the part of every row."""
    word, shift, mask = layout.word, layout.shift, layout.mask
    for i in range(node_of.size):
        node = np.int64(0)
        while axis[node] >= 0:
            at = axis[node]
            code = np.int64((words[i, word[at]] >> shift[at]) & mask[at])
            node = left[node] + np.int64(code > cut[node])
        node_of[i] = node


@kernel
def count_codes(
    words: NDArray[np.uint64],
    layout: BitLayout,
    node_of: NDArray[np.int64],
    slot_of: NDArray[np.int64],  # IN (nodes): the slot where a part is counted; -1 = not counted
    start: NDArray[np.int64],  # IN (axes): where the codes of each axis begin in a slot
    counts: NDArray[np.int64],  # IN OUT (slots, codes of all axes)
) -> None:
    """Add the rows to the frequency sets of their parts, for all axes."""
    word, shift, mask, axes = layout.word, layout.shift, layout.mask, layout.axes
    for i in range(node_of.size):
        slot = slot_of[node_of[i]]
        if slot >= 0:
            for j in range(axes):
                counts[slot, start[j] + np.int64((words[i, word[j]] >> shift[j]) & mask[j])] += 1


@kernel
def count_persons(
    words: NDArray[np.uint64],  # IN: rows of the same person are adjacent
    person: int,  # the word that holds the person of a row
    layout: BitLayout,
    node_of: NDArray[np.int64],
    slot_of: NDArray[np.int64],
    axis_of: NDArray[np.int64],  # IN (slots): the axis that is counted in the slot
    start: NDArray[np.int64],  # IN (slots): where its codes begin
    reach: NDArray[np.int64],  # scratch (3, slots), filled with -1: lowest and highest code of a person; slots the person is in
    counts: NDArray[np.int64],  # IN OUT (2, codes of all slots): number of people by their lowest code and by their highest
) -> None:
    """Count every person once in each part, at the lowest and at the highest code that the person has there."""
    word, shift, mask = layout.word, layout.shift, layout.mask
    lowest, highest, touched = reach
    first = 0
    while first < node_of.size:
        last, parts = first, 0
        while last < node_of.size and words[last, person] == words[first, person]:
            slot = slot_of[node_of[last]]
            if slot >= 0:
                j = axis_of[slot]
                code = np.int64((words[last, word[j]] >> shift[j]) & mask[j])
                if lowest[slot] < 0:
                    touched[parts] = slot
                    parts += 1
                    lowest[slot] = highest[slot] = code
                lowest[slot] = min(lowest[slot], code)
                highest[slot] = max(highest[slot], code)
            last += 1
        for i in range(parts):
            slot = touched[i]
            counts[0, start[slot] + lowest[slot]] += 1
            counts[1, start[slot] + highest[slot]] += 1
            lowest[slot] = -1
        first = last


@kernel
def count_pairs(
    words: NDArray[np.uint64],
    layout: BitLayout,
    node_of: NDArray[np.int64],
    slot_of: NDArray[np.int64],
    axis_of: NDArray[np.int64],  # IN (slots): the axis that is counted in the slot
    start: NDArray[np.int64],  # IN (slots): where its pairs begin
    first: NDArray[np.int64],  # IN (sensitive columns + 1): where the values of each sensitive column begin
    counts: NDArray[np.int64],  # IN OUT: number of rows with each pair (code, sensitive value)
) -> None:
    """Add the rows to the counts of (code, sensitive value) of their parts. Each part has one axis."""
    word, shift, mask, values = layout.word, layout.shift, layout.mask, first[-1]
    for i in range(node_of.size):
        slot = slot_of[node_of[i]]
        if slot >= 0:
            j = axis_of[slot]
            at = start[slot] + np.int64((words[i, word[j]] >> shift[j]) & mask[j]) * values
            for c in range(first.size - 1):
                j = layout.axes + c
                counts[at + first[c] + np.int64((words[i, word[j]] >> shift[j]) & mask[j])] += 1
