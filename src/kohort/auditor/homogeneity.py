"""Homogeneity: how sure one can be of a person's sensitive value who knows only the person's class.

After paper 003 (Mohapatra, Patra: Analysis of k-anonymity for homogeneity attack), for classes of any size: alpha of a value is
the largest share that it has in a class; SE is the number of classes to expect in which all hold the same value. Cells are
compared as text, missing is a value, and no value is named that fewer than k records hold. It informs; it passes no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kohort.auditor.value_class_graph import Matrix, ReleaseView, Value, kept_small, named, shown


@dataclass(frozen=True)
class Alpha:
    """The largest share that a value has in any class."""

    value: Value
    alpha: float
    """Of pooled values, the largest that any one of them reaches."""
    rows: int
    values: int = 1
    """How many values are pooled here."""

    def to_dict(self) -> dict[str, Any]:
        facts = {"value": self.value.label, "alpha": self.alpha, "rows": self.rows}
        return {**facts, "pooled": self.values} if self.value.visibility == "pooled" else facts


@dataclass(frozen=True)
class Alike:
    """SE: how many classes are all alike, by what is found in the release."""

    rows: int
    classes: int
    k: int
    """Records of the smallest class."""
    values: tuple[int, ...]
    """Distinct values of each column, missing counted as one: the paper's K."""
    formula: float
    """The paper's: values equally frequent and independent, n/k classes of k records."""
    unequal: float
    """The same for the classes' own sizes."""
    predicted: float
    """For the values' own frequencies, too."""
    observed: int

    def to_dict(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in ("formula", "unequal", "predicted", "observed")}


@dataclass(frozen=True)
class Together:
    """What all sensitive columns show at once: classes that are alike in every one of them."""

    columns: tuple[str, ...]
    alike_classes: int
    alike_share: float
    """The share of records in such classes."""
    base_rate: float
    """The share of the most frequent combination: how often a guess is right that does not look at the class."""
    se: Alike

    def to_dict(self) -> dict[str, Any]:
        facts = {name: getattr(self, name) for name in ("alike_classes", "alike_share", "base_rate")}
        return {"columns": list(self.columns), **facts, "se": self.se.to_dict()}


@dataclass(frozen=True)
class Homogeneity:
    """What one sensitive column shows."""

    column: str
    values: int
    """Distinct values, missing counted as one."""
    alphas: tuple[Alpha, ...]
    """The largest first."""
    max: float
    min: float
    """Of all values, the pooled ones each by itself."""
    alike_classes: int
    alike_share: float
    base_rate: float
    se: Alike
    matrix: Matrix | None = field(default=None, repr=False)
    """Classes by values, where the table is small."""
    sql: tuple[str, ...] = field(default=(), repr=False)

    @property
    def spread(self) -> float:
        """The paper asks for alphas that are small, and equal."""
        return self.max - self.min

    def to_dict(self) -> dict[str, Any]:
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


def expected_alike(values: Sequence[int], rows: float, k: int) -> float:
    """The paper's formula (1): how many of n/k classes are alike in every column, the columns having so many values each.

    >>> round(expected_alike([3], rows=12, k=4), 5), expected_alike([2, 5], rows=10**6, k=10**6)
    (0.11111, 0.0)
    """
    return _chance(values, k) * rows / k


def analyse(view: ReleaseView) -> tuple[tuple[Homogeneity, ...], Together | None]:
    """Each sensitive column by itself, and all at once where there are several. A table without rows shows nothing."""
    sizes = _ClassSizes(view) if view.sensitive else None
    if sizes is None or not sizes.rows:
        return (), None
    counts = {alias: _Counts(view, alias) for alias in view.sensitive}
    alone = tuple(_column(view, alias, sizes, counts[alias]) for alias in view.sensitive)
    return alone, _together(view, sizes, list(counts.values())) if len(alone) > 1 else None


