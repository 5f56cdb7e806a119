"""Record the cuts of a table for an explanation: which range of rows was cut where, by which axes, and why.

Rows have an order. A cut divides a range of this order at index `middle`. Each index is the middle of at most one cut. So the
arrays are indexed by the middle, and threads that cut different ranges never write to the same entry.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel

WIDEST, DEALT, WORKLOAD, GAIN = range(4)
"""Reasons for a cut. WIDEST: the widest axis at its median. DEALT: equal rows divided into two halves. WORKLOAD: the end of a
query's predicate. GAIN: the largest gain.
"""


class RecordedCuts(NamedTuple):
    """The cuts of up to P rows, indexed by their middle. Kernels take None instead if nothing is recorded."""

    first: NDArray[np.int64]  # (P): where the range begins
    last: NDArray[np.int64]  # (P): where the range ends; 0 where there is no cut
    axes: NDArray[np.int32]  # (P, steps): the axes that were narrowed, in this order; -1 for none
    reason: NDArray[np.int8]  # (P): WIDEST, DEALT, WORKLOAD or GAIN
    steps: NDArray[np.int32]  # scratch (steps), of one thread


def room_for(rows: int, steps: int) -> RecordedCuts:
    """Return empty arrays for the cuts of this many rows, each by up to this many axes."""
    first, last = np.zeros((2, rows), np.int64)
    return RecordedCuts(first, last, np.full((rows, steps), -1, np.int32), np.zeros(rows, np.int8), np.full(steps, -1, np.int32))


@kernel
def keep_cut(
    recorded: RecordedCuts,
    first: int | np.int64,
    middle: int | np.int64,
    last: int | np.int64,
    axis: int | np.integer,
    reason: int,
) -> None:
    """Record one cut by one axis. If more axes were narrowed, the caller adds them."""
    recorded.first[middle], recorded.last[middle] = first, last
    recorded.axes[middle, 0], recorded.reason[middle] = axis, reason
