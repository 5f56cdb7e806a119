"""Incognito: of all ways to recode each column at one level, find those that are k-anonymous; publish the one of least loss.

LeFevre, DeWitt, Ramakrishnan, Incognito: efficient full-domain k-anonymity, 2005; compared with in paper 001.

As in the paper: a vector of levels can be k-anonymous only if it is on every subset of the columns, so subsets are worked
through from single columns up; candidates are joined from the anonymous vectors one column smaller; if a vector is anonymous,
its generalisations are, unasked. Rows in classes below k are forgiven as far as `suppress` allows, which keeps all this true.
Frequency sets are rolled up from that of the subset's super-root, its least levels among the candidates (the paper's second
variant). Deviations: vectors are visited in lexicographic order, not breadth-first (each still comes after all that it
generalises), candidates are dense arrays joined column by column, and rows are counted even where persons are promised: a
class of few rows has few persons.

The paper leaves the choice to the reader. Here: least leaf loss, weighted, a suppressed row costing its whole weight; ties:
the smallest vector. The loss without suppression is a sum over columns and bounds the other from below, so vectors are tried
by it until it exceeds the best. What is promised beyond k is asked of whole vectors. Where merging keeps it (with suppression:
where anybody may join a class), a vector in which too many rows fail condemns all its specialisations, so vectors are decided
along a chain to the top, halving it (as Flash, Kohlmayer, Prasser, Eckert, Kemper, Kuhn 2012, does).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import reduce
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from kohort.constraints.constraints import Constraints
from kohort.encoding.points import UNIT, Points
from kohort.errors import PromiseError, RequestError
from kohort.methods.method import Method, Options, Partition
from kohort.methods.search.full_domain_levels import Classes, FullDomain, Vector, slots_for
from kohort.progress import Progress

MOST_VECTORS = 1 << 24


def partition(points: Points, constraints: Constraints, options: Options, seed: int, progress: Progress) -> Partition:
    """The classes of the best vector, in the order of their boxes."""
    del options, seed  # nothing here is random
    table = FullDomain(points, constraints, progress)
    vectors = math.prod(height + 1 for height in table.heights)
    if vectors > MOST_VECTORS:
        text = f"{vectors:,}" if vectors < 10**15 else f"about {vectors:.0e}"
        raise RequestError(
            f"incognito compares all combinations of levels, of all and of some columns: here {text}, and it can compare "
            f"{MOST_VECTORS:,}. Take fewer quasi-identifiers or trees of fewer levels, or another method: datafly."
        )
    best = _Choice(table, anonymous_vectors(table, progress)).best()
    if best is None:
        raise PromiseError("No combination of levels keeps what is promised. Promise less, or allow more to be suppressed.")
    return table.partition(best)


def anonymous_vectors(table: FullDomain, progress: Progress) -> NDArray[np.bool_]:
    """Which vectors leave no more rows in classes below k than may be left out: an array with one dimension per column."""
    # Longest axes first: sets made on the way to a vector are shared by those that differ in later axes, and are small then.
    every = sorted(range(len(table.heights)), key=lambda axis: -table.points.axes[axis].size)
    anonymous: dict[tuple[int, ...], NDArray[np.bool_]] = {(): np.ones((), np.bool_)}
    for size in range(len(every)):
        smaller, anonymous = anonymous, {}
        for axes in combinations(every, size + 1):
            candidate = np.ones([table.heights[axis] for axis in axes], np.bool_)
            for index in range(len(axes)):
                candidate &= np.expand_dims(smaller[axes[:index] + axes[index + 1 :]], index)
            anonymous[axes] = _anonymous_among(candidate, axes, table) if candidate.any() else candidate
            progress.check()
        table.state[0] = table.points.rows * (size + 1) // len(every)
    return anonymous[tuple(every)].transpose(np.argsort(every))


def _anonymous_among(candidate: NDArray[np.bool_], axes: tuple[int, ...], table: FullDomain) -> NDArray[np.bool_]:
    """The candidates on some columns that are anonymous."""
    from kohort.kernels.clusters.frequencies import UNUSED, Stack, find_anonymous

    indices = range(len(axes))
    least = [int(np.argmax(candidate.any(axis=tuple({*indices} - {index})))) for index in indices]
    level_of = dict(zip(axes, least, strict=True))
    every = range(len(table.heights))
    super_root, _ = table.roll_up(table.combinations, every, [level_of.get(axis, int(UNUSED)) for axis in every])
    words, entries = super_root.words.shape
    stack = Stack(
        words=np.empty((len(axes) + 1, words, entries), np.uint64),
        counts=np.empty((len(axes) + 1, entries), np.int64),
        sizes=np.full(len(axes) + 1, entries),
        index_of=np.zeros(len(axes) + 1, np.int64),
        levels=np.array(least),
        slots=slots_for(entries),
        class_of=np.empty(entries, np.int64),
    )
    stack.words[0], stack.counts[0] = super_root
    anonymous = np.empty(candidate.size, np.bool_)
    find_anonymous(
        table.tables, table.layout, np.array(axes), np.array(candidate.shape), np.array(least), table.constraints.k,
        table.constraints.budget, candidate.ravel(), stack, anonymous, table.state,
    )  # fmt: skip
    return anonymous.reshape(candidate.shape)


class _Choice:
    """The search for the vector of least loss that keeps the whole promise."""

    def __init__(self, table: FullDomain, anonymous: NDArray[np.bool_]) -> None:
        self._table, self._constraints = table, table.constraints
        columns = zip(table.levels, table.points.codes.T, strict=True)
        costs = [levels.cost @ np.bincount(codes, minlength=levels.cost.shape[1]) for levels, codes in columns]
        self._bounds: NDArray[np.int64] = reduce(np.add.outer, costs)
        self._open = anonymous.copy()
        self._enough_are_valid = np.zeros_like(anonymous)

    @property
    def _fails_below(self) -> bool:
        """Whether a vector in which too many rows fail condemns its specialisations. Not if a class that stands there may fail
        once rows join it that were left out.
        """
        return self._constraints.growing_keeps or (self._constraints.merging_keeps and not self._constraints.budget)

    def best(self) -> Classes | None:
        """The classes of the best vector; None if there is none."""
        best: tuple[int, Vector] | None = None
        chosen = None
        for vector in self._by_bound():
            bound = int(self._bounds[vector])
            if best is not None and bound > best[0]:
                break
            classes = self._decided(vector)
            if classes is None:
                continue
            found = (bound + self._suppression(classes), vector)
            if (best is None or found < best) and self._table.may_be_published(classes):
                best, chosen = found, classes
        return chosen

    def _by_bound(self) -> Iterator[Vector]:
        """Open vectors, least loss without suppression first, ties by vector."""
        indices = np.flatnonzero(self._open)
        for index in indices[np.argsort(self._bounds.ravel()[indices], kind="stable")].tolist():
            yield tuple(map(int, np.unravel_index(index, self._open.shape)))

    def _decided(self, vector: Vector) -> Classes | None:
        """The classes of a vector, unless too many of its rows fail."""
        if self._constraints.beyond_k and self._fails_below:
            self._climb(vector)
        if not self._open[vector]:
            return None
        classes = self._table.classes(vector)
        return classes if classes.failing <= self._constraints.budget else None

    def _climb(self, vector: Vector) -> None:
        """Decide a vector, and on the way many others, by halving a chain from it to the top."""
        if self._enough_are_valid[vector] or not self._open[vector]:
            return
        chain = list(self._chain(vector))
        first, last = 0, len(chain) - 1
        while first <= last:
            middle = (first + last) // 2
            if self._is_enough(chain[middle]):
                last = middle - 1
            else:
                first = middle + 1

    def _chain(self, vector: Vector) -> Iterator[Vector]:
        """A vector and generalisations of it up to the top, each time by the level that costs least."""
        yield vector
        while vector != self._table.top:
            raised = [
                (*vector[:axis], level + 1, *vector[axis + 1 :])
                for axis, (level, top) in enumerate(zip(vector, self._table.top, strict=True))
                if level < top
            ]
            vector = min(raised, key=lambda higher: (self._bounds[higher], higher))
            yield vector

    def _is_enough(self, vector: Vector) -> bool:
        """Whether few enough rows fail; what that says of others is noted."""
        if self._enough_are_valid[vector] or not self._open[vector]:
            return bool(self._enough_are_valid[vector])
        enough = self._table.classes(vector).failing <= self._constraints.budget
        if enough:
            self._enough_are_valid[tuple(slice(level, None) for level in vector)] = True
        else:
            self._open[tuple(slice(level + 1) for level in vector)] = False
        return enough

    def _suppression(self, classes: Classes) -> int:
        """What leaving out the rows that fail costs beyond publishing them."""
        failing = np.flatnonzero(~classes.valid)
        columns = zip(self._table.levels, self._table.points.weights, classes.vector, classes.low[failing].T, strict=True)
        more = sum(round(UNIT * weight) - levels.cost[level][low] for levels, weight, level, low in columns)
        return int(np.dot(more, classes.sizes[failing]))


METHOD = Method(
    name="incognito",
    summary="each column at one level for the whole table: of all such recodings the one of least loss",
    paper="LeFevre, DeWitt, Ramakrishnan 2005",
    cost="distinct combinations, times the combinations of levels",
    good_for="the same text for the same value everywhere, trees that were agreed on, few columns",
    options=Options,
    partition=partition,
    recodes_globally=True,
    uses_row_order=lambda _options: False,
)
