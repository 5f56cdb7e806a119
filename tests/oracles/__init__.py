"""Plain, slow Python versions of sections 1, 2 and 5 of ALGORITHMS.md, to compare the product with.

Written from that text alone; nothing of kohort is imported. Shares are exact fractions, so ties are ties.
A column is a list of plain values, None = missing; a column's measure (`Numbers`, `Categories`) knows the whole table's.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

ROOT = "*"
Column = Sequence[Any]


class Numbers:
    """Numbers: a share is a part of the whole table's range."""

    def __init__(self, column: Column) -> None:
        present = _present(column)
        self._low = Fraction(min(present)) if present else Fraction(0)
        self._range = Fraction(max(present)) - self._low if present else Fraction(0)

    def key(self, value: Any) -> tuple[int, Any]:
        """Sorts missing first, then numbers by size."""
        return (0, 0) if value is None else (1, value)

    def height_width(self, members: Column) -> Fraction:
        present = _present(members)
        if len(present) < len(members):
            return Fraction(1 if present else 0)
        return (Fraction(max(present)) - Fraction(min(present))) / self._range if self._range else Fraction(0)

    leaf_width = height_width

    def text(self, members: Column) -> str | None:
        """The published text of a cluster with these members."""
        present = _present(members)
        if len(present) < len(members):
            return ROOT if present else None
        low, high = min(present), max(present)
        return _number(low) if low == high else f"[{_number(low)} - {_number(high)}]"

    def square_error(self, members: Column) -> Fraction:
        """Squared distances to the mean; to missing, if the missing outnumber the present."""
        present = _present(members)
        absent = len(members) - len(present)
        if absent > len(present):
            return Fraction(len(present))
        places = [(Fraction(value) - self._low) / (self._range or 1) for value in present]
        mean = sum(places, Fraction(0)) / max(len(places), 1)
        return absent + sum(((place - mean) ** 2 for place in places), Fraction(0))


class NumbersOnGrid(Numbers):
    """Numbers whose ranges end at multiples of a step; numbers and step are the decimals that they are written as."""

    def __init__(self, column: Column, step: str) -> None:
        super().__init__(column)
        present = _present(column)
        self._ends = [min(present), max(present)] if present else []
        self._step = Fraction(step)

    def height_width(self, members: Column) -> Fraction:
        return width_told(self.text(members), self._ends)

    leaf_width = height_width

    def text(self, members: Column) -> str | None:
        present = {Fraction(str(value)) for value in _present(members)}
        if len(present) < 2 or None in members:
            return super().text(members)
        low, high = min(present) // self._step * self._step, -(-max(present) // self._step) * self._step
        return f"[{_plain(low)} - {_plain(high)}]"


def width_told(text: str | None, column: Column) -> Fraction:
    """The share of a column's range that a published text tells of, nothing but the text being known; at most all of it."""
    if text is None or text == ROOT:
        return Fraction(text is not None)
    present = [Fraction(str(value)) for value in _present(column)]
    low, *rest = map(Fraction, text.strip("[]").split(" - "))
    return min(Fraction(1), (rest[0] - low) / (max(present) - min(present))) if rest else Fraction(0)


