"""Queries answered from a release, and how far the answers are from the truth.

A release tells of each record only its class, so an answer assumes that values are spread evenly inside a published cell and
that predicates do not depend on each other (ALGORITHMS: paper 002). The truth is asked of the source, by DuckDB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort.errors import RequestError, nearest
from kohort.schema.columns import Schema
from kohort.schema.workload import Query, Workload
from kohort.tables import staging
from kohort.utility.queries.predicates import Bound, bind
from kohort.utility.queries.value_domains import Codes, Domain, PublishedCells, alike, domain_of

SELECTIVITIES = (0.001, 0.01, 0.1, 1.0)


@dataclass(frozen=True, eq=False)
class BoundQuery:
    """A query whose columns are known."""

    query: Query
    where: tuple[Bound, ...]
    aggregated: Domain | None


class Questions:
    """A workload bound to a source: it knows the truth, and what a release answers."""

    def __init__(self, workload: Workload, table: pa.Table, schema: Schema) -> None:
        self.workload = workload
        known = schema.named("quasi", "sensitive", "other")
        problems = [
            f"Query {number}: {_unpublished(column, schema, known)}"
            for number, query in enumerate(workload.queries, start=1)
            for column in dict.fromkeys([*(predicate.column for predicate in query.where), query.column])
            if column is not None and column not in known
        ]
        if problems:
            raise RequestError(problems)
        self._domains = {name: domain_of(table, schema, name) for name in workload.columns}
        self._schema, self._rows = schema, table.num_rows
        self.queries = self._bound()

    def _bound(self) -> tuple[BoundQuery, ...]:
        problems: list[str] = []
        bound: list[BoundQuery] = []
        for number, query in enumerate(self.workload.queries, start=1):
            where: list[Bound] = []
            for predicate in query.where:
                try:
                    where.append(bind(predicate, self._domains[predicate.column]))
                except ValueError as error:
                    problems.append(f"Query {number}: {error}.")
            aggregated = self._domains[query.column] if query.column is not None else None
            if aggregated is not None and (not aggregated.is_number or (aggregated.tree and aggregated.leaf_numbers is None)):
                problems.append(f"Query {number}: {query.column!r} does not hold numbers, so it has no {query.aggregate}.")
            bound.append(BoundQuery(query, tuple(where), aggregated))
        if problems:
            raise RequestError(problems)
        return tuple(bound)

    @cached_property
    def truth(self) -> NDArray[np.float64]:
        """What the source answers; NaN where no record is asked of."""
        indices = {name: f"c{number}" for number, name in enumerate(self._domains)}
        given = pa.table({indices[name]: domain.values for name, domain in self._domains.items()} or {"c0": pa.nulls(self._rows)})
        with staging.scratch_folder() as scratch:
            settings: dict[str, Any] = {"temp_directory": str(scratch), "autoinstall_known_extensions": False}
            with duckdb.connect(config=settings) as connection:
                connection.execute("SET enable_progress_bar = false")  # it would write to stdout, which is ours
                connection.register("given", given)
                connection.execute("CREATE TEMP TABLE source AS SELECT * FROM given")  # read a third faster than Arrow's
                found = [connection.execute(_sql(query, indices)).fetchone() for query in self.queries]
        return np.array([np.nan if row is None or row[0] is None else row[0] for row in found], np.float64)

    def ask(self, release: pa.Table) -> Answers:
        """What a release answers. It has the columns that the schema says, in any order of rows."""
        requested = _Release(release, self._schema, self._domains)
        found = [requested.answer(query) for query in self.queries]
        estimates, matched, predicates = zip(*found, strict=True)
        is_whole = release.num_rows == self._rows  # of who was left out nothing is known
        exact = np.array(matched, np.bool_) & is_whole
        return Answers(self.workload, self.truth, np.array(estimates), exact, predicates, self._rows)


@dataclass(frozen=True, eq=False)
class Answers:
    """What a release answered, query by query."""

    workload: Workload
    truth: NDArray[np.float64]
    estimate: NDArray[np.float64]
    matched: NDArray[np.bool_]
    """Whether nobody was left out and no class straddles the predicates, so that every record is known to be in or out."""
    predicates: tuple[tuple[bool, ...], ...]
    """The same of each predicate alone: a query may be matched although one of its predicates is not."""
    rows: int

    @cached_property
    def errors(self) -> NDArray[np.float64]:
        """|answer - truth| in units of the truth (of 1, where that is 0); 1 where only one of them has records."""
        size = np.where(self.truth == 0, 1.0, np.abs(self.truth))
        neither = np.isnan(self.truth) & np.isnan(self.estimate)
        return np.where(neither, 0.0, np.nan_to_num(np.abs(self.estimate - self.truth) / size, nan=1.0))

    @property
    def weights(self) -> NDArray[np.float64]:
        return np.array([query.weight for query in self.workload.queries])

    @property
    def error(self) -> float:
        """The weighted mean of the relative errors."""
        return float(np.average(self.errors, weights=self.weights)) if len(self.errors) else 0.0

    def to_dict(self) -> dict[str, Any]:
        """In figures: the mean by weight, the median, the 95th percentile, the share of queries that are matched."""
        return {
            "queries": len(self.errors),
            "error": self.error,
            "median": float(np.median(self.errors)),
            "p95": float(np.quantile(self.errors, 0.95)),
            "matched": float(self.matched.mean()),
            "by_selectivity": self.by_selectivity(),
        }

    def table(self) -> pa.Table:
        """Query by query, the truth beside the answer. Private: a true count may be small."""
        requested = self.workload.queries
        return pa.table(
            {
                "query": range(1, len(requested) + 1),
                "aggregate": [query.aggregate for query in requested],
                "weight": self.weights,
                "truth": self.truth,
                "answer": self.estimate,
                "error": self.errors,
                "matched": self.matched,
                "predicates_matched": [list(matched) for matched in self.predicates],
            }
        )

    def in_words(self) -> str:
        """One sentence."""
        middle, far = np.median(self.errors), np.quantile(self.errors, 0.95)
        if len(self.errors) == 1:
            return f"The query of the workload is {'' if self.matched[0] else 'not '}matched; its error is {self.error:.1%}."
        text = f"{len(self.errors):,} queries of the workload are answered with an error of {self.error:.1%}"
        return f"{text} (by weight; median {middle:.1%}, 95 % within {far:.1%}); {self.matched.mean():.0%} are matched."

    def by_selectivity(self) -> dict[str, dict[str, float]]:
        """Counts by the share of the records that they are about: how many queries, and their median error."""
        counts = np.array([query.aggregate == "COUNT" for query in self.workload.queries])
        share = np.where(counts, self.truth, np.nan) / max(self.rows, 1)
        text, above = {}, -1.0
        for most in SELECTIVITIES:
            here = (share > above) & (share <= most)
            if here.any():
                text[f"up to {most:.1%}"] = {"queries": int(here.sum()), "median": float(np.median(self.errors[here]))}
            above = most
        return text


def _unpublished(column: str, schema: Schema, known: Sequence[str]) -> str:
    if column in schema.columns:
        return f"column {column!r} is not published, its role is {schema.columns[column].role}."
    return f"there is no column {column!r}.{nearest(column, known)}"


def _sql(bound: BoundQuery, indices: Mapping[str, str]) -> str:
    aggregate = "count(*)" if bound.aggregated is None else f"{bound.query.aggregate}({indices[bound.aggregated.name]})"
    conditions = " AND ".join(f"({predicate.sql(indices[predicate.domain.name])})" for predicate in bound.where)
    return f"SELECT CAST({aggregate} AS DOUBLE) FROM source" + (f" WHERE {conditions}" if conditions else "")


class _Release:
    """A release as queries see it: rows that look alike in every column that is asked of are one."""

    def __init__(self, release: pa.Table, schema: Schema, domains: Mapping[str, Domain]) -> None:
        self._cells: dict[str, PublishedCells] = {}
        self._means: dict[str, NDArray[np.float64]] = {}
        self._means_alone: set[str] = set()
        codes: dict[str, Codes] = {}
        for name, source, statistic in schema.published():
            if source not in domains:
                continue
            domain, column = domains[source], release.column(name)
            if statistic == "value":
                self._cells[source], codes[name] = domain.read_values(column, schema.missing)
            elif statistic == "mean":
                self._means[source], codes[name] = domain.read_means(column)
            else:
                self._cells[source], codes[name] = domain.read_published(column)
        distinct, self._rows = alike([*codes.values(), np.zeros(release.num_rows, np.int64)])
        self._codes = dict(zip(codes, distinct, strict=False))  # without the last, which is there if nothing is asked of
        for source, means in self._means.items():
            if source not in self._cells:  # only the mean is published: it stands for everybody
                gone = np.isnan(means)
                at = np.nan_to_num(means)
                self._cells[source] = PublishedCells(at, at, gone, ~gone)
                self._means_alone.add(source)
                self._codes[source] = self._codes[f"{source}.mean"]

    def answer(self, bound: BoundQuery) -> tuple[float, bool, tuple[bool, ...]]:
        """The answer, and whether every record is known to be in or out, of the query and of each predicate."""
        predicates = []
        weight, exact, nobody = self._rows.copy(), np.ones(len(self._rows), np.bool_), np.zeros(len(self._rows), np.bool_)
        for predicate in bound.where:
            cells = self._cells[predicate.domain.name]
            share, certain = predicate.shares(cells)
            if predicate.domain.name in self._means_alone:  # values may lie on both sides of their mean
                certain = cells.is_null
            codes = self._codes[predicate.domain.name]
            weight *= share[codes]
            exact &= certain[codes]
            nobody |= (certain & (share == 0))[codes]
            predicates.append(bool(certain[codes].all()))
        matched = bool((exact | nobody).all())
        found = float(weight.sum()) if bound.aggregated is None else self._aggregate(bound, bound.aggregated, weight)
        return found, matched, tuple(predicates)

    def _aggregate(self, bound: BoundQuery, domain: Domain, weight: NDArray[np.float64]) -> float:
        cells, codes = self._cells[domain.name], self._codes[domain.name]
        low, high = cells.low, cells.high
        for predicate in bound.where:
            if predicate.domain.name == domain.name:
                low, high = predicate.spans.clip(low, high)
        mean, least, largest = domain.numbers_within(low, high)
        known = (weight > 0) & ~cells.is_null[codes]
        if not known.any():
            return float("nan")
        if bound.query.aggregate in ("MIN", "MAX"):
            return float(least[codes[known]].min() if bound.query.aggregate == "MIN" else largest[codes[known]].max())
        value = mean[codes]
        if domain.name in self._means:
            whole = ((low == cells.low) & (high == cells.high))[codes]
            text = self._means[domain.name][self._codes[f"{domain.name}.mean"]]
            value = np.where(whole & ~np.isnan(text), text, value)
        total = float(weight[known] @ value[known])
        return total if bound.query.aggregate == "SUM" else total / float(weight[known].sum())
