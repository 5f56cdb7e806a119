"""Random workloads: counts over a few columns, each about a wanted share of the records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort.errors import RequestError
from kohort.schema import Schema
from kohort.utility.domains import Domain, domain_of
from kohort.workloads import Predicate, Query, Value, Workload


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
    """Counts with so many predicates each, from and to, on the quasi-identifiers or the columns named.

    Each predicate lets through the same share of the records, such that all of them together would let through `selectivity` if
    columns did not depend on each other: a range of numbers or days, or some values.
    """
    names = list(columns or schema.quasi)
    fewest, most = min(predicates[0], len(names)), min(predicates[1], len(names))
    if queries < 1 or not names or fewest < 1 or not 0 < selectivity <= 1:
        raise RequestError("A random workload needs at least one query, one column and a selectivity above 0, up to 1.")
    random = np.random.default_rng(seed)
    frequencies = {name: _Frequencies.of(domain_of(table, schema, name)) for name in names}
    drawn = []
    for _ in range(queries):
        many = int(random.integers(fewest, most + 1))
        chosen = [names[place] for place in sorted(random.choice(len(names), many, replace=False))]
        share = selectivity ** (1 / many)
        drawn.append(Query(tuple(frequencies[name].predicate(share, random) for name in chosen)))
    return Workload(tuple(drawn))


@dataclass(frozen=True, eq=False)
class _Frequencies:
    """How many records hold each value of a column."""

    domain: Domain
    values: NDArray[Any]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, domain: Domain) -> _Frequencies:
        present = domain.values.drop_null()
        held = present.value_counts()
        values, counts = held.field("values").to_numpy(zero_copy_only=False), held.field("counts").to_numpy(zero_copy_only=False)
        if not len(values):
            raise RequestError(f"Column {domain.name!r} holds nothing that a random query could ask for.")
        order = np.argsort(values, kind="stable")
        return cls(domain, values[order], counts[order])

    def predicate(self, share: float, random: np.random.Generator) -> Predicate:
        """A condition that about this share of the records fulfil."""
        target, sums = share * self.counts.sum(), np.cumsum(self.counts)
        if self.domain.has_order:
            first = int(np.searchsorted(sums, random.random() * max(sums[-1] - target, 0), side="right"))
            first = min(first, len(sums) - 1)
            before = sums[first] - self.counts[first]
            last = min(int(np.searchsorted(sums, before + target)), len(sums) - 1)
            return Predicate(self.domain.name, "between", (self._value(first), self._value(last)))
        order = random.permutation(len(self.values))
        many = int(np.searchsorted(np.cumsum(self.counts[order]), target)) + 1
        return Predicate(self.domain.name, "in", tuple(self._value(place) for place in sorted(order[:many].tolist())))

    def _value(self, place: int) -> Value:
        value = self.values[place].item() if isinstance(self.values[place], np.generic) else self.values[place]
        if self.domain.has_order and not self.domain.is_number:
            return date(1970, 1, 1) + timedelta(days=value)
        return value  # type: ignore[no-any-return]
