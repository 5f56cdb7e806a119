"""Packed rows on their way down a tree of cuts: which part each belongs to, and how often each code is in each part.

Rows are (rows, words) here, one row after the other as they lie in a file; `kernels.packed` has them word by word.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.core.packed import BitLayout


@kernel
def put(values: NDArray[np.uint64], layout: BitLayout, column: int, words: NDArray[np.uint64]) -> None:
    """Write one column of codes into packed rows; its bits come in as zeros."""
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
    axis: NDArray[np.int64],  # IN (nodes): where each is cut; -1 = it is not
    cut: NDArray[np.int64],  # IN (nodes): the last code that goes left
    left: NDArray[np.int64],  # IN (nodes): the left child; the right one is the next
    node_of: NDArray[np.int64],  # OUT (rows): the part of each row
) -> None:
    """Take every row down the tree."""
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
    slot_of: NDArray[np.int64],  # IN (nodes): where a part is counted; -1 = it is not
    start: NDArray[np.int64],  # IN (axes): where each axis' codes begin in a slot
    counts: NDArray[np.int64],  # IN OUT (slots, codes of all axes)
) -> None:
    """Add the rows to the frequency sets of their parts, all axes at once."""
    word, shift, mask, axes = layout.word, layout.shift, layout.mask, layout.axes
    for i in range(node_of.size):
        slot = slot_of[node_of[i]]
        if slot >= 0:
            for j in range(axes):
                counts[slot, start[j] + np.int64((words[i, word[j]] >> shift[j]) & mask[j])] += 1


@kernel
def count_persons(
    words: NDArray[np.uint64],  # IN the rows of each person side by side
    person: int,  # the word that says whose a row is
    layout: BitLayout,
    node_of: NDArray[np.int64],
    slot_of: NDArray[np.int64],
    axis_of: NDArray[np.int64],  # IN (slots): the axis that is counted there
    start: NDArray[np.int64],  # IN (slots): where its codes begin
    reach: NDArray[np.int64],  # scratch (3, slots): the lowest and the highest code of a person, and where there is one; -1
    counts: NDArray[np.int64],  # IN OUT (2, codes of all slots): persons by their lowest code and by their highest
) -> None:
    """Count every person once in each part, by the ends of what the person has there."""
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
    axis_of: NDArray[np.int64],  # IN (slots): the axis that is counted there
    start: NDArray[np.int64],  # IN (slots): where its pairs begin
    first: NDArray[np.int64],  # IN (secrets + 1): where each secret's values begin among all of them
    counts: NDArray[np.int64],  # IN OUT (code, value) by (code, value)
) -> None:
    """Add the rows to the counts of (code, sensitive value) of their parts, each part by one axis."""
    word, shift, mask, values = layout.word, layout.shift, layout.mask, first[-1]
    for i in range(node_of.size):
        slot = slot_of[node_of[i]]
        if slot >= 0:
            j = axis_of[slot]
            at = start[slot] + np.int64((words[i, word[j]] >> shift[j]) & mask[j]) * values
            for c in range(first.size - 1):
                j = layout.axes + c
                counts[at + first[c] + np.int64((words[i, word[j]] >> shift[j]) & mask[j])] += 1