class Categories:
    """Leaves of a tree given by its rows (leaf, ..., root); without rows a root above the values in the order of their bytes.

    Rows may differ in length: a node is as high as the deepest leaf below it is deep.
    """

    def __init__(self, column: Column, rows: Iterable[Sequence[str]] | None = None) -> None:
        flat = sorted(set(_present(column)), key=lambda text: text.encode())
        given = [tuple(row) for row in rows] if rows is not None else [(text, ROOT) for text in flat]
        self._down = {row[0]: row[::-1] for row in given}  # leaf -> its path from the root
        self._height = max((len(row) for row in given), default=2) - 1
        nested: dict[str, Any] = {}
        for row in given:
            here = nested
            for label in reversed(row):
                here = here.setdefault(label, {})
        self._code = {leaf: number for number, leaf in enumerate(_leaves(nested), start=1)}

    def key(self, value: Any) -> tuple[int, Any]:
        """Sorts missing first, then leaves depth-first, children as they first appear."""
        return (0, 0) if value is None else (1, self._code[value])

    def _ancestor(self, members: Iterable[str]) -> tuple[str, ...]:
        """The path from the root to the lowest node above all members."""
        steps = zip(*(self._down[leaf] for leaf in set(members)), strict=False)
        path: list[str] = []
        for labels in steps:
            if len(set(labels)) > 1:
                break
            path.append(labels[0])
        return tuple(path)

    def _share(self, members: Column, *, leaves: bool) -> Fraction:
        present = _present(members)
        if len(present) < len(members):
            return Fraction(1 if present else 0)
        path = self._ancestor(present)
        if not leaves:
            return self._height_share(path)
        below = sum(down[: len(path)] == path for down in self._down.values())
        return Fraction(below, len(self._down)) if below > 1 else Fraction(0)

    def _height_share(self, path: tuple[str, ...]) -> Fraction:
        deepest = max(len(down) for down in self._down.values() if down[: len(path)] == path)
        return Fraction(deepest - len(path), self._height)

    def height_width(self, members: Column) -> Fraction:
        return self._share(members, leaves=False)

    def leaf_width(self, members: Column) -> Fraction:
        return self._share(members, leaves=True)

    def text(self, members: Column) -> str | None:
        """The published text of a cluster with these members."""
        present = _present(members)
        if len(present) < len(members):
            return ROOT if present else None
        return self._ancestor(present)[-1]

    def square_error(self, members: Column) -> Fraction:
        """Squared distances to the value of least total distance; ties: most frequent, then lowest code."""
        counts = Counter(members)

        def rank(value: str | None) -> tuple[Fraction, int, tuple[int, Any]]:
            total = sum((self._distance(value, other) * count for other, count in counts.items()), Fraction(0))
            return total, -counts[value], self.key(value)

        centre = min([None, *self._down], key=rank)
        return sum((self._distance(centre, value) ** 2 * count for value, count in counts.items()), Fraction(0))

    def _distance(self, one: str | None, other: str | None) -> Fraction:
        if one is None or other is None:
            return Fraction(0 if one is other else 1)
        return self._height_share(self._ancestor([one, other]))


Measure = Numbers | Categories


