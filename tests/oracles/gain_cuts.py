"""Plain readings of cuts by gain and of merging from below, and what groups cost in the units of a search.

Written from what `splitting` and `merge` say that they do; nothing of kohort is imported. Rows are numbers, a part is a list of
them. A share of a column is an exact fraction, rounded once to whole units: equal costs are then equal, as in a search.
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
"""Grids for the numbers of `oracles.tables`."""


class Months(oracles.Numbers):
    """Dates, told in whole months, from 24 months on in whole years; a month is a number and has a width of its own."""

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
    """What groups of rows cost by an objective: `leaf` or `height`."""

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
        """What each row of a part costs on one axis."""
        key = axis, frozenset(self.columns[axis][row] for row in part)
        if key not in self._known:
            share = getattr(self.measures[axis], self._what)(list(key[1]))
            self._known[key] = round(share * self._weights[axis] * UNIT)
        return self._known[key]

    def of_row(self, part: Sequence[int]) -> int:
        return sum(self.width(axis, part) for axis in self.axes)

    def of_part(self, part: Sequence[int]) -> int:
        return len(part) * self.of_row(part)

    def total(self, labels: Sequence[int]) -> int:
        """What all groups cost; rows that are left out are not counted."""
        return sum(self.of_part(part) for part in oracles.groups(labels) if labels[part[0]] >= 0)


# --- cuts by gain


def nodes(measure: oracles.Categories) -> list[set[Any]]:
    """The values below each node: missing first, then level by level from the leaves, each from left to right.

    Levels are counted from the root; a leaf stands on the lowest one, however near to the root it is.
    """
    below: dict[tuple[str, ...], set[Any]] = {}
    for leaf, path in measure._down.items():
        for depth in range(1, len(path) + 1):
            below.setdefault(tuple(path[:depth]), set()).add(leaf)
    leaves = {tuple(path) for path in measure._down.values()}

    def place(path: tuple[str, ...]) -> tuple[int, Any]:
        level = 0 if path in leaves else measure._height + 1 - len(path)
        return level, min(map(measure.key, below[path]))

    return [{None}, *(below[path] for path in sorted(below, key=place))]


def candidates(costs: Costs, axis: int, kept: list[int]) -> Iterator[list[int]]:
    """Who could be kept of these rows by one axis: below a node; on one side of a gap, the lower side first."""
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
    """The most that one more cut gains over the whole part, and who is kept by it; both sides gain by the first."""
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
    """Who should leave a part: narrowed cut by cut, and of all that was passed the first that is worth most."""
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
    """The parts that nothing leaves."""
    waiting, done = [list(range(costs.rows))], []
    while waiting:
        part = waiting.pop()
        inside = leaving(costs, k, part, steps)
        if inside:
            waiting += [inside, [row for row in part if row not in set(inside)]]
        else:
            done.append(part)
    return done


# --- merging from below


def merge(costs: Costs, k: int) -> list[int]:
    """Classes of equal records; the smallest below k merges where the total cost grows least, until none is below k."""
    pairs = list(zip(costs.columns, costs.measures, strict=True))
    records = [tuple(measure.key(column[row]) for column, measure in pairs) for row in range(costs.rows)]
    classes = dict(enumerate(oracles.groups(records)))
    while len(classes) > 1 and any(len(rows) < k for rows in classes.values()):
        _size, one = min((len(rows), number) for number, rows in classes.items() if len(rows) < k)

        def growth(other: int, one: int = one) -> int:
            alone = costs.of_part(classes[one]) + costs.of_part(classes[other])
            return costs.of_part(classes[one] + classes[other]) - alone

        other = min((number for number in classes if number != one), key=lambda number: (growth(number), number))
        joined = classes.pop(max(one, other))
        classes[min(one, other)] = classes[min(one, other)] + joined
    label = {row: number for number, rows in enumerate(classes[number] for number in sorted(classes)) for row in rows}
    return [label[row] for row in range(costs.rows)]


# --- random tables

_DATES = st.tuples(st.integers(2018, 2022), st.integers(1, 12), st.integers(1, 28)).map(lambda day: "{}-{:02}-{:02}".format(*day))


@st.composite
def asked(draw: st.DrawFn, most: int = 24) -> tuple[dict[str, list[Any]], list[Any], dict[str, Any]]:
    """A table of `oracles` and perhaps dates, weights, grids; its measures; the settings that ask for it."""
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
    """The table with a label beside its columns, which costs as any of them does; the settings that ask to keep it together."""
    rows = len(next(iter(columns.values())))
    label = draw(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=rows, max_size=rows))
    weights = [*settings["weight"].values(), sum(settings["weight"].values()) / len(settings["weight"])]
    costs = Costs([*columns.values(), label], [*measures, oracles.Categories(label)], weights)
    settings = {**settings, "quasi": list(columns), "other": "y", "objective": "class", "label": "y"}
    return {**columns, "y": pa.array(label, pa.string())}, costs, settings


def same_groups(one: Sequence[Sequence[int]], other: Sequence[Sequence[int]]) -> bool:
    return {frozenset(group) for group in one} == {frozenset(group) for group in other}
