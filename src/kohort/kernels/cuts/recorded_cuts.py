"""The cuts of a table, kept for an explanation: which range of rows was cut where, by which axes, and why.

Rows lie in an order; a cut divides a range of it at `middle`. Every place is the middle of one cut at most, so that the arrays
are indexed by it, and threads that cut different ranges never write to the same place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel

WIDEST, DEALT, WORKLOAD, GAIN = range(4)
"""Why: the widest axis at its median; equal rows dealt to two halves; an end of a query; the largest gain."""


class RecordedCuts(NamedTuple):
    """Cuts by the place of their middle, for up to P rows. None in its place where nothing is recorded."""

    first: NDArray[np.int64]  # (P): where the range begins
    last: NDArray[np.int64]  # (P): where it ends; 0 where nothing was cut
    axes: NDArray[np.int32]  # (P, steps): the axes that were narrowed, in this order; -1 for none
    reason: NDArray[np.int8]  # (P)
    steps: NDArray[np.int32]  # scratch (steps) of one thread


def room_for(rows: int, steps: int) -> RecordedCuts:
    """Room for the cuts of so many rows, each by up to so many axes."""
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
    """Keep one cut by one axis; where more were narrowed, the caller adds them."""
    recorded.first[middle], recorded.last[middle] = first, last
    recorded.axes[middle, 0], recorded.reason[middle] = axis, reason
