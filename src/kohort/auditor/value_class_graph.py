"""The bipartite graph of sensitive values and classes (paper 003, section 4.2), asked of the release.

An edge joins a value to a class that holds it; its weight is the share of the class's records that do. Values held by fewer
than k records of the whole table are never named: they are one node together, `held by fewer than k`. Nor are the
quasi-identifiers of a class that has fewer than k records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from kohort.auditor.counts import PERSON, Run, literal

PAGE = 1_000_000  # edges or classes in memory at a time
MOST_CELLS_KEPT = 10_000  # of a matrix: far more than anybody draws
MISSING = "(missing)"

Visibility = Literal["value", "missing", "pooled"]


class Value(NamedTuple):
    """A sensitive value as it may be shown. The kind tells a missing cell from one that holds the text `(missing)`."""

    visibility: Visibility
    label: str


class GraphGroup(NamedTuple):
    """A class. E1, E2, .. stand in the order in which the classes appear in the file."""

    name: str
    label: str
    size: int


class Edge(NamedTuple):
    """So many records of the class with this number (E1 is 0), of the class's size, hold this value."""

    value: Value
    group: int
    records: int
    size: int

    @property
    def weight(self) -> float:
        return self.records / self.size


@dataclass(frozen=True)
class Matrix:
    """The edges of one column in memory: the paper's cost adjacency matrix, zeros left out."""

    values: tuple[Value, ...]
    groups: tuple[GraphGroup, ...]
    weights: Mapping[tuple[int, int], float]
    """By the numbers of the value and the class. Pooled values are counted together."""

    def rows(self) -> list[list[float]]:
        """A row for each value, a column for each class."""
        indices = range(len(self.groups))
        return [[self.weights.get((row, index), 0.0) for index in indices] for row in range(len(self.values))]


@dataclass(frozen=True)
class ReleaseView:
    """The release as this analysis reads it: aliases with their columns' names, and what is not to be named."""

    run: Run
    aliases: Mapping[str, str]
    k: int
    missing: Sequence[str] = ()
    """Texts that stand for a missing value, beside the empty one."""
    persons: bool = False
    """Whether `matched` says whose each row is: a value or a class is then shown if k persons hold it, not k records."""

    @property
    def holders(self) -> str:
        """How many hold what a group of `sql` is about."""
        return f"COUNT(DISTINCT {PERSON})" if self.persons else "COUNT(*)"

    @property
    def _view(self) -> str:
        return "matched" if self.persons else "release"

    @cached_property
    def quasi(self) -> dict[str, str]:
        return {alias: name for alias, name in self.aliases.items() if alias.startswith("q")}

    @cached_property
    def sensitive(self) -> dict[str, str]:
        return {alias: name for alias, name in self.aliases.items() if alias.startswith("s")}

    @property
    def by(self) -> str:
        """What makes a class."""
        return ", ".join(self.quasi)

    def sql(self, sensitive: Iterable[str], more: str = "") -> str:
        """A query: the quasi-identifiers, and these sensitive columns as text, NULL where it is missing."""
        person = [PERSON] if self.persons else []
        return f"SELECT {', '.join([self.by, *person, *map(self._text, sensitive)])}{more} FROM {self._view}"

    def _text(self, alias: str) -> str:
        """1.0 is named 1, and not-a-number is missing, as elsewhere; in a column of text both stay what they are."""
        cell = f"CAST({alias} AS STRING)"
        floating = f"LOWER(TYPEOF({alias})) IN ('float', 'double')"
        text = f"CASE WHEN {floating} THEN REGEXP_REPLACE({cell}, '[.]0$|^(nan|NaN)$', '') ELSE {cell} END"
        for token in ("", *self.missing):
            text = f"NULLIF({text}, {literal(token)})"
        return f"{text} AS {alias}"

    def groups(self) -> Iterator[GraphGroup]:
        """Every class, in the order of first appearance."""
        numbered = self.sql([], ", ROW_NUMBER() OVER () AS place")
        counts = f"COUNT(*) AS size, {self.holders} AS holders"
        sql = f"SELECT {self.by}, {counts} FROM ({numbered}) AS numbered GROUP BY {self.by} ORDER BY MIN(place)"
        for number, (*cells, size, holders) in enumerate(self._pages(sql), start=1):
            pairs = zip(self.quasi.values(), cells, strict=True)
            label = "; ".join(f"{name}={MISSING if text is None else text}" for name, text in pairs)
            yield GraphGroup(f"E{number}", label if holders >= self.k else f"fewer than {self.k} records", int(size))

    def edges(self, alias: str) -> Iterator[Edge]:
        """Every edge of a column with a weight above 0, class by class."""
        visibility, text = shown(alias, self.holders, self.k)
        sql = (
            f"WITH cells AS ({self.sql([alias], ', ROW_NUMBER() OVER () AS place')}), "
            f"held AS (SELECT {alias} AS cell, {visibility} AS kind, {text} AS name FROM cells GROUP BY {alias}), "
            f"counts AS (SELECT {self.by}, kind, name, COUNT(*) AS n, MIN(place) AS place FROM cells "
            f"JOIN held ON {alias} IS NOT DISTINCT FROM cell GROUP BY {self.by}, kind, name) "
            f"SELECT MIN(place) OVER (PARTITION BY {self.by}) AS appears, SUM(n) OVER (PARTITION BY {self.by}) AS size, "
            "kind, name, n FROM counts ORDER BY appears, kind, name"
        )
        number, before = -1, None
        for appears, size, visibility, name, records in self._pages(sql):
            number += appears != before
            before = appears
            yield Edge(named(visibility, name, self.k), number, int(records), int(size))

    def _pages(self, sql: str) -> Iterator[tuple[Any, ...]]:
        """The rows of an ordered query, a page in memory at a time."""
        start = 0
        while True:
            page = self.run(f"{sql} LIMIT {PAGE} OFFSET {start}")
            yield from page
            if len(page) < PAGE:
                return
            start += PAGE


def shown(alias: str, held: str, k: int) -> tuple[str, str]:
    """Expressions: the kind of a value that `held` records hold, and its text if it may be shown."""
    visibility = f"CASE WHEN {held} < {k} THEN 'pooled' WHEN {alias} IS NULL THEN 'missing' ELSE 'value' END"
    return visibility, f"CASE WHEN {held} >= {k} THEN {alias} END"


def named(visibility: Visibility, text: str | None, k: int) -> Value:
    """How a value is shown."""
    return Value(visibility, f"held by fewer than {k}" if visibility == "pooled" else MISSING if text is None else text)


def kept_small(cells: ReleaseView, alias: str, values: Sequence[Value], classes: int) -> Matrix | None:
    """The matrix of a column, its values in the order given; None if it is large."""
    if len(values) * classes > MOST_CELLS_KEPT:
        return None
    index = {value: number for number, value in enumerate(values)}
    weights = {(index[edge.value], edge.group): edge.weight for edge in cells.edges(alias)}
    return Matrix(tuple(values), tuple(cells.groups()), weights)
