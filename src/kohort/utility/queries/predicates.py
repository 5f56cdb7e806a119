"""Predicates on a column: their intervals of positions, and the share of a published cell inside them."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kohort.schema.workload import Predicate, Value
from kohort.utility.queries.value_domains import Domain, Indices, PublishedCells, day_number

LARGEST = sys.float_info.max


@dataclass(frozen=True, eq=False)
class Spans:
    """Sorted intervals of positions without overlap, both ends included. For `<` the end is the next smaller number."""

    low: Indices
    high: Indices
    is_whole: bool

    def share(self, low: Indices, high: Indices) -> NDArray[np.float64]:
        """Return the share of each cell inside the intervals, by number of positions or, for real numbers, by length.

        A single position is inside or outside.
        """
        inside = np.zeros(len(low))
        for first, last in zip(self.low, self.high, strict=True):
            begin, end = np.maximum(low, first), np.minimum(high, last)
            inside += np.where(begin <= end, _size(begin, end, self.is_whole), 0.0)
        size = _size(low, high, self.is_whole)
        return np.where(size > 0, np.minimum(inside / np.where(size > 0, size, 1.0), 1.0), self.contain(low, high))

    def contain(self, low: Indices, high: Indices) -> NDArray[np.bool_]:
        """Return whether the predicate holds for all values of a cell."""
        at = np.searchsorted(self.low, low, side="right") - 1
        return np.asarray((at >= 0) & (high <= self.high[np.maximum(at, 0)]), np.bool_)

    def avoid(self, low: Indices, high: Indices) -> NDArray[np.bool_]:
        """Return whether the predicate holds for no value of a cell."""
        at = np.searchsorted(self.high, low, side="left")
        return np.asarray((at == len(self.low)) | (high < self.low[np.minimum(at, len(self.low) - 1)]), np.bool_)

    def clip(self, low: Indices, high: Indices) -> tuple[Indices, Indices]:
        """Return the smallest interval with all positions that cell and predicate share; the cell itself if there are none."""
        begin = np.searchsorted(self.high, low, side="left")
        end = np.searchsorted(self.low, high, side="right") - 1
        common = begin <= end
        first = np.maximum(low, self.low[np.minimum(begin, len(self.low) - 1)])
        last = np.minimum(high, self.high[np.maximum(end, 0)])
        return np.where(common, first, low), np.where(common, last, high)


def _size(low: Indices, high: Indices, is_whole: bool) -> NDArray[np.float64]:
    return high.astype(np.float64) - low.astype(np.float64) + is_whole


@dataclass(frozen=True, eq=False)
class Bound:
    """A predicate together with its column."""

    predicate: Predicate
    domain: Domain
    spans: Spans

    def shares(self, cells: PublishedCells) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the share of each cell for which the predicate holds, and whether it certainly holds for all or for none."""
        share = self.spans.share(cells.low, cells.high)
        holds_for_all = self.spans.contain(cells.low, cells.high) & ~cells.unsure
        holds_for_none = self.spans.avoid(cells.low, cells.high) | cells.is_null
        return np.where(holds_for_none, 0.0, share), holds_for_all | holds_for_none

    def sql(self, column: str) -> str:
        """Return the condition in SQL for the source. It is made from the given values, not from the spans."""
        values = [_literal(value, self.domain) for value in _leaves_or(self.predicate.values, self.domain)]
        if self.predicate.operator == "between":
            return f"{column} BETWEEN {values[0]} AND {values[1]}"
        if self.predicate.operator in ("=", "in"):
            return f"{column} IN ({', '.join(values)})"
        return f"{column} {self.predicate.operator} {values[0]}"


def bind(predicate: Predicate, domain: Domain) -> Bound:
    """Return a predicate together with its column. Raise ValueError with the reason if it does not fit the column."""
    if not domain.has_order and predicate.operator not in ("=", "in"):
        raise ValueError(f"column {domain.name!r} has text, which has no order. Use = or in")
    values = [_index(value, domain) for value in predicate.values] if domain.has_order else []
    if domain.tree is not None:
        spans = _of_leaves(_holding(predicate, domain, values), domain)
    else:
        spans = _of_numbers(predicate.operator, values, domain)
    if not len(spans.low):
        raise ValueError(f"the condition on column {domain.name!r} can never be true: {_why_none(predicate, values, domain)}")
    return Bound(predicate, domain, spans)


def _why_none(predicate: Predicate, values: Sequence[Any], domain: Domain) -> str:
    if predicate.operator == "between" and values[0] > values[1]:
        return "give the smaller value first"
    if domain.tree is not None:
        return "it selects no leaf of the tree"
    return "the column has whole numbers" if any(value % 1 for value in values) else "the column has 64-bit numbers"