def _present(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def _plain(number: Fraction) -> str:
    """A fraction whose digits end, written with all of them."""
    text = f"{Decimal(number.numerator) / Decimal(number.denominator):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _leaves(nested: dict[str, Any]) -> Iterator[str]:
    for label, below in nested.items():
        if below:
            yield from _leaves(below)
        else:
            yield label


# --- section 2: Mondrian


def mondrian(
    columns: Sequence[Column],
    measures: Sequence[Measure],
    k: int,
    *,
    relaxed: bool = False,
    weights: Sequence[int] | None = None,
    stands: Callable[[list[int]], bool] | None = None,
) -> list[int]:
    """The class of each row, classes numbered left to right; rows may stand as one if there are k, or as `stands` says."""
    may_stand = stands or (lambda part: len(part) >= k)
    weigh = weights or [1] * len(columns)
    rows = range(len(columns[0]))
    keys = [[measure.key(value) for value in column] for column, measure in zip(columns, measures, strict=True)]

    def cut(part: list[int], axis: int) -> tuple[list[int], list[int]] | None:
        values = keys[axis]
        if relaxed:
            half = set(sorted(part, key=lambda row: values[row])[: (len(part) + 1) // 2])  # stable: ties in row order
            halves = [row for row in part if row in half], [row for row in part if row not in half]
            return halves if all(map(may_stand, halves)) else None
        ordered = sorted(values[row] for row in part)
        left_of = {value: bisect_right(ordered, value) for value in ordered}
        allowed = [
            value
            for value in left_of
            if may_stand([row for row in part if values[row] <= value])
            and may_stand([row for row in part if values[row] > value])
        ]
        if not allowed:
            return None
        median = ordered[(len(part) - 1) // 2]
        best = median if median in allowed else min(allowed, key=lambda value: abs(2 * left_of[value] - len(part)))
        return [row for row in part if values[row] <= best], [row for row in part if values[row] > best]

    def classes(part: list[int]) -> Iterator[list[int]]:
        if len(part) >= 2 * k:
            width = [
                weight * measure.height_width([column[row] for row in part])
                for column, measure, weight in zip(columns, measures, weigh, strict=True)
            ]
            for axis in sorted(range(len(columns)), key=lambda axis: -width[axis]):  # stable: ties by column
                halves = cut(part, axis)
                if halves:
                    yield from classes(halves[0])
                    yield from classes(halves[1])
                    return
        yield part

    labels = [-1] * len(rows)
    for number, members in enumerate(classes(list(rows))):
        for row in members:
            labels[row] = number
    return labels


# --- section 1: loss of a partition


def groups(labels: Sequence[Any]) -> list[list[int]]:
    """The rows of each label."""
    found: dict[Any, list[int]] = {}
    for row, label in enumerate(labels):
        found.setdefault(label, []).append(row)
    return list(found.values())


def published(columns: Sequence[Column], measures: Sequence[Measure], labels: Sequence[int]) -> list[tuple[str | None, ...]]:
    """The published texts of each row."""
    told: list[tuple[str | None, ...]] = [()] * len(labels)
    for rows in groups(labels):
        texts = tuple(measure.text([column[row] for row in rows]) for column, measure in zip(columns, measures, strict=True))
        for row in rows:
            told[row] = texts
    return told


def per_column(columns: Sequence[Column], measures: Sequence[Measure], labels: Sequence[int], what: str) -> list[Fraction]:
    """One figure per column: `height_width` or `leaf_width` summed over cells, or `square_error` over clusters."""
    totals = []
    for column, measure in zip(columns, measures, strict=True):
        total = Fraction(0)
        for rows in groups(labels):
            figure = getattr(measure, what)([column[row] for row in rows])
            total += figure if what == "square_error" else len(rows) * figure
        totals.append(total)
    return totals


def discernibility(labels: Sequence[Any], k: int) -> int:
    """C_DM: the square of each size; below k the size times all rows."""
    return sum(len(rows) ** 2 if len(rows) >= k else len(rows) * len(labels) for rows in groups(labels))


def mean_size(labels: Sequence[Any], k: int) -> Fraction:
    """C_AVG: rows per class, per k."""
    return Fraction(len(labels), len(groups(labels)) * k)


# --- random tables

TREE = (
    ("a", "ab", "abc", "front", "*"),
    ("d", "de", "back", "*"),
    ("b", "ab", "abc", "front", "*"),
    ("c", "abc", "front", "*"),
    ("e", "de", "back", "*"),
    ("z", "*"),
    ("nobody", "nothing", "back", "*"),
)
"""Unequal depths, a leaf that no row has, leaves of one node apart in the file. Four levels: shares are quarters."""

_VALUES = {
    "few": st.integers(0, 4),
    "half": st.integers(-8, 8).map(lambda number: number / 2),
    "tree": st.sampled_from([row[0] for row in TREE[:-1]]),
    "text": st.sampled_from(["", "x", "\u00e4", "Z", "a,b", "[1 - 2]"]).map(lambda text: text or None),
    "wide": st.integers(0, 2**20),
}
_ENDS = {"few": (0, 4), "half": (-4.0, 4.0), "wide": (0, 2**20)}


@st.composite
def tables(draw: st.DrawFn, most: int = 40) -> tuple[dict[str, list[Any]], list[Measure]]:
    """Some columns in some order, full of ties, copies and missing values. Ranges are powers of two: equal shares are equal."""
    names = draw(st.permutations(list(_VALUES)))[: draw(st.integers(1, len(_VALUES)))]
    rows = draw(st.integers(2, most))
    columns: dict[str, list[Any]] = {}
    for name in names:
        values = st.none() | _VALUES[name] if draw(st.booleans()) else _VALUES[name]
        cells = draw(st.lists(values, min_size=rows, max_size=rows))
        columns[name] = [*cells, *_ENDS.get(name, (None, "x") if name == "text" else ("a", "z"))]
    return columns, [measure_of(name, column) for name, column in columns.items()]


def measure_of(name: str, column: Column) -> Measure:
    """The measure of a column of `tables`."""
    if name in _ENDS:
        return Numbers(column)
    return Categories(column, TREE if name == "tree" else None)
