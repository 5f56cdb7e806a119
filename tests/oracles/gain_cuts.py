"""Simple Python versions of cuts by gain and of bottom-up merging, and the cost of groups in the units of a search.

They were written from the descriptions of `splitting` and `merge` and import nothing from kohort. Rows are numbers, a part is a
list of rows. A share of a column is an exact fraction, rounded once to whole units, so that equal costs are equal as in a search.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from tests import oracles

UNIT = 2**24
STEPS = {"few": 2, "half": 0.5, "wide": 2**10}
"""Grid steps for the numbers of `oracles.tables`."""


class Months(oracles.Numbers):
    """Dates, published in whole months, and from 24 months on in whole years. A single month also has a width."""

    def __init__(self, column: oracles.Column) -> None:
        present = [_month(value) for value in column if value is not None]
        super().__init__(present)
        self._days = (_first(max(present) + 1) - _first(min(present))).days - 1 if present else 0

    def key(self, value: Any) -> tuple[int, Any]:
        return (0, 0) if value is None else (1, _month(value))

    def height_width(self, members: oracles.Column) -> Fraction:
        months = [_month(value) for value in members if value is not None]
        if len(months) < len(members):
            return Fraction(1 if months else 0)
        low, high = min(months), max(months)
        if high - low + 1 >= 24:
            low, high = low // 12 * 12, high // 12 * 12 + 11
        return min(Fraction((_first(high + 1) - _first(low)).days - 1, self._days), Fraction(1))

    leaf_width = height_width


def _month(text: str) -> int:
    return int(text[:4]) * 12 + int(text[5:7]) - 1


def _first(month: int) -> dt.date:
    return dt.date(month // 12, month % 12 + 1, 1)


class Costs:
    """The cost of groups of rows by an objective: `leaf` or `height`."""

    def __init__(
        self,
        columns: Sequence[oracles.Column],
        measures: Sequence[Any],
        weights: Sequence[float] | None = None,
        objective: str = "leaf",
    ) -> None:
        self.columns, self.measures = list(columns), list(measures)
        self.axes, self.rows = range(len(self.columns)), len(self.columns[0])
        self._weights = [Fraction(weight) for weight in weights or [1] * len(self.columns)]
        self._what = "height_width" if objective == "height" else "leaf_width"
        self._known: dict[tuple[int, frozenset[Any]], int] = {}

    def width(self, axis: int, part: Sequence[int]) -> int:
        """Return the cost of one row of a part on one axis."""
        key = axis, frozenset(self.columns[axis][row] for row in part)
        if key not in self._known:
            share = getattr(self.measures[axis], self._what)(list(key[1]))
            self._known[key] = round(share * self._weights[axis] * UNIT)
        return self._known[key]

    def of_row(self, part: Sequence[int]) -> int:
        """Return the cost of one row of a part."""
        return sum(self.width(axis, part) for axis in self.axes)

    def of_part(self, part: Sequence[int]) -> int:
        """Return the cost of all rows of a part."""
        return len(part) * self.of_row(part)

    def total(self, labels: Sequence[int]) -> int:
        """Return the cost of all groups. Suppressed rows are not counted."""
        return sum(self.of_part(part) for part in oracles.groups(labels) if labels[part[0]] >= 0)


# --- cuts by gain


def nodes(measure: oracles.Categories) -> list[set[Any]]:
    """Return the values below each node: missing first, then level by level from the leaves, each level from left to right.

    Levels are counted from the root. A leaf is on the lowest level, also if it is near the root.
    """
    below: dict[tuple[str, ...], set[Any]] = {}
    for leaf, path in measure._down.items():
        for depth in range(1, len(path) + 1):
            below.setdefault(tuple(path[:depth]), set()).add(leaf)
    leaves = {tuple(path) for path in measure._down.values()}

    def position(path: tuple[str, ...]) -> tuple[int, Any]:
        level = 0 if path in leaves else measure._height + 1 - len(path)
        return level, min(map(measure.key, below[path]))

    return [{None}, *(below[path] for path in sorted(below, key=position))]


def candidates(costs: Costs, axis: int, kept: list[int]) -> Iterator[list[int]]:
    """Yield the rows that a cut by one axis can keep: rows below a node, or on one side of a gap, the lower side first."""
    column, measure = costs.columns[axis], costs.measures[axis]
    if isinstance(measure, oracles.Categories):
        for node in nodes(measure):
            yield [row for row in kept if column[row] in node]
        return
    key = {row: measure.key(column[row]) for row in kept}
    for border in sorted(set(key.values()))[1:]:
        yield [row for row in kept if key[row] < border]
        yield [row for row in kept if key[row] >= border]


def best_cut(costs: Costs, k: int, part: list[int], kept: list[int], *, first: bool) -> tuple[int, list[int]] | None:
    """Return the largest gain of one more cut over the whole part, and the rows it keeps. By the first cut both sides gain."""
    gained = costs.of_row(part) - costs.of_row(kept)
    best: tuple[int, list[int]] | None = None
    for axis in costs.axes:
        whole = costs.width(axis, kept)
        for inside in candidates(costs, axis, kept) if whole else ():
            if not k <= len(inside) <= min(len(part) - k, len(kept) - 1):
                continue
            gain = len(inside) * (gained + whole - costs.width(axis, inside))
            if first:
                rest = [row for row in kept if row not in set(inside)]
                gain += len(rest) * (whole - costs.width(axis, rest))
            if gain > (best[0] if best else 0):
                best = gain, inside
    return best


def leaving(costs: Costs, k: int, part: list[int], steps: int) -> list[int]:
    """Return the rows to take out of a part: narrow cut by cut, and return the first set of rows with the largest gain."""
    kept, path, worth = part, list[list[int]](), list[int]()
    while len(part) >= 2 * k and len(path) < steps:
        found = best_cut(costs, k, part, kept, first=not path)
        if found is None:
            break
        gain, kept = found
        path.append(kept)
        worth.append(max(gain, len(kept) * (costs.of_row(part) - costs.of_row(kept))))
    return path[worth.index(max(worth))] if path else []


def split(costs: Costs, k: int, steps: int) -> list[list[int]]:
    """Cut until no rows can be taken out of any part. Return the parts."""
    waiting, done = [list(range(costs.rows))], []
    while waiting:
        part = waiting.pop()
        inside = leaving(costs, k, part, steps)
        if inside:
            waiting += [inside, [row for row in part if row not in set(inside)]]
        else:
            done.append(part)
    return done


# --- bottom-up merging


def merge(costs: Costs, k: int) -> list[int]:
    """Start with groups of equal rows. While groups are below k, merge the smallest where the total cost grows least."""
    pairs = list(zip(costs.columns, costs.measures, strict=True))
    records = [tuple(measure.key(column[row]) for column, measure in pairs) for row in range(costs.rows)]
    groups = dict(enumerate(oracles.groups(records)))
    while len(groups) > 1 and any(len(rows) < k for rows in groups.values()):
        _size, one = min((len(rows), number) for number, rows in groups.items() if len(rows) < k)

        def growth(other: int, one: int = one) -> int:
            alone = costs.of_part(groups[one]) + costs.of_part(groups[other])
            return costs.of_part(groups[one] + groups[other]) - alone

        other = min((number for number in groups if number != one), key=lambda number: (growth(number), number))
        joined = groups.pop(max(one, other))
        groups[min(one, other)] = groups[min(one, other)] + joined
    label = {row: number for number, rows in enumerate(groups[number] for number in sorted(groups)) for row in rows}
    return [label[row] for row in range(costs.rows)]


# --- random tables

_DATES = st.tuples(st.integers(2018, 2022), st.integers(1, 12), st.integers(1, 28)).map(lambda day: "{}-{:02}-{:02}".format(*day))


@st.composite
def requests(draw: st.DrawFn, most: int = 24) -> tuple[dict[str, list[Any]], list[Any], dict[str, Any]]:
    """A table of `oracles`, possibly with dates, weights and grids; its measures; the job settings for it."""
    columns, measures = draw(oracles.tables(most=most))
    rows = len(next(iter(columns.values())))
    if draw(st.booleans()):
        columns["date"] = [*draw(st.lists(st.none() | _DATES, min_size=rows - 1, max_size=rows - 1)), "2019-03-04"]
        measures = [*measures, Months(columns["date"])]
    weights = st.sampled_from([0, 0.5, 1, 2, 3] if draw(st.booleans()) else [1])
    weight = {name: draw(weights) for name in columns}
    settings: dict[str, Any] = {"weight": weight}
    steps = {name: step for name, step in STEPS.items() if name in columns}
    on_grid = draw(st.booleans())
    if steps and on_grid:
        settings |= {"ranges": "grid", "step": steps}
        measures = [
            oracles.NumbersOnGrid(columns[name], str(steps[name])) if name in steps else measure
            for name, measure in zip(columns, measures, strict=True)
        ]
    return columns, measures, settings


def with_label(
    draw: st.DrawFn, columns: dict[str, list[Any]], measures: list[Any], settings: dict[str, Any]
) -> tuple[dict[str, Any], Costs, dict[str, Any]]:
    """Return the table with a label column, the costs with it, and the job settings that keep equal labels together.

    The label costs as much as any other column.
    """
    rows = len(next(iter(columns.values())))
    label = draw(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=rows, max_size=rows))
    weights = [*settings["weight"].values(), sum(settings["weight"].values()) / len(settings["weight"])]
    costs = Costs([*columns.values(), label], [*measures, oracles.Categories(label)], weights)
    settings = {**settings, "quasi": list(columns), "other": "y", "objective": "class", "label": "y"}
    return {**columns, "y": pa.array(label, pa.string())}, costs, settings


def same_groups(one: Sequence[Sequence[int]], other: Sequence[Sequence[int]]) -> bool:
    """Return whether two partitions have the same groups, in any order."""
    return {frozenset(group) for group in one} == {frozenset(group) for group in other}
