"""Is this group valid? The fast check used during the search, on tallies of groups that grow, shrink or are cut.

The audit repeats every check independently, on the published text, and shares no code with this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kohort.encoding.groups import grouped_rows
from kohort.encoding.sensitive import SensitiveColumn
from kohort.errors import PromiseError
from kohort.schema.promises import DEFINITIONS, Definition, Promise, TableCounts

if TYPE_CHECKING:
    from kohort.kernels.core.promise_rules import Rules, Tally


@dataclass(frozen=True, eq=False)
class Constraints:
    """The promises bound to one table. Methods ask it one question: is this group valid?"""

    promise: Promise
    rows: int
    sensitive: tuple[SensitiveColumn, ...] = ()
    units: NDArray[np.int64] | None = None
    """The person of each row; None where each row is one."""
    reference: tuple[NDArray[np.float64], ...] | None = None
    """Per sensitive column: the share of each value in the whole table, if these rows are only a part of it."""
    suppress: float = 0
    """The share of the rows that may be left out."""

    @property
    def k(self) -> int:
        return self.promise.k

    @property
    def budget(self) -> int:
        """How many rows may be left out."""
        return int(Fraction(str(self.suppress)) * self.rows)

    @property
    def beyond_k(self) -> bool:
        """Whether more must be known of a group than how many rows it has."""
        return bool(self.sensitive) or self.units is not None

    @property
    def compared_with_table(self) -> bool:
        """Whether a group must be like the whole table."""
        return any("shares" in definition.needs for definition in self._definitions())

    @property
    def merging_keeps(self) -> bool:
        """Whether two groups that may stand may always stand as one."""
        return self.growing_keeps or (self.units is None and all(definition.merging_keeps for definition in self._definitions()))

    @property
    def growing_keeps(self) -> bool:
        """Whether a group that may stand always may with anybody more."""
        return all(definition.growing_keeps for definition in self._definitions())

    def _definitions(self) -> list[Definition]:
        names = {"k", *(name for sensitive_column in self.sensitive for name in sensitive_column.promise.requested)}
        return [DEFINITIONS[name] for name in names]

    def take(self, rows: NDArray[np.int64]) -> Constraints:
        """The same promise for these rows of the same table, in this order."""
        units = None if self.units is None else self.units[rows]
        sensitive = tuple(sensitive_column.take(rows) for sensitive_column in self.sensitive)
        return Constraints(self.promise, len(rows), sensitive, units, self.shares, self.suppress)

    def only(self, rows: NDArray[np.int64]) -> Constraints:
        """The same promise for a table of only these rows: what the others held is no longer compared with."""
        units = None if self.units is None else self.units[rows]
        sensitive = tuple(sensitive_column.only(rows) for sensitive_column in self.sensitive)
        return Constraints(self.promise, len(rows), sensitive, units, suppress=self.suppress)

    def k_alone(self) -> Constraints:
        """Only that each group has k rows."""
        return Constraints(self.promise, self.rows, suppress=self.suppress)

    def valid_without_suppressed(self, labels: NDArray[np.int64]) -> bool:
        """Whether all groups stand in a release of only the rows that have a label: it is compared with itself."""
        kept = np.flatnonzero(labels >= 0)
        return bool(self.only(kept).valid_groups(labels[kept]).all())

    # --- for kernels

    @cached_property
    def sensitive_values(self) -> NDArray[np.int64]:
        """(rows, secrets): each row's values, numbered through all columns; then its person and its (person, value) pairs."""
        starts = np.cumsum([0, *(sensitive_column.values for sensitive_column in self.sensitive)])
        columns = [sensitive_column.codes + start for sensitive_column, start in zip(self.sensitive, starts[:-1], strict=True)]
        if self.units is not None:
            persons, units = np.unique(self.units, return_inverse=True)
            columns.append(units)
            used = len(persons)
            for sensitive_column in self.sensitive:
                pairs, numbers = np.unique(
                    units * np.int64(sensitive_column.values) + sensitive_column.codes, return_inverse=True
                )
                columns.append(numbers + used)
                used += len(pairs)
        return np.column_stack(columns) if columns else np.empty((self.rows, 0), np.int64)

    @cached_property
    def shares(self) -> tuple[NDArray[np.float64], ...]:
        """Per sensitive column: the share of each value in the whole table."""
        if self.reference is not None:
            return self.reference
        return tuple(counts / max(counts.sum(), 1) for counts in map(self._counts, self.sensitive))

    @cached_property
    def rules(self) -> Rules:
        """The promise flattened for kernels."""
        from kohort.constraints.kernel_rules import rules_of

        return rules_of(self.promise.k, self.sensitive, self.shares, persons=self.units is not None)

    def tally(self) -> Tally:
        """Scratch for one thread to ask about one group at a time."""
        from kohort.constraints.kernel_rules import tally_for

        return tally_for(self.rules, int(self.sensitive_values[:, len(self.sensitive) :].max(initial=-1)) + 1)

    # --- asking

    def valid_groups(self, labels: NDArray[np.int64]) -> NDArray[np.bool_]:
        """For each group of a partition: whether it keeps the promise."""
        sizes = np.bincount(labels[labels >= 0])
        if not self.beyond_k:
            return sizes >= self.k
        from kohort.kernels.core.group_checks import check_groups

        order, first = grouped_rows(labels)
        valid = np.empty(len(sizes), np.bool_)
        check_groups(self.rules, self.tally(), np.take(self.sensitive_values, order, axis=0), first, valid)
        return valid

    def sizes(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many rows, or persons, each group has."""
        if self.units is None:
            return np.bincount(labels[labels >= 0])
        inside = labels >= 0
        persons = np.int64(self.units.max(initial=0) + 1)
        return np.bincount(np.unique(labels[inside] * persons + self.units[inside]) // persons)

    def require(self, labels: NDArray[np.int64]) -> None:
        """Fail when a group of a finished partition does not keep the promise."""
        valid = self.valid_groups(labels)
        if not valid.all():
            raise PromiseError(f"{np.count_nonzero(~valid)} of {len(valid)} groups do not keep what is promised.")

    def require_whole_table(self) -> None:
        """Fail early when not even one group of everybody would keep the promise; say what could be kept."""
        size = self.rows if self.units is None else len(np.unique(self.units))
        counts = [(sensitive_column, self._counts(sensitive_column)) for sensitive_column in self.sensitive]
        require_possible(self.k, size, "rows" if self.units is None else "persons", counts)

    def _counts(self, sensitive_column: SensitiveColumn) -> NDArray[np.int64]:
        """How many rows, or persons, hold each value in these rows."""
        if self.units is None:
            return np.bincount(sensitive_column.codes, minlength=sensitive_column.values)
        pairs = np.unique(self.units * np.int64(sensitive_column.values) + sensitive_column.codes)
        return np.bincount(pairs % sensitive_column.values, minlength=sensitive_column.values)


def require_possible(k: int, size: int, who: str, counts: Sequence[tuple[SensitiveColumn, NDArray[np.int64]]]) -> None:
    """Fail when a table of so many rows or persons, who hold each value so often, would not even stand as one group."""
    problems = []
    if 0 < size < k:
        alone = f"a single {who[:-1]}" if size == 1 else f"{size} {who}"
        more = f"Ask for k={size} or less, or give more {who}." if size >= 2 else f"Give more {who}."
        problems.append(f"k={k} cannot be kept: the table has {alone}, so no group can hold {k}. {more}")
    for sensitive_column, of_values in counts if size else ():
        whole = TableCounts(sensitive_column.name, of_values, size, who, sensitive_column.limits)
        promise = sensitive_column.promise
        for name in promise.requested:
            shortfall = DEFINITIONS[name].shortfall
            problems += shortfall(promise, whole) if shortfall is not None else []
    if problems:
        raise PromiseError("\n".join(problems))
