"""The first cuts of a table whose rows are elsewhere: on disk, on a cluster. Only frequency sets come here.

Level by level, every part that is still too large is cut where `cutting.cut_table` would cut it. Whoever has the rows takes
them down the tree and counts. What is small enough then, or cannot be cut, is finished by itself, with the same result.
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
    """Node 0 is the table. A node that is cut has two children, `left` and the one after it."""

    axis: NDArray[np.int64]
    """Where each is cut; -1 = it is not."""
    cut: NDArray[np.int64]
    """The last code that goes left."""
    left: NDArray[np.int64]
    rows: NDArray[np.int64]

    @classmethod
    def root(cls, rows: int) -> CutTree:
        return cls(*(np.array([value], np.int64) for value in (NOT_CUT, 0, 0, rows)))

    @property
    def parts(self) -> NDArray[np.int64]:
        """The nodes that are not cut, in the order in which they were made."""
        return np.flatnonzero(self.axis == NOT_CUT)

    def slots(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Per node: its place among these; -1 if it is none of them."""
        slots = np.full(len(self.axis), -1, np.int64)
        slots[nodes] = np.arange(len(nodes))
        return slots

    def with_cuts(self, cuts: Sequence[Cut]) -> CutTree:
        """One level more."""
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
    """Where one part is cut, and how many of its rows go left."""

    node: int
    axis: int
    code: int
    left: int


class Counting(Protocol):
    """Whoever has the rows."""

    def codes(self, tree: CutTree, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """(nodes, codes of all axes): the frequency sets of these parts."""

    def pairs(self, tree: CutTree, nodes: NDArray[np.int64], axes: NDArray[np.int64]) -> Sequence[NDArray[np.int64]]:
        """Per part, (codes, values): how often each code of its axis comes with each sensitive value."""

    def persons(self, tree: CutTree, nodes: NDArray[np.int64], axes: NDArray[np.int64]) -> Sequence[NDArray[np.int64]]:
        """Per part, (2, codes): how many persons have each code of its axis as their lowest there, and as their highest."""


def grow(points: Points, constraints: Constraints, rows: int, largest: int, counting: Counting) -> CutTree:
    """A tree whose parts have no more rows than `largest`, or cannot be cut. `points` and `constraints` need no rows."""
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
    """Where `kernels.mondrian.cut_once` would cut."""

    def __init__(self, points: Points, constraints: Constraints) -> None:
        sizes = [axis.size for axis in points.axes]
        self._tables = points.kernel_tables()
        self._constraints = constraints
        self._start = np.cumsum([0, *sizes]).astype(np.int64)
        self._scratch = np.empty(max(sizes), np.int64), np.empty(max(sizes), np.int64)
        self._tally = constraints.tally() if constraints.beyond_k else None

    def cuts(self, tree: CutTree, nodes: NDArray[np.int64], counting: Counting) -> list[Cut]:
        """A cut for each of these parts that can be cut."""
        counts = dict(zip(nodes.tolist(), counting.codes(tree, nodes), strict=True))
        waiting = {node: self._axes_by_width(counts[node]) for node in counts}
        found: list[Cut] = []
        while waiting:
            tried: list[Cut] = []
            for node, axes in list(waiting.items()):
                cut = self._first_plain(node, axes, counts[node], int(tree.rows[node]))
                if cut is None:
                    del waiting[node]
                else:
                    tried.append(cut)
            if self._tally is None:
                return tried
            for cut in self._promised(tree, tried, counts, counting):
                found.append(cut)
                del waiting[cut.node]
        return found

    def _axes_by_width(self, counts: NDArray[np.int64]) -> list[int]:
        """The axes that can be cut, the widest first, ties by the order of the columns. The last is taken from the end."""
        from kohort.kernels.cuts.counted_cuts import axis_widths
        from kohort.kernels.cuts.mondrian import CONSTANT

        widths = np.empty(len(self._start) - 1, np.int64)
        axis_widths(self._tables, self._start, counts, widths)
        order = np.argsort(-widths, kind="stable")
        return [int(axis) for axis in order if widths[axis] != CONSTANT][::-1]

    def _first_plain(self, node: int, axes: list[int], counts: NDArray[np.int64], rows: int) -> Cut | None:
        """The cut of the widest axis on which enough rows could stand on both sides; axes that are done are dropped."""
        from kohort.kernels.cuts.counted_cuts import plain_cut

        while axes:
            axis = axes.pop()
            code, left = plain_cut(self._of(axis, counts), rows, self._constraints.k, *self._scratch)
            if code >= 0:
                return Cut(node, axis, int(code), int(left))
        return None

    def _promised(
        self, tree: CutTree, tried: Sequence[Cut], counts: dict[int, NDArray[np.int64]], counting: Counting
    ) -> list[Cut]:
        """Those cuts whose both sides keep the whole promise, moved to where they do."""
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
