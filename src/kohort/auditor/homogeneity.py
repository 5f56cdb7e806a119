"""Homogeneity: how certain an attacker who knows only a person's group can be of the person's sensitive value.

Follows Mohapatra, Patra: Analysis of k-anonymity for homogeneity attack, extended to groups of any size. The alpha of a value is
its largest share in any group. SE is the expected number of groups in which all rows have the same value. Cells are compared as
text, and missing counts as a value. Values of fewer than k rows are never named. The analysis informs, it has no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kohort.auditor.value_class_graph import Matrix, ReleaseView, Value, named, shown, small_matrix


@dataclass(frozen=True)
class Alpha:
    """The largest share of one value in any group."""

    value: Value
    alpha: float
    """For pooled values, the largest alpha of a single one of them."""
    rows: int
    values: int = 1
    """Number of values that are pooled here."""

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as a dictionary for JSON."""
        facts = {"value": self.value.label, "alpha": self.alpha, "rows": self.rows}
        return {**facts, "pooled": self.values} if self.value.visibility == "pooled" else facts


@dataclass(frozen=True)
class ExpectedGroups:
    """SE: how many groups with a single value to expect, and how many there are."""

    rows: int
    classes: int
    """Number of groups."""
    k: int
    """Rows in the smallest group."""
    values: tuple[int, ...]
    """Number of distinct values of each column, missing included. Called K by Mohapatra and Patra."""
    formula: float
    """Expected number by the formula of Mohapatra and Patra. It assumes equally frequent, independent values and n/k groups of k
    rows.
    """
    unequal: float
    """Expected number with the real group sizes."""
    predicted: float
    """Expected number with the real group sizes and the real frequencies of the values."""
    observed: int
    """Number of such groups in the release."""

    def to_dict(self) -> dict[str, float]:
        """Return the figures as a dictionary for JSON."""
        return {name: getattr(self, name) for name in ("formula", "unequal", "predicted", "observed")}


