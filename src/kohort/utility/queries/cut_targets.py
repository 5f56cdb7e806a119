"""Prepare a workload for the search of cuts: its predicates as codes of the axes (`kernels/cuts/workload_cuts.py`)."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kohort.encoding.axes import Axis
from kohort.encoding.number_axis import NumericAxis
from kohort.encoding.points import Points
from kohort.encoding.tree_axis import TreeAxis
from kohort.schema.trees import ROOT
from kohort.utility.queries.answers import BoundQuery, Questions
from kohort.utility.queries.predicates import Bound, Spans
from kohort.utility.queries.value_domains import Domain

if TYPE_CHECKING:
    from kohort.kernels.cuts.workload_cuts import Wanted

MOST_QUERIES = 64  # queries with the largest weights; each needs a byte for each row, and time in every part
MOST_CUTS = 32  # cut positions of an axis; the ends of the predicates with the largest weights
TOLL = 1.0  # cost of a group that overlaps the ends of all predicates of a workload, in full widths of an axis


def wanted(questions: Questions, points: Points, unseen: Collection[str]) -> Wanted | None:
    """Return what the search of cuts needs of a workload; None if it has no predicate on a quasi-identifier.

    Predicates on `unseen` columns (the sensitive ones) are ignored. Borders of groups that follow sensitive values would reveal
    them.
    """
    from kohort.kernels.cuts.workload_cuts import Wanted

    number_of = {axis.name: number for number, axis in enumerate(points.axes)}
    chosen = _heaviest(questions.queries)
    weights, first, members = [], [0], np.empty((points.rows, len(chosen)), np.uint8)
    predicates: list[tuple[int, Bound]] = []
    for column, query in enumerate(chosen):
        seen = [bound for bound in query.where if bound.domain.name not in unseen]
        predicates += [(number_of[bound.domain.name], bound) for bound in seen if bound.domain.name in number_of]
        first.append(len(predicates))
        carried, fulfilled = np.ones((2, points.rows), np.bool_)
        for bound in seen:
            holds = _holds(bound, points, number_of)
            fulfilled &= holds
            carried &= holds | (bound.domain.name in number_of)
        members[:, column] = carried + 2 * fulfilled
        weights.append(query.query.weight / max(int(np.count_nonzero(fulfilled)), 1))
    codes = [_codes_held(bound.spans, points.axes[axis]) for axis, bound in predicates]
    shares = _shares(chosen, number_of)
    cuts = _cuts(codes, [axis for axis, _bound in predicates], shares, points)
    if not any(map(len, cuts)):
        return None
    sizes = [points.axes[axis].size for axis, _bound in predicates]
    axis_sizes = [axis.size for axis in points.axes]
    extent = [_extent(axis, None) for axis in points.axes]
    requested = [_extent(points.axes[axis], bound.spans) for axis, bound in predicates]
    nodes = [_node_runs(axis) for axis in points.axes]
    requested_on: list[list[tuple[NDArray[np.bool_], float]]] = [[] for _ in points.axes]
    for held, share, (axis, _bound) in zip(codes, shares, predicates, strict=True):
        requested_on[axis].append((held, share))
    tolls = [_tolls(*axis) for axis in zip(points.axes, nodes, requested_on, strict=True)]
    return Wanted(
        weight=np.array(weights),
        first=np.array(first, np.int64),
        axis=np.array([axis for axis, _bound in predicates], np.int64),
        anything=np.array([bound.spans.share(*_whole(bound.domain))[0] for _axis, bound in predicates]),
        start=np.cumsum([0, *sizes])[:-1],
        before=np.concatenate([before for before, _upto in requested]),
        upto=np.concatenate([upto for _before, upto in requested]),
        held=np.concatenate([np.cumsum(holds) for holds in codes]),
        axis_start=np.cumsum([0, *axis_sizes])[:-1],
        axis_before=np.concatenate([before for before, _upto in extent]),
        axis_upto=np.concatenate([upto for _before, upto in extent]),
        node_first=np.concatenate([runs[0] for runs in nodes]),
        node_last=np.concatenate([runs[1] for runs in nodes]),
        cut_first=np.cumsum([0, *map(len, cuts)]),
        cut=np.concatenate(cuts).astype(np.int64),
        piece_of=np.concatenate(
            [np.searchsorted(found, np.arange(axis.size)) for found, axis in zip(cuts, points.axes, strict=True)]
        ),
        members=members,
        jump=np.concatenate([jump for jump, _toll in tolls]),
        toll=np.concatenate([toll for _jump, toll in tolls]),
    )


def _heaviest(queries: tuple[BoundQuery, ...]) -> list[BoundQuery]:
    return sorted(queries, key=lambda bound: -bound.query.weight)[:MOST_QUERIES]


def _shares(queries: list[BoundQuery], number_of: dict[str, int]) -> list[float]:
    """Return the part of the toll of each predicate on an axis, by the weight of its query."""
    total = sum(query.query.weight for query in queries)
    on_axes = [[bound for bound in query.where if bound.domain.name in number_of] for query in queries]
    return [
        TOLL * query.query.weight / total / len(bounds) for query, bounds in zip(queries, on_axes, strict=True) for _ in bounds
    ]


def _tolls(
    axis: Axis, runs: tuple[NDArray[np.int64], NDArray[np.int64]], requested: list[tuple[NDArray[np.bool_], float]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the cost of overlapping the ends of predicates: for each code of numbers (cumulative), for each node of a tree."""
    jump, toll = np.zeros(axis.size), np.zeros(len(runs[0]))
    for holds, share in requested:
        if isinstance(axis, TreeAxis):
            held = np.cumsum(holds)
            inside: NDArray[np.int64] = held[runs[1]] - held[runs[0] - 1]
            toll += share * ((inside > 0) & (inside <= runs[1] - runs[0]))
            jump[-1] += share
        elif axis.size > 2:
            jump[2:] += share * np.cumsum(holds[1:-1] != holds[2:])
    return jump, toll


