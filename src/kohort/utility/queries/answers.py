"""Answer queries from a release, and measure the error of the answers.

A release publishes only the group of each row. So an answer assumes that values are spread evenly inside a published cell and
that predicates are independent (Murthy, Srinivas). DuckDB computes the true answers from the source.
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
from kohort.utility.queries.value_domains import Codes, Domain, PublishedCells, distinct_combinations, domain_of
from kohort.wording import percent

SELECTIVITIES = (0.001, 0.01, 0.1, 1.0)


@dataclass(frozen=True, eq=False)
class BoundQuery:
    """A query together with the columns it refers to."""

    query: Query
    where: tuple[Bound, ...]
    aggregated: Domain | None
    """The column of SUM, AVG, MIN or MAX; None for COUNT."""


class Questions:
    """A workload for one source: gives the true answers, and the answers of a release."""

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
                problems.append(
                    f"Query {number}: {query.aggregate} needs numbers, but column {query.column!r} does not have any. Use COUNT."
                )
            bound.append(BoundQuery(query, tuple(where), aggregated))
        if problems:
            raise RequestError(problems)
        return tuple(bound)

    @cached_property
    def truth(self) -> NDArray[np.float64]:
        """The true answers, computed from the source; NaN if a query selects no row."""
        indices = {name: f"c{number}" for number, name in enumerate(self._domains)}
        given = pa.table({indices[name]: domain.values for name, domain in self._domains.items()} or {"c0": pa.nulls(self._rows)})
        with staging.scratch_folder() as scratch:
            settings: dict[str, Any] = {"temp_directory": str(scratch), "autoinstall_known_extensions": False}
            with duckdb.connect(config=settings) as connection:
                connection.execute("SET enable_progress_bar = false")  # the progress bar would go to stdout
                connection.register("given", given)
                connection.execute("CREATE TEMP TABLE source AS SELECT * FROM given")  # a third faster to read than Arrow
                found = [connection.execute(_sql(query, indices)).fetchone() for query in self.queries]
        return np.array([np.nan if row is None or row[0] is None else row[0] for row in found], np.float64)

    def ask(self, release: pa.Table) -> Answers:
        """Return the answers of a release. It must have the columns of the schema. The order of the rows does not matter."""
        read = _Release(release, self._schema, self._domains)
        found = [read.answer(query) for query in self.queries]
        estimates, matched, predicates = zip(*found, strict=True)
        is_whole = release.num_rows == self._rows  # with suppressed rows, no answer is certain
        exact = np.array(matched, np.bool_) & is_whole
        return Answers(self.workload, self.truth, np.array(estimates), exact, predicates, self._rows)


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of a release to the queries of a workload. `Release.answers` returns it.

    Parameters
    ----------
    workload
        The queries.
    truth
        True answers, computed from the source; NaN if a query selects no row.
    estimate
        Answers of the release.
    matched
        For each query, whether it is certain for every row if the query selects it. So no row was suppressed, and no group
        contains both selected and other rows.
    predicates
        The same for each predicate of each query. A query can be matched although one of its predicates is not.
    rows
        Number of rows in the source.

    Examples
    --------
    >>> import kohort as kh
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [20, 21, 30, 40], "sex": ["f", "f", "m", "m"]})
    >>> queries = {"query": [{"where": [["sex", "=", "f"]]}, {"where": [["age", "<=", 20]]}]}
    >>> answers = kh.anonymize(table, quasi=["age", "sex"], k=2, method="mondrian", workload=queries, seed=1).answers
    >>> answers.truth.tolist(), answers.estimate.tolist()  # two ages, 20 and 21, became [20 - 21]
    ([2.0, 1.0], [2.0, 1.0])
    >>> answers.matched.tolist(), answers.predicates, answers.rows, len(answers.workload.queries)
    ([True, False], ((True,), (False,)), 4, 2)

    """

    workload: Workload
    truth: NDArray[np.float64]
    estimate: NDArray[np.float64]
    matched: NDArray[np.bool_]
    predicates: tuple[tuple[bool, ...], ...]
    rows: int

    @cached_property
    def errors(self) -> NDArray[np.float64]:
        """Relative error of each query: abs(answer - truth) / truth, divided by 1 if the truth is 0.

        The error is 1 if only one of the two selects rows.

        Examples
        --------
        >>> from kohort.schema.workload import Query, Workload
        >>> two = Workload((Query(()), Query((), weight=3.0)))
        >>> found = Answers(two, np.array([10.0, 4.0]), np.array([15.0, 4.0]), np.array([False, True]), ((), ()), 100)
        >>> found.errors.tolist()
        [0.5, 0.0]

        """
        size = np.where(self.truth == 0, 1.0, np.abs(self.truth))
        neither = np.isnan(self.truth) & np.isnan(self.estimate)
        return np.where(neither, 0.0, np.nan_to_num(np.abs(self.estimate - self.truth) / size, nan=1.0))

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weight of each query.

        Examples
        --------
        >>> from kohort.schema.workload import Query, Workload
        >>> two = Workload((Query(()), Query((), weight=3.0)))
        >>> Answers(two, np.ones(2), np.ones(2), np.ones(2, np.bool_), ((), ()), 100).weights.tolist()
        [1.0, 3.0]

        """
        return np.array([query.weight for query in self.workload.queries])

    @property
    def error(self) -> float:
        """Weighted mean of the relative errors.

        Examples
        --------
        >>> from kohort.schema.workload import Query, Workload
        >>> two = Workload((Query(()), Query((), weight=3.0)))
        >>> Answers(two, np.array([10.0, 4.0]), np.array([15.0, 4.0]), np.ones(2, np.bool_), ((), ()), 100).error
        0.125

        """
        return float(np.average(self.errors, weights=self.weights)) if len(self.errors) else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as a dictionary for JSON.

        Returns
        -------
        dict
            Number of queries, weighted mean error, median, 95th percentile, share of matched queries, and figures by selectivity.

        Examples
        --------
        >>> from kohort.schema.workload import Query, Workload
        >>> two = Workload((Query(()), Query((), weight=3.0)))
        >>> found = Answers(two, np.array([10.0, 4.0]), np.array([15.0, 4.0]), np.array([False, True]), ((), ()), 100)
        >>> found.to_dict()["queries"], found.to_dict()["error"], found.to_dict()["matched"]
        (2, 0.125, 0.5)

        """
        return {
            "queries": len(self.errors),
            "error": self.error,
            "median": float(np.median(self.errors)),
            "p95": float(np.quantile(self.errors, 0.95)),
            "matched": float(self.matched.mean()),
            "by_selectivity": self.by_selectivity(),
        }

    def table(self) -> pa.Table:
        """Return the truth and the answer of each query as a table. Private: a true count may be small.

        Returns
        -------
        pyarrow.Table
            One row for each query.

        Examples
        --------
        >>> from kohort.schema.workload import Query, Workload
        >>> one = Answers(Workload((Query(()),)), np.array([10.0]), np.array([15.0]), np.array([False]), ((),), 100)
        >>> one.table().column_names
        ['query', 'aggregate', 'weight', 'truth', 'answer', 'error', 'matched', 'predicates_matched']

        """
        queries = self.workload.queries
        return pa.table(
            {
                "query": range(1, len(queries) + 1),
                "aggregate": [query.aggregate for query in queries],
                "weight": self.weights,
                "truth": self.truth,
                "answer": self.estimate,
                "error": self.errors,
                "matched": self.matched,
                "predicates_matched": [list(matched) for matched in self.predicates],
            }
        )

    def in_words(self) -> str:
        """Return the main figures in plain sentences.

        Returns
        -------
        str
            Sentences for people.

        Examples
        --------
        >>> from kohort.schema.workload import Query, Workload
        >>> two = Workload((Query(()), Query((), weight=3.0)))
        >>> found = Answers(two, np.array([10.0, 4.0]), np.array([15.0, 4.0]), np.array([False, True]), ((), ()), 100)
        >>> print(found.in_words())
        The release answers the 2 queries of the workload with a mean error of 12.5 % (median 25.0 %, 95 % of the queries up to
        47.5 %). It is certain which rows a query selects for 50 % of the queries.

        """
        middle, far = float(np.median(self.errors)), float(np.quantile(self.errors, 0.95))
        if len(self.errors) == 1:
            certain = f"It is {'' if self.matched[0] else 'not '}certain which rows the query selects."
            return f"The release answers the query of the workload with an error of {percent(self.error)}. {certain}"
        text = f"The release answers the {len(self.errors):,} queries of the workload with a mean error of {percent(self.error)}"
        spread = f"median {percent(middle)}, 95 % of the queries up to {percent(far)}"
        return (
            f"{text} ({spread}). It is certain which rows a query selects for {100 * self.matched.mean():.0f} % of the queries."
        )

    def by_selectivity(self) -> dict[str, dict[str, float]]:
        """Return the number of COUNT queries and their median error, by the share of rows that they select.

        Returns
        -------
        dict
            Keys are upper limits of the share, such as ``"up to 1.0%"``. Ranges without queries are left out.

        Examples
        --------
        >>> from kohort.schema.workload import Query, Workload
        >>> one = Answers(Workload((Query(()),)), np.array([1.0]), np.array([1.5]), np.array([False]), ((),), 100)
        >>> one.by_selectivity()
        {'up to 1.0%': {'queries': 1, 'median': 0.5}}

        """
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
        return f"column {column!r} is not published. Its role is {schema.columns[column].role}."
    return f"there is no column {column!r}.{nearest(column, known)}"


