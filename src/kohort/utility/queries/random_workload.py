"""Random workloads: COUNT queries on a few columns, each selecting about a given share of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort.errors import RequestError
from kohort.schema.columns import Schema
from kohort.schema.workload import Predicate, Query, Value, Workload
from kohort.utility.queries.value_domains import Domain, domain_of

TRIES = 50  # rows drawn to find one without missing values in the chosen columns


def random_workload(
    table: pa.Table,
    schema: Schema,
    *,
    queries: int = 50,
    columns: Sequence[str] | None = None,
    predicates: tuple[int, int] = (2, 3),
    selectivity: float = 0.05,
    seed: int = 0,
) -> Workload:
    """Draw random COUNT queries.

    Each query is drawn around a row of the table, so that it selects at least one row if possible. All predicates of a query
    select the same share of the rows: a range of numbers or days, or some values. If columns were independent, they would
    together select the share `selectivity`.

    Parameters
    ----------
    table
        The source.
    schema
        Roles and types of its columns.
    queries
        Number of queries.
    columns
        Columns to use; the quasi-identifiers if None.
    predicates
        Smallest and largest number of predicates in a query.
    selectivity
        Share of the rows that a query selects, above 0 and at most 1.
    seed
        Seed of the random numbers.

    """
    names = list(columns or schema.quasi)
    fewest, most = min(predicates[0], len(names)), min(predicates[1], len(names))
    if queries < 1 or not names or fewest < 1 or not 0 < selectivity <= 1:
        raise RequestError(
            "A random workload needs at least one query, one column, one predicate, and a selectivity above 0 and at most 1."
        )
    random = np.random.default_rng(seed)
    frequencies = {name: _Frequencies.of(domain_of(table, schema, name)) for name in names}
    drawn = []
    for _ in range(queries):
        many = int(random.integers(fewest, most + 1))
        chosen = [names[index] for index in sorted(random.choice(len(names), many, replace=False))]
        around = _record([frequencies[name] for name in chosen], random)
        share = selectivity ** (1 / many)
        drawn.append(
            Query(tuple(frequencies[name].predicate(share, at, random) for name, at in zip(chosen, around, strict=True)))
        )
    return Workload(tuple(drawn))


def _record(columns: Sequence[_Frequencies], random: np.random.Generator) -> list[int]:
    """Return the values of a row without missing values in these columns; if none is found, values of several rows."""
    rows = len(columns[0].indices)
    for row in random.integers(0, rows, TRIES).tolist():
        found = [int(column.indices[row]) for column in columns]
        if min(found) >= 0:
            return found
    return [int(random.choice(column.indices[column.indices >= 0])) for column in columns]


@dataclass(frozen=True, eq=False)
class _Frequencies:
    """The sorted distinct values of a column, and the number of rows of each."""

    domain: Domain
    indices: NDArray[np.int64]
    """Index of the value of each row; -1 is missing."""
    values: NDArray[Any]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, domain: Domain) -> _Frequencies:
        """Count the values of a column."""
        encoded = domain.values.dictionary_encode()
        values = encoded.dictionary.to_numpy(zero_copy_only=False)
        if not len(values):
            raise RequestError(f"Column {domain.name!r} has only missing values. Leave it out of the random workload.")
        order = np.argsort(values, kind="stable")
        index_of = np.append(np.argsort(order), -1)  # the last one is for missing values
        indices = index_of[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
        return cls(domain, indices, values[order], np.bincount(indices[indices >= 0], minlength=len(values)))

    def predicate(self, share: float, at: int, random: np.random.Generator) -> Predicate:
        """Return a predicate that holds for about this share of the rows, including those with the value of index `at`."""
        target, sums = share * self.counts.sum(), np.cumsum(self.counts)
        if self.domain.has_order:
            before = sums[at] - self.counts[at]
            earliest, latest = max(sums[at] - target, 0), min(before, max(sums[-1] - target, 0))
            begin = earliest + random.random() * max(latest - earliest, 0)
            first = min(int(np.searchsorted(sums, begin, side="right")), at)
            last = int(np.searchsorted(sums, sums[first] - self.counts[first] + target))
            return Predicate(self.domain.name, "between", (self._value(first), self._value(min(max(last, at), len(sums) - 1))))
        order = random.permutation(len(self.values))
        order = np.append(at, order[order != at])
        many = int(np.searchsorted(np.cumsum(self.counts[order]), target)) + 1
        return Predicate(self.domain.name, "in", tuple(self._value(index) for index in sorted(order[:many].tolist())))

    def _value(self, index: int) -> Value:
        value = self.values[index].item() if isinstance(self.values[index], np.generic) else self.values[index]
        if self.domain.has_order and not self.domain.is_number:
            return date(1970, 1, 1) + timedelta(days=value)
        return value  # type: ignore[no-any-return]
