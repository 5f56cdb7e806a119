"""Frequency sets of full-domain recodings: how many rows are in the same box, if each column is recoded at one level.

A level assigns every code of a column to a box, and the first code of a box identifies it. So a group is a vector of first
codes, packed into words as rows are. Recoding a column at a higher level replaces its bits in each vector. The groups of a
higher level are counted from the groups of a lower level, not from the rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.core.packed import BitLayout
from kohort.kernels.core.promise_rules import Whole

MIX, HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)
FREE = np.int32(-1)
UNUSED, NONE, ONE = np.int64(-1), np.int64(0), np.int64(1)


class LevelTables(NamedTuple):
    """The boxes of all levels of all axes, flattened."""

    low: NDArray[np.int64]  # axis by axis, level by level: the first code of the box of each code
    start: NDArray[np.int64]  # per axis: where it begins in `low`
    size: NDArray[np.int64]  # per axis: number of codes


@kernel
def roll_up(
    tables: LevelTables,
    layout: BitLayout,
    words: NDArray[np.uint64],  # IN (words, entries)
    counts: NDArray[np.int64],  # IN (entries): number of rows of each
    entries: Whole,
    axes: NDArray[np.int64],  # IN: the axes to recode
    levels: NDArray[np.int64],  # IN: the level of each of them; UNUSED = the axis is ignored
    slots: NDArray[np.int32],  # scratch: hash table, a power of two, at least twice the number of entries
    class_of: NDArray[np.int64],  # OUT (entries): the group of each
    new_words: NDArray[np.uint64],  # OUT (words, groups)
    new_counts: NDArray[np.int64],  # OUT (groups)
) -> Whole:
    """Recode some axes and count the groups, numbered in the order of their first entries. Return the number of groups."""
    indices = ONE
    while indices < 2 * entries:
        indices *= 2
    slots[:indices] = FREE
    classes = NONE
    for i in range(entries):
        for w in range(words.shape[0]):
            new_words[w, classes] = words[w, i]
        _recode(tables, layout, axes, levels, new_words, classes)
        mixed = np.uint64(0)
        for w in range(words.shape[0]):
            mixed = (mixed ^ new_words[w, classes]) * MIX
            mixed ^= mixed >> HALF
        slot = np.int64(mixed & np.uint64(indices - 1))
        while slots[slot] != FREE and not _alike(new_words, slots[slot], classes):
            slot = (slot + 1) & (indices - 1)
        if slots[slot] == FREE:
            slots[slot] = classes
            new_counts[classes] = 0
            classes += 1
        class_of[i] = slots[slot]
        new_counts[slots[slot]] += counts[i]
    return classes


@kernel
def _recode(
    tables: LevelTables,
    layout: BitLayout,
    axes: NDArray[np.int64],
    levels: NDArray[np.int64],
    words: NDArray[np.uint64],  # IN OUT
    at: Whole,
) -> None:
    """Replace the codes of some axes in one entry by the first codes of their boxes."""
    for a in range(axes.size):
        axis = axes[a]
        word, shift, mask = words[layout.word[axis], at], layout.shift[axis], layout.mask[axis]
        low = np.uint64(0)
        if levels[a] != UNUSED:
            code = np.int64((word >> shift) & mask)
            low = np.uint64(tables.low[tables.start[axis] + levels[a] * tables.size[axis] + code])
        words[layout.word[axis], at] = (word & ~(mask << shift)) | (low << shift)


@kernel
def _alike(words: NDArray[np.uint64], one: Whole, other: Whole) -> bool:
    """Return whether two entries are equal."""
    for w in range(words.shape[0]):  # noqa: SIM110 - numba has no all()
        if words[w, one] != words[w, other]:
            return False
    return True


class Stack(NamedTuple):
    """Frequency sets on the way to a vector of levels. In set a, the first a axes are at their level in the vector.

    The other axes are at their lowest level.
    """

    words: NDArray[np.uint64]  # (axes + 1, words, entries); set 0 is given
    counts: NDArray[np.int64]  # (axes + 1, entries)
    sizes: NDArray[np.int64]  # (axes + 1): how many entries each set has
    index_of: NDArray[np.int64]  # (axes + 1): where each set is stored; equal sets are stored once
    levels: NDArray[np.int64]  # (axes): the levels of the stored sets
    slots: NDArray[np.int32]  # scratch, as in `roll_up`
    class_of: NDArray[np.int64]  # scratch (entries)


@kernel
def find_anonymous(
    tables: LevelTables,
    layout: BitLayout,
    axes: NDArray[np.int64],  # IN: the axes that are used
    heights: NDArray[np.int64],  # IN: the number of levels of each of them
    least: NDArray[np.int64],  # IN: the lowest level of each among the candidates; set 0 has these levels
    k: int,
    budget: int,  # number of rows that may be in groups smaller than k
    candidate: NDArray[np.bool_],  # IN: per vector of levels; the last axis changes fastest
    stack: Stack,
    anonymous: NDArray[np.bool_],  # OUT: per vector of levels
    state: NDArray[np.int64],  # IN state[1] = stop now
) -> None:
    """Find the candidates that are k-anonymous.

    A vector comes after all vectors with lower levels. If one of those is k-anonymous, so is the vector.
    """
    levels = np.empty(axes.size, np.int64)
    made = 0
    for vector in range(candidate.size):
        anonymous[vector] = False
        if not candidate[vector]:
            continue
        if state[1] != 0:
            return
        step, rest, known = ONE, np.int64(vector), False
        for a in range(axes.size - 1, -1, -1):
            levels[a] = rest % heights[a]
            rest //= heights[a]
            known = known or bool(levels[a] > 0 and anonymous[vector - step])
            step *= heights[a]
        if not known:
            last = _roll_along(tables, layout, axes, levels, least, made, stack)
            made = axes.size
            left_over = NONE
            for c in range(stack.sizes[last]):
                if stack.counts[last, c] < k:
                    left_over += stack.counts[last, c]
            known = bool(left_over <= budget)
        anonymous[vector] = known


@kernel
def _roll_along(
    tables: LevelTables,
    layout: BitLayout,
    axes: NDArray[np.int64],
    levels: NDArray[np.int64],
    least: NDArray[np.int64],
    made: Whole,
    stack: Stack,
) -> Whole:
    """Compute the frequency sets of a vector, each from the one before. Return the index of the last set.

    Sets that are the same as for the last vector are not computed again.
    """
    same = NONE
    while same < made and stack.levels[same] == levels[same]:
        same += 1
    for a in range(same, axes.size):
        stack.levels[a] = levels[a]
        if levels[a] == least[a]:  # the same as in the set before
            stack.index_of[a + 1] = stack.index_of[a]
            continue
        before = stack.index_of[a]
        stack.index_of[a + 1] = a + 1
        stack.sizes[a + 1] = roll_up(
            tables, layout, stack.words[before], stack.counts[before], stack.sizes[before], axes[a : a + 1], levels[a : a + 1],
            stack.slots, stack.class_of, stack.words[a + 1], stack.counts[a + 1],
        )  # fmt: skip
    return stack.index_of[axes.size]