def _sql(bound: BoundQuery, indices: Mapping[str, str]) -> str:
    aggregate = "count(*)" if bound.aggregated is None else f"{bound.query.aggregate}({indices[bound.aggregated.name]})"
    conditions = " AND ".join(f"({predicate.sql(indices[predicate.domain.name])})" for predicate in bound.where)
    return f"SELECT CAST({aggregate} AS DOUBLE) FROM source" + (f" WHERE {conditions}" if conditions else "")


class _Release:
    """A release, prepared for queries: rows with the same cells in all queried columns are counted as one."""

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
        distinct, self._rows = distinct_combinations([*codes.values(), np.zeros(release.num_rows, np.int64)])
        self._codes = dict(zip(codes, distinct, strict=False))  # without the last one, which is needed if no column is queried
        for source, means in self._means.items():
            if source not in self._cells:  # only the mean is published: use it for all rows of the group
                gone = np.isnan(means)
                at = np.nan_to_num(means)
                self._cells[source] = PublishedCells(at, at, gone, ~gone)
                self._means_alone.add(source)
                self._codes[source] = self._codes[f"{source}.mean"]

    def answer(self, bound: BoundQuery) -> tuple[float, bool, tuple[bool, ...]]:
        """Return the answer, and whether it is certain for every row if it is selected, by the query and by each predicate."""
        predicates = []
        weight, exact, none = self._rows.copy(), np.ones(len(self._rows), np.bool_), np.zeros(len(self._rows), np.bool_)
        for predicate in bound.where:
            cells = self._cells[predicate.domain.name]
            share, certain = predicate.shares(cells)
            if predicate.domain.name in self._means_alone:  # values may be below and above their mean
                certain = cells.is_null
            codes = self._codes[predicate.domain.name]
            weight *= share[codes]
            exact &= certain[codes]
            none |= (certain & (share == 0))[codes]
            predicates.append(bool(certain[codes].all()))
        matched = bool((exact | none).all())
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
