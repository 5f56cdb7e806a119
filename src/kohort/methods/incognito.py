"""Incognito: find all k-anonymous recodings that publish each column at one level, and publish the one with the least loss.

LeFevre, DeWitt, Ramakrishnan, Incognito: efficient full-domain k-anonymity, 2005. Ni, Xie, Qian 2017 compare with it.

A vector has one level per column. As in the paper, a vector can be k-anonymous only if it is k-anonymous on every subset of the
columns. So subsets are processed from single columns up, and the candidates of a subset are joined from the anonymous vectors of
the subsets with one column less. If a vector is anonymous, all its generalisations are anonymous and are not counted. Rows in
groups smaller than k are tolerated as far as `suppress` allows; all of the above still holds. Frequency sets are rolled up from
the subset's super-root, which has the lowest level of each column among the candidates (the paper's second variant).

Three things differ from the paper. Vectors are visited in lexicographic order, not breadth-first; each vector still comes after
all vectors that it generalises. Candidates are dense arrays that are joined column by column. Rows are counted even if the
promise counts people, because a group with few rows has few people.

The paper does not define which anonymous vector to publish. Here it is the one with the least weighted leaf loss, where a
suppressed row costs its whole weight; ties go to the smallest vector. The loss without suppression is a sum over columns and a
lower bound of the loss. So vectors are tried in the order of this bound until it exceeds the best loss. Promises other than k are
checked for whole vectors. If merging groups keeps the promises (with suppression: if any row can join any group), then a vector
with too many invalid rows rules out all its specialisations. Vectors are then decided by bisecting a chain of generalisations up
to the top, as in Flash (Kohlmayer, Prasser, Eckert, Kemper, Kuhn 2012).
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
from kohort.methods.search.full_domain_levels import FullDomain, RecodedGroups, Vector, slots_for
from kohort.progress import Progress

MOST_VECTORS = 1 << 24


def partition(points: Points, constraints: Constraints, options: Options, seed: int, progress: Progress) -> Partition:
    """Return the groups of the best vector, in the order of their boxes."""
    del options, seed  # nothing here is random
    table = FullDomain(points, constraints, progress)
    vectors = math.prod(height + 1 for height in table.heights)
    if vectors > MOST_VECTORS:
        many = f"{vectors:,}" if vectors < 10**15 else f"more than {10**15:,}"
        raise RequestError(
            f"incognito compares all combinations of levels of all subsets of the quasi-identifiers. This table has {many} "
            f"combinations; incognito can compare {MOST_VECTORS:,}. Use fewer quasi-identifiers, trees with fewer levels, or "
            "another method (--method datafly)."
        )
    best = _Choice(table, anonymous_vectors(table, progress)).best()
    if best is None:
        raise PromiseError(
            "No combination of levels satisfies the promises. Lower the promises, or allow more suppressed rows with suppress "
            "(--suppress)."
        )
    return table.partition(best)


def anonymous_vectors(table: FullDomain, progress: Progress) -> NDArray[np.bool_]:
    """Return which vectors leave no more rows in groups smaller than k than can be suppressed.

    The array has one dimension per column.
    """
    # Axes with most codes come first: vectors that differ only in later axes share frequency sets, which are then small.
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
    """Return which candidates on these columns are anonymous."""
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
    """Search for the vector with the least loss that keeps all promises."""

    def __init__(self, table: FullDomain, anonymous: NDArray[np.bool_]) -> None:
        self._table, self._constraints = table, table.constraints
        columns = zip(table.levels, table.points.codes.T, strict=True)
        costs = [levels.cost @ np.bincount(codes, minlength=levels.cost.shape[1]) for levels, codes in columns]
        self._bounds: NDArray[np.int64] = reduce(np.add.outer, costs)
        self._open = anonymous.copy()
        self._enough_are_valid = np.zeros_like(anonymous)

    @property
    def _fails_below(self) -> bool:
        """Whether a vector with too many invalid rows rules out its specialisations.

        It does not if a valid group of a specialisation can become invalid when rows join it that were suppressed there.
        """
        return self._constraints.growing_keeps or (self._constraints.merging_keeps and not self._constraints.budget)

    def best(self) -> RecodedGroups | None:
        """Return the groups of the best vector; None if no vector is valid."""
        best: tuple[int, Vector] | None = None
        chosen = None
        for vector in self._by_bound():
            bound = int(self._bounds[vector])
            if best is not None and bound > best[0]:
                break
            groups = self._groups_if_few_fail(vector)
            if groups is None:
                continue
            found = (bound + self._suppression_cost(groups), vector)
            if (best is None or found < best) and self._table.can_be_published(groups):
                best, chosen = found, groups
        return chosen

    def _by_bound(self) -> Iterator[Vector]:
        """Yield the vectors that are not ruled out, in the order of their loss without suppression; ties by vector."""
        indices = np.flatnonzero(self._open)
        for index in indices[np.argsort(self._bounds.ravel()[indices], kind="stable")].tolist():
            yield tuple(map(int, np.unravel_index(index, self._open.shape)))

    def _groups_if_few_fail(self, vector: Vector) -> RecodedGroups | None:
        """Return the groups of a vector; None if more of its rows are invalid than can be suppressed."""
        if self._constraints.beyond_k and self._fails_below:
            self._bisect_chain(vector)
        if not self._open[vector]:
            return None
        groups = self._table.groups(vector)
        return groups if groups.failing <= self._constraints.budget else None

    def _bisect_chain(self, vector: Vector) -> None:
        """Decide a vector by bisecting a chain from it to the top. This decides many other vectors too."""
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
        """Yield a vector and its generalisations up to the top. Each step raises the level that costs least."""
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
        """Return whether the invalid rows can be suppressed, and record what follows for other vectors."""
        if self._enough_are_valid[vector] or not self._open[vector]:
            return bool(self._enough_are_valid[vector])
        enough = self._table.groups(vector).failing <= self._constraints.budget
        if enough:
            self._enough_are_valid[tuple(slice(level, None) for level in vector)] = True
        else:
            self._open[tuple(slice(level + 1) for level in vector)] = False
        return enough

    def _suppression_cost(self, groups: RecodedGroups) -> int:
        """Return how much more it costs to suppress the invalid rows than to publish them."""
        failing = np.flatnonzero(~groups.valid)
        columns = zip(self._table.levels, self._table.points.weights, groups.vector, groups.low[failing].T, strict=True)
        more = sum(round(UNIT * weight) - levels.cost[level][low] for levels, weight, level, low in columns)
        return int(np.dot(more, groups.sizes[failing]))


METHOD = Method(
    name="incognito",
    summary="Publish each column at one level; of all valid combinations of levels, choose the one with the least loss.",
    paper="LeFevre, DeWitt, Ramakrishnan 2005",
    cost="distinct rows x combinations of levels",
    good_for="equal values published identically everywhere; trees whose levels were agreed in advance; few columns",
    options=Options,
    partition=partition,
    recodes_globally=True,
    uses_row_order=lambda _options: False,
)
