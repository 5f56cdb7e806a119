"""The first cuts of a table whose rows are on disk or on a cluster. This module sees only frequency sets (counts of each code).

Level by level, every part that is still too large is cut where `median_cuts.cut_table` would cut it. The engine assigns its rows
to the nodes of the tree and counts them. A part that is small enough, or that cannot be cut, is then partitioned separately. The
result is the same as for the whole table at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kohort.constraints.constraints import Constraints
from kohort.encoding.points import Points

NOT_CUT = -1


@dataclass(frozen=True, eq=False)
class CutTree:
    """A tree of cuts. Node 0 is the table. A node that is cut has two children: `left` and the node after it."""

    axis: NDArray[np.int64]
    """Per node: the axis on which it is cut; -1 = it is not cut."""
    cut: NDArray[np.int64]
    """Per node: the last code that belongs to the left child."""
    left: NDArray[np.int64]
    rows: NDArray[np.int64]

    @classmethod
    def root(cls, rows: int) -> CutTree:
        return cls(*(np.array([value], np.int64) for value in (NOT_CUT, 0, 0, rows)))

    @property
    def parts(self) -> NDArray[np.int64]:
        """The nodes that are not cut, in the order in which they were created."""
        return np.flatnonzero(self.axis == NOT_CUT)

    def slots(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return, for every node of the tree, its index in `nodes`; -1 if it is not in `nodes`."""
        slots = np.full(len(self.axis), -1, np.int64)
        slots[nodes] = np.arange(len(nodes))
        return slots

    def with_cuts(self, cuts: Sequence[Cut]) -> CutTree:
        """Return the tree with these nodes cut: one more level."""
        axis, cut, left, rows = (list(column) for column in (self.axis, self.cut, self.left, self.rows))
        for one in cuts:
            axis[one.node], cut[one.node], left[one.node] = one.axis, one.code, len(axis)
            axis += [NOT_CUT, NOT_CUT]
            cut += [0, 0]
            left += [0, 0]
            rows += [one.left, rows[one.node] - one.left]
        return CutTree(*(np.array(column, np.int64) for column in (axis, cut, left, rows)))


@dataclass(frozen=True)
class Cut:
    """The cut of one part, and how many of its rows belong to the left child."""

    node: int
    axis: int
    code: int
    left: int