# --- numbers and dates


def _index(value: Value, domain: Domain) -> Any:
    """Return the number or day of a value."""
    if domain.is_number:
        if isinstance(value, (str, bool, date)):
            raise ValueError(f"column {domain.name!r} has numbers. Compare it with a number")
        if not abs(value) <= LARGEST:  # also true for NaN
            raise ValueError(f"column {domain.name!r} has 64-bit numbers. Compare it with such a number")
        return value if abs(value) < 1 << 63 else float(value)
    if isinstance(value, datetime) or (isinstance(value, str) and ":" in value):
        raise ValueError(f"column {domain.name!r} has dates. Leave out the time of day")
    try:
        if isinstance(value, (str, date)):
            return day_number(value)
    except ValueError:
        pass
    raise ValueError(f"column {domain.name!r} has dates. Compare it with a date such as 2019-03-31")


def _of_numbers(operator: str, values: Sequence[Any], domain: Domain) -> Spans:
    limits = np.iinfo(np.int64) if domain.is_whole else np.finfo(np.float64)
    least, most, value = limits.min, limits.max, values[0]
    pairs = {
        "<": [(least, _before(value, domain))],
        "<=": [(least, value)],
        ">": [(_after(value, domain), most)],
        ">=": [(value, most)],
        "between": [(value, values[-1])],
    }.get(operator, [(value, value) for value in values])
    if domain.is_whole:
        pairs = [(math.ceil(max(low, least)), math.floor(min(high, most))) for low, high in pairs]
    return _spans([pair for pair in pairs if pair[0] <= pair[1]], domain)


def _before(value: Any, domain: Domain) -> Any:
    return math.ceil(value) - 1 if domain.is_whole else math.nextafter(value, -math.inf)


def _after(value: Any, domain: Domain) -> Any:
    return math.floor(value) + 1 if domain.is_whole else math.nextafter(value, math.inf)


def _spans(pairs: Sequence[tuple[Any, Any]], domain: Domain) -> Spans:
    """Sort intervals, and join those that touch or overlap."""
    ordered = sorted(pairs)
    joined: list[list[Any]] = []
    for low, high in ordered:
        if joined and low <= joined[-1][1] + domain.is_whole:
            joined[-1][1] = max(joined[-1][1], high)
        else:
            joined.append([low, high])
    ends = np.array(joined, np.int64 if domain.is_whole else np.float64).reshape(-1, 2)
    return Spans(ends[:, 0], ends[:, 1], domain.is_whole)


# --- trees


def _holding(predicate: Predicate, domain: Domain, values: Sequence[Any]) -> NDArray[np.bool_]:
    """Return for each leaf whether the predicate holds."""
    if not domain.has_order:
        holds = np.zeros(domain.ends[1] + 1, np.bool_)
        for value in predicate.values:
            first, last = _run(value, domain)
            holds[first : last + 1] = True
        return holds
    if domain.leaf_numbers is None:
        raise ValueError(f"the tree of column {domain.name!r} has leaves that are not numbers or dates. Use = or in")
    spans = _of_numbers(predicate.operator, values, Domain(domain.name, domain.value_type, domain.values))
    if not len(spans.low):
        return np.zeros(len(domain.leaf_numbers), np.bool_)
    return spans.contain(domain.leaf_numbers, domain.leaf_numbers)


def _run(value: Value, domain: Domain) -> tuple[int, int]:
    for text in _written(value):
        if text in domain.runs:
            return domain.runs[text]
    raise ValueError(f"column {domain.name!r} has no value or label {_written(value)[0]!r}")


def _written(value: Value) -> list[str]:
    """Return the ways a value can be written in a column of text."""
    text = str(value)
    return [text.lower(), text, text.upper()] if isinstance(value, bool) else [text]


def _of_leaves(holds: NDArray[np.bool_], domain: Domain) -> Spans:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], holds, [False]])))
    return _spans([(first, after - 1) for first, after in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)], domain)


def _leaves_or(values: Sequence[Value], domain: Domain) -> Sequence[Value]:
    """Replace labels of a tree by the leaves below them. Numbers and dates are not changed."""
    if domain.has_order or domain.tree is None:
        return values
    runs = [_run(value, domain) for value in values]
    return [domain.tree.leaves[leaf] for first, last in runs for leaf in range(first, last + 1)]


def _literal(value: Value, domain: Domain) -> str:
    if domain.is_number:
        return repr(_index(value, domain))
    return str(day_number(value)) if domain.has_order and isinstance(value, (str, date)) else _quoted(str(value))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
