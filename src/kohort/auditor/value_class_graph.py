"""The bipartite graph of sensitive values and groups (Mohapatra, Patra, section 4.2), counted in the release.

An edge joins a value to a group in which it occurs. Its weight is the share of the group's rows with that value. Values of fewer
than k rows of the whole table are never named: together they are one node, `held by fewer than k`. The quasi-identifiers of a
group of fewer than k rows are not named either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from kohort.auditor.counts import PERSON, Run, literal

PAGE = 1_000_000  # edges or groups in memory at a time
MOST_CELLS_KEPT = 10_000  # cells of a matrix in memory, far more than a chart can show
MISSING = "(missing)"

Visibility = Literal["value", "missing", "pooled"]


class Value(NamedTuple):
    """A sensitive value with the label that may be shown. `visibility` separates a missing cell from the text `(missing)`."""

    visibility: Visibility
    label: str


class GraphGroup(NamedTuple):
    """A group. E1, E2, ... are numbered by the first appearance of each group in the file."""

    name: str
    label: str
    size: int


class Edge(NamedTuple):
    """A value that occurs in `records` of the `size` rows of a group. `group` is the group's index (0 for E1)."""

    value: Value
    group: int
    records: int
    size: int

    @property
    def weight(self) -> float:
        """Share of the group's rows with this value."""
        return self.records / self.size


@dataclass(frozen=True)
class Matrix:
    """The edges of one column in memory: the cost adjacency matrix of Mohapatra and Patra, without zeros."""

    values: tuple[Value, ...]
    groups: tuple[GraphGroup, ...]
    weights: Mapping[tuple[int, int], float]
    """Keys are the indices of the value and of the group. Pooled values are counted together."""

    def rows(self) -> list[list[float]]:
        """Return the full matrix: a row for each value, a column for each group."""
        indices = range(len(self.groups))
        return [[self.weights.get((row, index), 0.0) for index in indices] for row in range(len(self.values))]


@dataclass(frozen=True)
class ReleaseView:
    """The release as this analysis reads it: the column names by alias, and the limit k for naming values and groups."""

    run: Run
    aliases: Mapping[str, str]
    k: int
    missing: Sequence[str] = ()
    """Texts that mean a missing value, in addition to the empty text."""
    persons: bool = False
    """Whether the view `matched` has the person of each row. If so, a value or group is named if it has k people, not k rows."""

    @property
    def holders(self) -> str:
        """SQL that counts the people or rows of a group."""
        return f"COUNT(DISTINCT {PERSON})" if self.persons else "COUNT(*)"

    @property
    def _view(self) -> str:
        return "matched" if self.persons else "release"

    @cached_property
    def quasi(self) -> dict[str, str]:
        """Names of the quasi-identifiers by alias."""
        return {alias: name for alias, name in self.aliases.items() if alias.startswith("q")}

    @cached_property
    def sensitive(self) -> dict[str, str]:
        """Names of the sensitive columns by alias."""
        return {alias: name for alias, name in self.aliases.items() if alias.startswith("s")}

    @property
    def by(self) -> str:
        """The columns to group by."""
        return ", ".join(self.quasi)

    def sql(self, sensitive: Iterable[str], more: str = "") -> str:
        """Return a query for the quasi-identifiers and these sensitive columns, as text with NULL for missing values."""
        person = [PERSON] if self.persons else []
        return f"SELECT {', '.join([self.by, *person, *map(self._text, sensitive)])}{more} FROM {self._view}"

    def _text(self, alias: str) -> str:
        """Return SQL for a cell as text. In columns of floats, 1.0 is written 1 and NaN is missing. Text is not changed."""
        cell = f"CAST({alias} AS STRING)"
        floating = f"LOWER(TYPEOF({alias})) IN ('float', 'double')"
        text = f"CASE WHEN {floating} THEN REGEXP_REPLACE({cell}, '[.]0$|^(nan|NaN)$', '') ELSE {cell} END"
        for token in ("", *self.missing):
            text = f"NULLIF({text}, {literal(token)})"
        return f"{text} AS {alias}"

    def groups(self) -> Iterator[GraphGroup]:
        """Yield every group, in the order of first appearance."""
        numbered = self.sql([], ", ROW_NUMBER() OVER () AS place")
        counts = f"COUNT(*) AS size, {self.holders} AS holders"
        sql = f"SELECT {self.by}, {counts} FROM ({numbered}) AS numbered GROUP BY {self.by} ORDER BY MIN(place)"
        for number, (*cells, size, holders) in enumerate(self._pages(sql), start=1):
            pairs = zip(self.quasi.values(), cells, strict=True)
            label = "; ".join(f"{name}={MISSING if text is None else text}" for name, text in pairs)
            too_small = f"fewer than {self.k} {'people' if self.persons else 'rows'}"
            yield GraphGroup(f"E{number}", label if holders >= self.k else too_small, int(size))

    def edges(self, alias: str) -> Iterator[Edge]:
        """Yield every edge of a column with a weight above 0, group by group."""
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
        """Yield the rows of an ordered query, with one page in memory at a time."""
        start = 0
        while True:
            page = self.run(f"{sql} LIMIT {PAGE} OFFSET {start}")
            yield from page
            if len(page) < PAGE:
                return
            start += PAGE


def shown(alias: str, held: str, k: int) -> tuple[str, str]:
    """Return two SQL expressions: the visibility of a value that `held` rows have, and its text if it may be shown."""
    visibility = f"CASE WHEN {held} < {k} THEN 'pooled' WHEN {alias} IS NULL THEN 'missing' ELSE 'value' END"
    return visibility, f"CASE WHEN {held} >= {k} THEN {alias} END"


def named(visibility: Visibility, text: str | None, k: int) -> Value:
    """Return a value with the label to show."""
    return Value(visibility, f"held by fewer than {k}" if visibility == "pooled" else MISSING if text is None else text)


def small_matrix(cells: ReleaseView, alias: str, values: Sequence[Value], groups: int) -> Matrix | None:
    """Return the matrix of a column, with its values in the given order, or None if it is too large."""
    if len(values) * groups > MOST_CELLS_KEPT:
        return None
    index = {value: number for number, value in enumerate(values)}
    weights = {(index[edge.value], edge.group): edge.weight for edge in cells.edges(alias)}
    return Matrix(tuple(values), tuple(cells.groups()), weights)