def _holds(bound: Bound, points: Points, number_of: dict[str, int]) -> NDArray[np.bool_]:
    """Return for each row whether the predicate holds for its source value."""
    number = number_of.get(bound.domain.name)
    if number is not None and np.array_equal(*_ends(points.axes[number])):  # each code is one value, not a bin or month
        return _codes_held(bound.spans, points.axes[number])[points.codes[:, number]]
    indices, present = _indices(bound.domain)
    return bound.spans.contain(indices, indices) & present


def _indices(domain: Domain) -> tuple[NDArray[np.generic], NDArray[np.bool_]]:
    present = domain.values.is_valid().to_numpy(zero_copy_only=False)
    if domain.tree is None:
        return domain.values.fill_null(0).to_numpy(zero_copy_only=False), present
    at = domain.values.dictionary_encode()
    leaf = np.array([*(domain.leaf_of[text] for text in at.dictionary.to_pylist()), 0], np.int64)
    return leaf[at.indices.fill_null(-1).to_numpy(zero_copy_only=False)], present


def _whole(domain: Domain) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    """Return the interval of the cell `*`."""
    cells = domain.read_cells([ROOT])
    return cells.low, cells.high


def _ends(axis: Axis) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    """Return the first and last position of each code except missing."""
    if isinstance(axis, NumericAxis):
        return axis.first, axis.last
    leaves = np.arange(axis.size - 1)
    return leaves, leaves


def _codes_held(spans: Spans, axis: Axis) -> NDArray[np.bool_]:
    """Return for each code whether the predicate holds for all its values. It never holds for missing."""
    return np.append(False, spans.contain(*_ends(axis)))


def _extent(axis: Axis, spans: Spans | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return for each code the extent of the axis before its start and before its end.

    The extent is the number of positions or, for real numbers, the length. With `spans`, only positions inside them count.
    """
    first, last = _ends(axis)
    if not len(first):
        return np.zeros(1), np.zeros(1)
    is_whole = first.dtype.kind == "i"
    begin, end = first.astype(np.float64), last.astype(np.float64) + is_whole
    if spans is None:
        return np.append(0.0, begin), np.append(0.0, end)
    low = np.maximum(spans.low.astype(np.float64), begin[0])
    high = np.maximum(np.minimum(spans.high.astype(np.float64) + spans.is_whole, end[-1]), low)
    sums = np.append(0.0, np.cumsum(high - low))

    def below(indices: NDArray[np.float64]) -> NDArray[np.float64]:
        at = np.maximum(np.searchsorted(low, indices, "right") - 1, 0)
        return np.asarray(sums[at] + np.clip(indices, low[at], high[at]) - low[at])

    return np.append(0.0, below(begin)), np.append(0.0, below(end))


def _cuts(codes: list[NDArray[np.bool_]], axes: list[int], shares: list[float], points: Points) -> list[NDArray[np.int64]]:
    """Return for each axis the codes after which a predicate starts or ends. If there are too many: those with most weight."""
    weights = [np.zeros(axis.size) for axis in points.axes]
    for holds, axis, share in zip(codes, axes, shares, strict=True):
        ends = np.flatnonzero(holds[1:-1] != holds[2:]) + 1
        weights[axis][ends] += share / max(len(ends), 1)  # no single end separates a predicate of many values
    found = [np.argsort(-weight, kind="stable")[: min(MOST_CUTS, np.count_nonzero(weight))] for weight in weights]
    return [np.sort(chosen) for chosen in found]


def _node_runs(axis: Axis) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and last code below each node of a tree; empty for numbers."""
    if not isinstance(axis, TreeAxis):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    nodes = len(axis.tree.labels)
    low, high = np.full(nodes, axis.size, np.int64), np.zeros(nodes, np.int64)
    for row in axis.tree.ancestors:
        np.minimum.at(low, row, np.arange(1, axis.size))
        np.maximum.at(high, row, np.arange(1, axis.size))
    return low, high
