"""What a search decided: the tree of its cuts, and what repair and improvement changed after them.

Recorded only where an explanation is wanted (`Points.record_decisions`). Row numbers in here are private: they never leave
the process. `kohort.publishing.explanation` turns decisions into what may be published.
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
    """The parts of a table that cuts made, the whole first, every part before those that it was cut into, left before right."""

    first: NDArray[np.int64]
    """Where the rows of each begin in `Decisions.order`."""
    last: NDArray[np.int64]
    """Where they end."""
    cut: NDArray[np.int64]
    """The number of the cut that divides it; -1 for a leaf."""
    left: NDArray[np.int64]
    """The node left of that cut; -1 for a leaf."""
    right: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Decisions:
    """The cuts of a table, a part before those inside it. A cut divides a range of `order` at its middle."""

    order: NDArray[np.int64]
    """Rows, so that those of every part lie side by side. Rows that were suppressed before the cuts are not among them."""
    first: NDArray[np.int64]
    middle: NDArray[np.int64]
    last: NDArray[np.int64]
    axes: NDArray[np.int64]
    """(cuts, steps): the axes that a cut narrows, the first that it chose first; -1 for none."""
    reason: NDArray[np.int64]
    """As in `kernels.cuts.recorded_cuts`."""
    makes_blocks: NDArray[np.bool_]
    """Whether the cut was made to work on blocks."""

    @classmethod
    def uncut(cls, order: NDArray[np.int64]) -> Decisions:
        """Rows that nothing divides."""
        none = np.empty(0, np.int64)
        return cls(order, none, none, none, np.empty((0, 1), np.int64), none, np.empty(0, np.bool_))

    @classmethod
    def of(cls, order: NDArray[np.integer], recorded: RecordedCuts, *, makes_blocks: bool = False) -> Decisions:
        """What a kernel recorded, while rows lay in this order."""
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
        """Where each leaf begins in `order`, from left to right, and where the last one ends."""
        return np.unique([0, *self.middle.tolist(), len(self.order)]).astype(np.int64)

    def leaf_labels(self, rows: int) -> NDArray[np.int64]:
        """Per row of a table of so many: the number of its leaf, from left to right; -1 for rows that are not in the tree."""
        labels = np.full(rows, -1, np.int64)
        labels[self.order] = np.repeat(np.arange(len(self.leaf_ends) - 1), np.diff(self.leaf_ends))
        return labels

    def nodes(self) -> Nodes:
        """The tree."""
        ends = self.leaf_ends
        first, last = np.append(self.first, ends[:-1]), np.append(self.last, ends[1:])
        cut = np.append(np.arange(len(self.first)), np.full(len(ends) - 1, -1))
        outer_first = np.lexsort((-last, first))
        first, last, cut = first[outer_first], last[outer_first], cut[outer_first]
        is_cut = cut >= 0
        left, right = np.full((2, len(cut)), -1)
        left[is_cut] = np.flatnonzero(is_cut) + 1
        right[is_cut] = np.searchsorted(first, self.middle[cut[is_cut]])  # of those that begin there it is the largest
        return Nodes(first, last, cut, left, right)

    def of_rows(self, rows: NDArray[np.int64]) -> Decisions:
        """The same decisions in a table where each row has another number: `rows[i]` is that of row i."""
        return replace(self, order=rows[self.order])

    def grown(self, labels: NDArray[np.int64], inside: Sequence[Decisions | None]) -> Decisions:
        """With what was decided inside each leaf. `labels`: per row the place of its leaf in `inside`; None = not cut further."""
        ends = self.leaf_ends
        parts = [
            _or_uncut(inside[labels[self.order[begin]]], self.order[begin:end])
            for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
        ]
        shifts = np.cumsum([0, *(len(part.order) for part in parts)])

        def moved(places: NDArray[np.int64]) -> NDArray[np.int64]:
            return np.asarray(shifts[np.searchsorted(ends, places)])

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
        """The same cuts so many places further right; `order` stays as it is."""
        return replace(self, first=self.first + by, middle=self.middle + by, last=self.last + by)


class Cuts(NamedTuple):
    """A label per row, and the decisions that led there, if they were recorded."""

    labels: NDArray[np.int64]
    decisions: Decisions | None


@dataclass
class SweepCount:
    """How many sweeps improvement ran."""

    ran: int = 0


@dataclass(frozen=True)
class Improvement:
    """What improvement changed. With blocks: in all of them together."""

    sweeps: int
    groups: tuple[int, int]
    """Before and after."""
    loss: tuple[float, float]
    """Before and after, as a share of all cells, by the measure of the search."""


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
    """A part before those inside it, left before right."""
    outer_first = np.lexsort((-last, first))
    first, middle, last, axes, reason = (each[outer_first] for each in (first, middle, last, axes, reason))
    return Decisions(order, first, middle, last, axes, reason, makes_blocks[outer_first])