class Counting(Protocol):
    """Counts the rows of parts. The engine that stores the rows implements it."""

    def codes(self, tree: CutTree, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the frequency sets of these parts as an array (nodes, codes of all axes)."""

    def pairs(self, tree: CutTree, nodes: NDArray[np.int64], axes: NDArray[np.int64]) -> Sequence[NDArray[np.int64]]:
        """Return, per part, an array (codes, values): how often each code of its axis occurs with each sensitive value."""

    def persons(self, tree: CutTree, nodes: NDArray[np.int64], axes: NDArray[np.int64]) -> Sequence[NDArray[np.int64]]:
        """Return, per part, an array (2, codes): the people whose lowest code on its axis this is, and whose highest it is."""


def grow(points: Points, constraints: Constraints, rows: int, largest: int, counting: Counting) -> CutTree:
    """Return a tree whose parts have at most `largest` rows or cannot be cut. `points` and `constraints` need no rows."""
    chooser = _Chooser(points, constraints)
    tree, closed = CutTree.root(rows), np.zeros(1, np.bool_)
    while True:
        nodes = np.flatnonzero((tree.axis == NOT_CUT) & (tree.rows > largest) & ~closed)
        if not len(nodes):
            return tree
        cuts = chooser.cuts(tree, nodes, counting)
        closed[np.setdiff1d(nodes, [cut.node for cut in cuts])] = True
        tree = tree.with_cuts(cuts)
        closed = np.append(closed, np.zeros(len(tree.axis) - len(closed), np.bool_))


class _Chooser:
    """Finds, from counts, the cuts that `kernels.cuts.mondrian.cut_once` would make from the rows."""

    def __init__(self, points: Points, constraints: Constraints) -> None:
        sizes = [axis.size for axis in points.axes]
        self._tables = points.kernel_tables()
        self._constraints = constraints
        self._start = np.cumsum([0, *sizes]).astype(np.int64)
        self._scratch = np.empty(max(sizes), np.int64), np.empty(max(sizes), np.int64)
        self._tally = constraints.tally() if constraints.beyond_k else None

    def cuts(self, tree: CutTree, nodes: NDArray[np.int64], counting: Counting) -> list[Cut]:
        """Return a cut for each of these parts that can be cut."""
        counts = dict(zip(nodes.tolist(), counting.codes(tree, nodes), strict=True))
        waiting = {node: self._axes_by_width(counts[node]) for node in counts}
        found: list[Cut] = []
        while waiting:
            tried: list[Cut] = []
            for node, axes in list(waiting.items()):
                cut = self._first_cut_for_k(node, axes, counts[node], int(tree.rows[node]))
                if cut is None:
                    del waiting[node]
                else:
                    tried.append(cut)
            if self._tally is None:
                return tried
            for cut in self._cuts_for_all_promises(tree, tried, counts, counting):
                found.append(cut)
                del waiting[cut.node]
        return found

    def _axes_by_width(self, counts: NDArray[np.int64]) -> list[int]:
        """Return the axes that can be cut, from the narrowest to the widest, so that `pop` takes the widest.

        Of equally wide axes `pop` takes the one whose column comes first.
        """
        from kohort.kernels.cuts.counted_cuts import axis_widths
        from kohort.kernels.cuts.mondrian import CONSTANT

        widths = np.empty(len(self._start) - 1, np.int64)
        axis_widths(self._tables, self._start, counts, widths)
        order = np.argsort(-widths, kind="stable")
        return [int(axis) for axis in order if widths[axis] != CONSTANT][::-1]

    def _first_cut_for_k(self, node: int, axes: list[int], counts: NDArray[np.int64], rows: int) -> Cut | None:
        """Return the cut of the widest axis that leaves at least k rows on both sides. Remove the axes that were tried."""
        from kohort.kernels.cuts.counted_cuts import plain_cut

        while axes:
            axis = axes.pop()
            code, left = plain_cut(self._of(axis, counts), rows, self._constraints.k, *self._scratch)
            if code >= 0:
                return Cut(node, axis, int(code), int(left))
        return None

    def _cuts_for_all_promises(
        self, tree: CutTree, tried: Sequence[Cut], counts: dict[int, NDArray[np.int64]], counting: Counting
    ) -> list[Cut]:
        """Return the cuts that can be moved so that both sides satisfy all promises."""
        from kohort.kernels.cuts.counted_cuts import promised_cut

        tally = self._tally
        if not tried or tally is None:
            return []
        nodes, axes = (np.array(column, np.int64) for column in zip(*((cut.node, cut.axis) for cut in tried), strict=True))
        found = []
        of_axes = [self._of(cut.axis, counts[cut.node]) for cut in tried]
        sizes: Sequence[NDArray[np.int64]] = [np.stack([of_axis, of_axis]) for of_axis in of_axes]
        if self._constraints.units is not None:
            sizes = counting.persons(tree, nodes, axes)
        pairs: Sequence[NDArray[np.int64]] = [np.empty((len(of_axis), 0), np.int64) for of_axis in of_axes]
        if self._constraints.sensitive:
            pairs = counting.pairs(tree, nodes, axes)
        for number, cut in enumerate(tried):
            known = of_axes[number], sizes[number], pairs[number], int(tree.rows[cut.node])
            code, left = promised_cut(self._constraints.rules, tally, *known, *self._scratch)
            if code >= 0:
                found.append(Cut(cut.node, cut.axis, int(code), int(left)))
        return found

    def _of(self, axis: int, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        return counts[self._start[axis] : self._start[axis + 1]]