@dataclass(frozen=True)
class JointHomogeneity:
    """Groups that reveal all sensitive columns together: in each column, all rows of the group have the same value."""

    columns: tuple[str, ...]
    alike_classes: int
    """Number of such groups."""
    alike_share: float
    """Share of the rows in such groups."""
    base_rate: float
    """Share of the most frequent combination: how often a guess that ignores the groups is right."""
    se: ExpectedGroups

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as a dictionary for JSON."""
        facts = {name: getattr(self, name) for name in ("alike_classes", "alike_share", "base_rate")}
        return {"columns": list(self.columns), **facts, "se": self.se.to_dict()}


@dataclass(frozen=True)
class Homogeneity:
    """How much a person's group reveals about one sensitive column."""

    column: str
    values: int
    """Number of distinct values, missing included."""
    alphas: tuple[Alpha, ...]
    """The alpha of each value, the largest first."""
    max: float
    """The largest alpha of all values."""
    min: float
    """The smallest alpha of all values. Pooled values count one by one."""
    alike_classes: int
    """Number of groups in which all rows have the same value."""
    alike_share: float
    """Share of the rows in such groups."""
    base_rate: float
    """Share of the most frequent value: how often a guess that ignores the groups is right."""
    se: ExpectedGroups
    matrix: Matrix | None = field(default=None, repr=False)
    """Share of each value in each group. None if the table is large."""
    sql: tuple[str, ...] = field(default=(), repr=False)
    """The queries that counted the figures."""

    @property
    def spread(self) -> float:
        """Difference between the largest and the smallest alpha. Mohapatra and Patra want alphas to be small and equal."""
        return self.max - self.min

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as a dictionary for JSON."""
        return {
            "column": self.column,
            "values": self.values,
            "alphas": [alpha.to_dict() for alpha in self.alphas],
            "max": self.max,
            "min": self.min,
            "spread": self.spread,
            "alike_classes": self.alike_classes,
            "alike_share": self.alike_share,
            "base_rate": self.base_rate,
            "se": self.se.to_dict(),
        }


def expected_single_valued(values: Sequence[int], rows: float, k: int) -> float:
    """Return how many of n/k groups are expected to have a single value in every column: formula (1) of Mohapatra and Patra.

    `values` is the number of distinct values of each column.

    >>> round(expected_single_valued([3], rows=12, k=4), 5), expected_single_valued([2, 5], rows=10**6, k=10**6)
    (0.11111, 0.0)
    """
    return _chance(values, k) * rows / k


def analyse(view: ReleaseView) -> tuple[tuple[Homogeneity, ...], JointHomogeneity | None]:
    """Analyse each sensitive column and, if there are several, all of them together. A table without rows has no result."""
    sizes = _GroupSizes(view) if view.sensitive else None
    if sizes is None or not sizes.rows:
        return (), None
    counts = {alias: _Counts(view, alias) for alias in view.sensitive}
    per_column = tuple(_column(view, alias, sizes, counts[alias]) for alias in view.sensitive)
    return per_column, _joint(view, sizes, list(counts.values())) if len(per_column) > 1 else None


class _GroupSizes:
    """Number of groups of each size, and how many of them have a single value, in each column and in all columns."""

    def __init__(self, view: ReleaseView) -> None:
        same = {s: f"(COUNT({s}) = 0 OR (COUNT({s}) = COUNT(*) AND MIN({s}) = MAX({s})))" for s in view.sensitive}
        conditions = {**same, "all_columns": " AND ".join(same.values())}
        flags = "".join(f", CASE WHEN {condition} THEN 1 ELSE 0 END AS {name}" for name, condition in conditions.items())
        self.sql = (
            f"SELECT size, COUNT(*), {', '.join(f'SUM({name})' for name in conditions)} FROM (SELECT COUNT(*) AS size{flags} "
            f"FROM ({view.sql(view.sensitive)}) AS cells GROUP BY {view.by}) AS per_group GROUP BY size"
        )
        found = sorted(tuple(map(int, row)) for row in view.run(self.sql))
        self.groups = {size: groups for size, groups, *_single in found}
        self.rows = sum(size * groups for size, groups in self.groups.items())
        self._single = {name: {row[0]: row[index] for row in found} for index, name in enumerate(conditions, start=2)}

    def single_valued(self, column: str = "all_columns") -> tuple[int, float]:
        """Return the number of groups with a single value, and the share of the rows in them."""
        found = self._single[column]
        return sum(found.values()), sum(size * groups for size, groups in found.items()) / self.rows

    def expect(self, counts: Sequence[_Counts], observed: int) -> ExpectedGroups:
        """Return how many groups are expected to have a single value in each of these columns."""
        values = [one.values for one in counts]
        of_sizes = {size: math.prod(one.chance(size) for one in counts) for size in self.groups}
        return ExpectedGroups(
            rows=self.rows,
            classes=sum(self.groups.values()),
            k=min(self.groups),
            values=tuple(values),
            formula=expected_single_valued(values, self.rows, min(self.groups)),
            unequal=math.fsum(groups * _chance(values, size) for size, groups in self.groups.items()),
            predicted=math.fsum(groups * of_sizes[size] for size, groups in self.groups.items()),
            observed=observed,
        )


class _Counts:
    """Frequencies of the values of a column: how many values occur in how many rows. Equal frequencies are stored once."""

    def __init__(self, view: ReleaseView, alias: str) -> None:
        held = f"SELECT COUNT(*) AS held FROM ({view.sql([alias])}) AS cells GROUP BY {alias}"
        self.sql = f"SELECT held, COUNT(*) FROM ({held}) AS counts GROUP BY held"
        found = [(int(held), int(values)) for held, values in view.run(self.sql)]
        rows = sum(held * values for held, values in found)
        self.values = sum(values for _held, values in found)
        self._shares = [(held / rows, values) for held, values in found]
        self.base_rate = max(self._shares)[0]

    def chance(self, size: int) -> float:
        """Return the probability that `size` rows, drawn with the frequencies of the column, have the same value."""
        return math.fsum(values * share**size for share, values in self._shares)


def _chance(values: Sequence[int], size: int) -> float:
    """Return the probability that `size` rows have the same value in every column, if all values are equally frequent.

    Computed by logarithms, because it may be very small.
    """
    return math.exp((1 - size) * math.fsum(map(math.log, values)))


def _column(view: ReleaseView, alias: str, sizes: _GroupSizes, counts: _Counts) -> Homogeneity:
    visibility, text = shown(alias, "holders", view.k)
    sql = (
        f"WITH cells AS ({view.sql([alias])}), "
        f"known AS (SELECT {alias} AS cell, {view.holders} AS holders FROM cells GROUP BY {alias}), "
        f"counts AS (SELECT {view.by}, {alias}, COUNT(*) AS n FROM cells GROUP BY {view.by}, {alias}), "
        f"shares AS (SELECT {alias}, n, CAST(n AS DOUBLE) / SUM(n) OVER (PARTITION BY {view.by}) AS share FROM counts), "
        f"alphas AS (SELECT {alias}, SUM(n) AS held, MAX(share) AS alpha FROM shares GROUP BY {alias}), "
        f"named AS (SELECT held, alpha, {visibility} AS kind, {text} AS name "
        f"FROM alphas JOIN known ON {alias} IS NOT DISTINCT FROM cell) "
        "SELECT kind, name, SUM(held), COUNT(*), MAX(alpha), MIN(alpha) FROM named GROUP BY kind, name"
    )
    found = view.run(sql)
    alphas = [
        Alpha(named(visibility, text, view.k), top, int(held), int(values))
        for visibility, text, held, values, top, _least in found
    ]
    alphas.sort(key=lambda one: (-one.alpha, -one.rows, one.value))
    groups, share = sizes.single_valued(alias)
    se = sizes.expect([counts], groups)
    return Homogeneity(
        column=view.sensitive[alias],
        values=counts.values,
        alphas=tuple(alphas),
        max=alphas[0].alpha,
        min=min(least for *_row, least in found),
        alike_classes=groups,
        alike_share=share,
        base_rate=counts.base_rate,
        se=se,
        matrix=small_matrix(view, alias, [one.value for one in alphas], se.classes),
        sql=(sql, sizes.sql, counts.sql),
    )


def _joint(view: ReleaseView, sizes: _GroupSizes, counts: Sequence[_Counts]) -> JointHomogeneity:
    held = f"SELECT COUNT(*) AS held FROM ({view.sql(view.sensitive)}) AS cells GROUP BY {', '.join(view.sensitive)}"
    most = int(view.run(f"SELECT MAX(held) FROM ({held}) AS counts")[0][0])
    groups, share = sizes.single_valued()
    return JointHomogeneity(tuple(view.sensitive.values()), groups, share, most / sizes.rows, sizes.expect(counts, groups))
