"""Decisions of a search: the tree of its cuts, and what improvement changed afterwards.

They are recorded only if the job requests an explanation (`Points.record_decisions`). Row numbers in them are private: they never
leave the process. `kohort.publishing.explanation` turns decisions into an explanation that can be published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from kohort.kernels.cuts.recorded_cuts import RecordedCuts


class Nodes(NamedTuple):
    """The nodes of a tree of cuts. A node is a part of the table. Parents come before children, left before right."""

    first: NDArray[np.int64]
    """Where the rows of each node begin in `Decisions.order`."""
    last: NDArray[np.int64]
    """Where the rows of each node end in `Decisions.order`."""
    cut: NDArray[np.int64]
    """Number of the cut that divides the node; -1 for a leaf."""
    left: NDArray[np.int64]
    """Node on the left of that cut; -1 for a leaf."""
    right: NDArray[np.int64]
    """Node on the right of that cut; -1 for a leaf."""


@dataclass(frozen=True, eq=False)
class Decisions:
    """The cuts of a table. A cut divides the range first..last of `order` at `middle`. Outer cuts come before inner ones."""

    order: NDArray[np.int64]
    """Row numbers, ordered so that the rows of every part are contiguous. Rows suppressed before the cuts are not included."""
    first: NDArray[np.int64]
    middle: NDArray[np.int64]
    last: NDArray[np.int64]
    axes: NDArray[np.int64]
    """Shape (cuts, steps): the axes that a cut narrows, in the order in which they were chosen; -1 for none."""
    reason: NDArray[np.int64]
    """Why each cut was made: a constant of `kernels.cuts.recorded_cuts`."""
    makes_blocks: NDArray[np.bool_]
    """Whether the cut divides the table into blocks."""

    @classmethod
    def uncut(cls, order: NDArray[np.int64]) -> Decisions:
        """Return decisions without any cut."""
        none = np.empty(0, np.int64)
        return cls(order, none, none, none, np.empty((0, 1), np.int64), none, np.empty(0, np.bool_))

    @classmethod
    def of(cls, order: NDArray[np.integer], recorded: RecordedCuts, *, makes_blocks: bool = False) -> Decisions:
        """Return the cuts that a kernel recorded for rows in this order."""
        middle = np.flatnonzero(recorded.last)
        return _sorted(
            order.astype(np.int64),
            recorded.first[middle],
            middle,
            recorded.last[middle],
            recorded.axes[middle].astype(np.int64),
            recorded.reason[middle].astype(np.int64),
            np.full(len(middle), makes_blocks),
        )

    @cached_property
    def leaf_ends(self) -> NDArray[np.int64]:
        """Where each leaf begins in `order`, from left to right, and where the last leaf ends."""
        return np.unique([0, *self.middle.tolist(), len(self.order)]).astype(np.int64)

    def leaf_labels(self, rows: int) -> NDArray[np.int64]:
        """Return the leaf of each row of a table with this many rows. Leaves are numbered from left to right; -1 is no leaf."""
        labels = np.full(rows, -1, np.int64)
        labels[self.order] = np.repeat(np.arange(len(self.leaf_ends) - 1), np.diff(self.leaf_ends))
        return labels

    def nodes(self) -> Nodes:
        """Return the nodes of the tree of cuts."""
        ends = self.leaf_ends
        first, last = np.append(self.first, ends[:-1]), np.append(self.last, ends[1:])
        cut = np.append(np.arange(len(self.first)), np.full(len(ends) - 1, -1))
        outer_first = np.lexsort((-last, first))
        first, last, cut = first[outer_first], last[outer_first], cut[outer_first]
        is_cut = cut >= 0
        left, right = np.full((2, len(cut)), -1)
        left[is_cut] = np.flatnonzero(is_cut) + 1
        right[is_cut] = np.searchsorted(first, self.middle[cut[is_cut]])  # the largest node that begins there
        return Nodes(first, last, cut, left, right)

    def of_rows(self, rows: NDArray[np.int64]) -> Decisions:
        """Return the same decisions for a table whose rows are numbered differently: row i here is row `rows[i]` there."""
        return replace(self, order=rows[self.order])

    def grown(self, labels: NDArray[np.int64], inside: Sequence[Decisions | None]) -> Decisions:
        """Return these decisions together with the decisions inside each leaf.

        `labels` has for each row the index of its leaf in `inside`. None in `inside` means that the leaf was not cut further.
        """
        ends = self.leaf_ends
        parts = [
            _or_uncut(inside[labels[self.order[begin]]], self.order[begin:end])
            for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
        ]
        shifts = np.cumsum([0, *(len(part.order) for part in parts)])

        def moved(indices: NDArray[np.int64]) -> NDArray[np.int64]:
            return np.asarray(shifts[np.searchsorted(ends, indices)])

        steps = max(decisions.axes.shape[1] for decisions in (self, *parts))
        outer = replace(self, first=moved(self.first), middle=moved(self.middle), last=moved(self.last))
        shifted = [outer, *(part.shifted(shift) for part, shift in zip(parts, shifts.tolist(), strict=False))]
        return _sorted(
            np.concatenate([np.empty(0, np.int64), *(part.order for part in parts)]),
            np.concatenate([part.first for part in shifted]),
            np.concatenate([part.middle for part in shifted]),
            np.concatenate([part.last for part in shifted]),
            np.concatenate([_padded(part.axes, steps) for part in shifted]),
            np.concatenate([part.reason for part in shifted]),
            np.concatenate([part.makes_blocks for part in shifted]),
        )

    def shifted(self, by: int) -> Decisions:
        """Return the same cuts with all indices raised by this number; `order` does not change."""
        return replace(self, first=self.first + by, middle=self.middle + by, last=self.last + by)


class Cuts(NamedTuple):
    """A label per row, and the decisions that led to the labels, if they were recorded."""

    labels: NDArray[np.int64]
    decisions: Decisions | None


@dataclass
class SweepCount:
    """Counter of the sweeps that improvement ran."""

    ran: int = 0


@dataclass(frozen=True)
class Improvement:
    """What improvement changed, in all blocks together."""

    sweeps: int
    groups: tuple[int, int]
    """Number of groups before and after."""
    loss: tuple[float, float]
    """Loss by the objective before and after, from 0 to 1."""


def _or_uncut(inside: Decisions | None, rows: NDArray[np.int64]) -> Decisions:
    return Decisions.uncut(rows) if inside is None or not len(inside.order) else inside


def _padded(axes: NDArray[np.int64], steps: int) -> NDArray[np.int64]:
    return np.pad(axes, ((0, 0), (0, steps - axes.shape[1])), constant_values=-1)


def _sorted(
    order: NDArray[np.int64],
    first: NDArray[np.int64],
    middle: NDArray[np.int64],
    last: NDArray[np.int64],
    axes: NDArray[np.int64],
    reason: NDArray[np.int64],
    makes_blocks: NDArray[np.bool_],
) -> Decisions:
    """Return the decisions with outer cuts before inner ones and left before right."""
    outer_first = np.lexsort((-last, first))
    first, middle, last, axes, reason = (each[outer_first] for each in (first, middle, last, axes, reason))
    return Decisions(order, first, middle, last, axes, reason, makes_blocks[outer_first])