class _ClassSizes:
    """How many classes there are of each size, and how many of them are alike in each column and in all."""

    def __init__(self, view: ReleaseView) -> None:
        same = {s: f"(COUNT({s}) = 0 OR (COUNT({s}) = COUNT(*) AND MIN({s}) = MAX({s})))" for s in view.sensitive}
        requested = {**same, "everything": " AND ".join(same.values())}
        flags = "".join(f", CASE WHEN {condition} THEN 1 ELSE 0 END AS {name}" for name, condition in requested.items())
        self.sql = (
            f"SELECT size, COUNT(*), {', '.join(f'SUM({name})' for name in requested)} FROM (SELECT COUNT(*) AS size{flags} "
            f"FROM ({view.sql(view.sensitive)}) AS cells GROUP BY {view.by}) AS classes GROUP BY size"
        )
        found = sorted(tuple(map(int, row)) for row in view.run(self.sql))
        self.classes = {size: classes for size, classes, *_alike in found}
        self.rows = sum(size * classes for size, classes in self.classes.items())
        self._alike = {name: {row[0]: row[index] for row in found} for index, name in enumerate(requested, start=2)}

    def alike(self, column: str = "everything") -> tuple[int, float]:
        """How many classes are alike, and the share of records in them."""
        found = self._alike[column]
        return sum(found.values()), sum(size * classes for size, classes in found.items()) / self.rows

    def expect(self, counts: Sequence[_Counts], observed: int) -> Alike:
        values = [one.values for one in counts]
        of_sizes = {size: math.prod(one.chance(size) for one in counts) for size in self.classes}
        return Alike(
            rows=self.rows,
            classes=sum(self.classes.values()),
            k=min(self.classes),
            values=tuple(values),
            formula=expected_alike(values, self.rows, min(self.classes)),
            unequal=math.fsum(classes * _chance(values, size) for size, classes in self.classes.items()),
            predicted=math.fsum(classes * of_sizes[size] for size, classes in self.classes.items()),
            observed=observed,
        )


class _Counts:
    """How many values of a column are held by how many records. Values held equally often are counted, not listed."""

    def __init__(self, view: ReleaseView, alias: str) -> None:
        held = f"SELECT COUNT(*) AS held FROM ({view.sql([alias])}) AS cells GROUP BY {alias}"
        self.sql = f"SELECT held, COUNT(*) FROM ({held}) AS counts GROUP BY held"
        found = [(int(held), int(values)) for held, values in view.run(self.sql)]
        rows = sum(held * values for held, values in found)
        self.values = sum(values for _held, values in found)
        self._shares = [(held / rows, values) for held, values in found]
        self.base_rate = max(self._shares)[0]

    def chance(self, size: int) -> float:
        """That so many records, drawn by the column's own frequencies, are alike."""
        return math.fsum(values * share**size for share, values in self._shares)


def _chance(values: Sequence[int], size: int) -> float:
    """That so many records are alike in every column if all values are equally frequent; by logarithms, for it may be tiny."""
    return math.exp((1 - size) * math.fsum(map(math.log, values)))


def _column(view: ReleaseView, alias: str, sizes: _ClassSizes, counts: _Counts) -> Homogeneity:
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
    classes, share = sizes.alike(alias)
    se = sizes.expect([counts], classes)
    return Homogeneity(
        column=view.sensitive[alias],
        values=counts.values,
        alphas=tuple(alphas),
        max=alphas[0].alpha,
        min=min(least for *_row, least in found),
        alike_classes=classes,
        alike_share=share,
        base_rate=counts.base_rate,
        se=se,
        matrix=kept_small(view, alias, [one.value for one in alphas], se.classes),
        sql=(sql, sizes.sql, counts.sql),
    )


def _together(view: ReleaseView, sizes: _ClassSizes, counts: Sequence[_Counts]) -> Together:
    held = f"SELECT COUNT(*) AS held FROM ({view.sql(view.sensitive)}) AS cells GROUP BY {', '.join(view.sensitive)}"
    most = int(view.run(f"SELECT MAX(held) FROM ({held}) AS counts")[0][0])
    classes, share = sizes.alike()
    return Together(tuple(view.sensitive.values()), classes, share, most / sizes.rows, sizes.expect(counts, classes))
