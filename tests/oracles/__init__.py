"""Simple, slow Python versions of sections 1, 2 and 5 of ALGORITHMS.md. Tests compare kohort with them.

They were written from that text alone and import nothing from kohort. Shares are exact fractions, so ties are exact.
A column is a list of plain values, None = missing. The measure of a column (`Numbers`, `Categories`) is built from the column of
the whole table.
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
    """Numbers. A width is a share of the range in the whole table."""

    def __init__(self, column: Column) -> None:
        present = _present(column)
        self._low = Fraction(min(present)) if present else Fraction(0)
        self._range = Fraction(max(present)) - self._low if present else Fraction(0)

    def key(self, value: Any) -> tuple[int, Any]:
        """Return a sort key: missing first, then numbers by size."""
        return (0, 0) if value is None else (1, value)

    def height_width(self, members: Column) -> Fraction:
        present = _present(members)
        if len(present) < len(members):
            return Fraction(1 if present else 0)
        return (Fraction(max(present)) - Fraction(min(present))) / self._range if self._range else Fraction(0)

    leaf_width = height_width

    def text(self, members: Column) -> str | None:
        """Return the published text of a group with these members."""
        present = _present(members)
        if len(present) < len(members):
            return ROOT if present else None
        low, high = min(present), max(present)
        return _number(low) if low == high else f"[{_number(low)} - {_number(high)}]"

    def square_error(self, members: Column) -> Fraction:
        """Return the sum of squared distances to the mean, or to missing if most members are missing."""
        present = _present(members)
        absent = len(members) - len(present)
        if absent > len(present):
            return Fraction(len(present))
        positions = [(Fraction(value) - self._low) / (self._range or 1) for value in present]
        mean = sum(positions, Fraction(0)) / max(len(positions), 1)
        return absent + sum(((position - mean) ** 2 for position in positions), Fraction(0))


class NumbersOnGrid(Numbers):
    """Numbers whose ranges end at multiples of a step. Numbers and step are read as decimals, as they are written."""

    def __init__(self, column: Column, step: str) -> None:
        super().__init__(column)
        present = _present(column)
        self._ends = [min(present), max(present)] if present else []
        self._step = Fraction(step)

    def height_width(self, members: Column) -> Fraction:
        return published_width(self.text(members), self._ends)

    leaf_width = height_width

    def text(self, members: Column) -> str | None:
        present = {Fraction(str(value)) for value in _present(members)}
        if len(present) < 2 or None in members:
            return super().text(members)
        low, high = min(present) // self._step * self._step, -(-max(present) // self._step) * self._step
        return f"[{_plain(low)} - {_plain(high)}]"


def published_width(text: str | None, column: Column) -> Fraction:
    """Return the width of a published text as a share of the range of the column, at most 1. Only the text is used."""
    if text is None or text == ROOT:
        return Fraction(text is not None)
    present = [Fraction(str(value)) for value in _present(column)]
    low, *rest = map(Fraction, text.strip("[]").split(" - "))
    return min(Fraction(1), (rest[0] - low) / (max(present) - min(present))) if rest else Fraction(0)


class Categories:
    """Leaves of a tree, given by its rows (leaf, ..., root). Without rows: a root above the values, sorted by their bytes.

    Rows may differ in length. The height of a node is the number of edges to the deepest leaf below it.
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
        """Return a sort key: missing first, then leaves depth-first, children in the order of their first rows."""
        return (0, 0) if value is None else (1, self._code[value])

    def _ancestor(self, members: Iterable[str]) -> tuple[str, ...]:
        """Return the path from the root to the lowest node above all members."""
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
        """Return the published text of a group with these members."""
        present = _present(members)
        if len(present) < len(members):
            return ROOT if present else None
        return self._ancestor(present)[-1]

    def square_error(self, members: Column) -> Fraction:
        """Return the sum of squared distances to the value with the lowest total distance.

        In a tie the most frequent value is used, then the one with the lowest code.
        """
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
    """Return a fraction as a decimal number with all its digits. It must have finitely many."""
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
    is_valid: Callable[[list[int]], bool] | None = None,
) -> list[int]:
    """Return the group of each row. Groups are numbered from left to right.

    A group is valid if it has k rows, or if `is_valid` returns True.
    """
    valid = is_valid or (lambda part: len(part) >= k)
    weigh = weights or [1] * len(columns)
    rows = range(len(columns[0]))
    keys = [[measure.key(value) for value in column] for column, measure in zip(columns, measures, strict=True)]

    def cut(part: list[int], axis: int) -> tuple[list[int], list[int]] | None:
        values = keys[axis]
        if relaxed:
            half = set(sorted(part, key=lambda row: values[row])[: (len(part) + 1) // 2])  # a stable sort: ties stay in row order
            halves = [row for row in part if row in half], [row for row in part if row not in half]
            return halves if all(map(valid, halves)) else None
        ordered = sorted(values[row] for row in part)
        left_of = {value: bisect_right(ordered, value) for value in ordered}
        allowed = [
            value
            for value in left_of
            if valid([row for row in part if values[row] <= value]) and valid([row for row in part if values[row] > value])
        ]
        if not allowed:
            return None
        median = ordered[(len(part) - 1) // 2]
        best = median if median in allowed else min(allowed, key=lambda value: abs(2 * left_of[value] - len(part)))
        return [row for row in part if values[row] <= best], [row for row in part if values[row] > best]

    def final_parts(part: list[int]) -> Iterator[list[int]]:
        if len(part) >= 2 * k:
            width = [
                weight * measure.height_width([column[row] for row in part])
                for column, measure, weight in zip(columns, measures, weigh, strict=True)
            ]
            for axis in sorted(range(len(columns)), key=lambda axis: -width[axis]):  # a stable sort: ties in column order
                halves = cut(part, axis)
                if halves:
                    yield from final_parts(halves[0])
                    yield from final_parts(halves[1])
                    return
        yield part

    labels = [-1] * len(rows)
    for number, members in enumerate(final_parts(list(rows))):
        for row in members:
            labels[row] = number
    return labels


# --- section 1: loss of a partition


def groups(labels: Sequence[Any]) -> list[list[int]]:
    """Return the rows of each label."""
    found: dict[Any, list[int]] = {}
    for row, label in enumerate(labels):
        found.setdefault(label, []).append(row)
    return list(found.values())


def published(columns: Sequence[Column], measures: Sequence[Measure], labels: Sequence[int]) -> list[tuple[str | None, ...]]:
    """Return the published texts of each row."""
    of_row: list[tuple[str | None, ...]] = [()] * len(labels)
    for rows in groups(labels):
        texts = tuple(measure.text([column[row] for row in rows]) for column, measure in zip(columns, measures, strict=True))
        for row in rows:
            of_row[row] = texts
    return of_row


def per_column(columns: Sequence[Column], measures: Sequence[Measure], labels: Sequence[int], what: str) -> list[Fraction]:
    """Return one sum per column: `height_width` or `leaf_width` over all cells, or `square_error` over all groups."""
    totals = []
    for column, measure in zip(columns, measures, strict=True):
        total = Fraction(0)
        for rows in groups(labels):
            figure = getattr(measure, what)([column[row] for row in rows])
            total += figure if what == "square_error" else len(rows) * figure
        totals.append(total)
    return totals


def discernibility(labels: Sequence[Any], k: int) -> int:
    """Return the discernibility metric C_DM: the sum of squared group sizes; a group below k counts its size times all rows."""
    return sum(len(rows) ** 2 if len(rows) >= k else len(rows) * len(labels) for rows in groups(labels))


def mean_size(labels: Sequence[Any], k: int) -> Fraction:
    """Return the metric C_AVG: the mean group size divided by k."""
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
"""A tree with leaves of different depths, a leaf that no row has, and rows of the same node that are not adjacent.

It has four levels, so shares are multiples of 1/4.
"""

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
    """Random columns in random order, with many ties, duplicates and missing values.

    Ranges are powers of two, so that equal shares are equal as floats.
    """
    names = draw(st.permutations(list(_VALUES)))[: draw(st.integers(1, len(_VALUES)))]
    rows = draw(st.integers(2, most))
    columns: dict[str, list[Any]] = {}
    for name in names:
        values = st.none() | _VALUES[name] if draw(st.booleans()) else _VALUES[name]
        cells = draw(st.lists(values, min_size=rows, max_size=rows))
        columns[name] = [*cells, *_ENDS.get(name, (None, "x") if name == "text" else ("a", "z"))]
    return columns, [measure_of(name, column) for name, column in columns.items()]


def measure_of(name: str, column: Column) -> Measure:
    """Return the measure of a column of `tables`."""
    if name in _ENDS:
        return Numbers(column)
    return Categories(column, TREE if name == "tree" else None)
