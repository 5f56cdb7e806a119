"""Check whether groups are valid: the fast check used during the search. It counts groups that grow, shrink or are cut.

The audit repeats every check independently, on the published text, and shares no code with this module.
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


EXAMPLE_K = 5  # the k that a message suggests, if the table has enough rows for two groups


@dataclass(frozen=True, eq=False)
class Constraints:
    """The promises for one table. Methods use it to check whether a group is valid."""

    promise: Promise
    rows: int
    sensitive: tuple[SensitiveColumn, ...] = ()
    units: NDArray[np.int64] | None = None
    """The person of each row; None if each row is one person."""
    reference: tuple[NDArray[np.float64], ...] | None = None
    """Per sensitive column: the share of each value in the whole table, if these rows are only some of its rows."""
    suppress: float = 0
    """The largest share of rows that may be suppressed."""

    @property
    def k(self) -> int:
        """The smallest allowed size of a group, in rows or people."""
        return self.promise.k

    @property
    def budget(self) -> int:
        """How many rows may be suppressed."""
        return int(Fraction(str(self.suppress)) * self.rows)

    @property
    def beyond_k(self) -> bool:
        """Whether a check needs more than the number of rows of a group."""
        return bool(self.sensitive) or self.units is not None

    @property
    def compared_with_table(self) -> bool:
        """Whether some promise compares a group with the whole table."""
        return any("shares" in definition.needs for definition in self._definitions())

    @property
    def merging_keeps(self) -> bool:
        """Whether two valid groups are always valid when merged."""
        return self.growing_keeps or (self.units is None and all(definition.merging_keeps for definition in self._definitions()))

    @property
    def growing_keeps(self) -> bool:
        """Whether a valid group always stays valid when rows are added."""
        return all(definition.growing_keeps for definition in self._definitions())

    def _definitions(self) -> list[Definition]:
        """Return the definitions of all requested promises."""
        names = {"k", *(name for sensitive_column in self.sensitive for name in sensitive_column.promise.requested)}
        return [DEFINITIONS[name] for name in names]

    def take(self, rows: NDArray[np.int64]) -> Constraints:
        """Return the same promises for these rows, in this order. The whole table remains the reference."""
        units = None if self.units is None else self.units[rows]
        sensitive = tuple(sensitive_column.take(rows) for sensitive_column in self.sensitive)
        return Constraints(self.promise, len(rows), sensitive, units, self.shares, self.suppress)

    def only(self, rows: NDArray[np.int64]) -> Constraints:
        """Return the same promises for a table of only these rows. Groups are then compared with this smaller table."""
        units = None if self.units is None else self.units[rows]
        sensitive = tuple(sensitive_column.only(rows) for sensitive_column in self.sensitive)
        return Constraints(self.promise, len(rows), sensitive, units, suppress=self.suppress)

    def k_alone(self) -> Constraints:
        """Return only the promise that each group has k rows."""
        return Constraints(self.promise, self.rows, suppress=self.suppress)

    def valid_without_suppressed(self, labels: NDArray[np.int64]) -> bool:
        """Return whether all groups are valid in a release without the suppressed rows. They are compared with that release."""
        kept = np.flatnonzero(labels >= 0)
        return bool(self.only(kept).valid_groups(labels[kept]).all())

    # --- for kernels

    @cached_property
    def sensitive_values(self) -> NDArray[np.int64]:
        """The array (rows, sensitive) for kernels, one line per row.

        First the values of the sensitive columns, numbered consecutively over all columns. If people have several rows, then
        the number of the person and the numbers of its pairs (person, value).
        """
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
        """The promises as plain numbers, for kernels."""
        from kohort.constraints.kernel_rules import rules_of

        return rules_of(self.promise.k, self.sensitive, self.shares, persons=self.units is not None)

    def tally(self) -> Tally:
        """Return an empty tally, with which one thread can check one group at a time."""
        from kohort.constraints.kernel_rules import tally_for

        return tally_for(self.rules, int(self.sensitive_values[:, len(self.sensitive) :].max(initial=-1)) + 1)

    # --- checks

    def valid_groups(self, labels: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return, for each group of a partition, whether it satisfies the promises."""
        sizes = np.bincount(labels[labels >= 0])
        if not self.beyond_k:
            return sizes >= self.k
        from kohort.kernels.core.group_checks import check_groups

        order, first = grouped_rows(labels)
        valid = np.empty(len(sizes), np.bool_)
        check_groups(self.rules, self.tally(), np.take(self.sensitive_values, order, axis=0), first, valid)
        return valid

    def sizes(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of rows, or of people, in each group."""
        if self.units is None:
            return np.bincount(labels[labels >= 0])
        inside = labels >= 0
        persons = np.int64(self.units.max(initial=0) + 1)
        return np.bincount(np.unique(labels[inside] * persons + self.units[inside]) // persons)

    def require(self, labels: NDArray[np.int64]) -> None:
        """Raise an error if a group of a finished partition does not satisfy the promises."""
        valid = self.valid_groups(labels)
        if not valid.all():
            failing = np.count_nonzero(~valid)
            raise PromiseError(f"{failing} of {len(valid)} groups do not satisfy the promises. Nothing is published.")

    def require_whole_table(self) -> None:
        """Raise an error if not even all rows as one group satisfy the promises. The message says which promises are possible."""
        size = self.rows if self.units is None else len(np.unique(self.units))
        counts = [(sensitive_column, self._counts(sensitive_column)) for sensitive_column in self.sensitive]
        require_possible(self.k, size, "rows" if self.units is None else "persons", counts)

    def _counts(self, sensitive_column: SensitiveColumn) -> NDArray[np.int64]:
        """Return the number of rows, or of people, with each value."""
        if self.units is None:
            return np.bincount(sensitive_column.codes, minlength=sensitive_column.values)
        pairs = np.unique(self.units * np.int64(sensitive_column.values) + sensitive_column.codes)
        return np.bincount(pairs % sensitive_column.values, minlength=sensitive_column.values)


def require_possible(k: int, size: int, who: str, counts: Sequence[tuple[SensitiveColumn, NDArray[np.int64]]]) -> None:
    """Raise an error if not even the whole table as one group satisfies the promises.

    `size` is the number of rows or people; `who` is "rows" or "persons". `counts` has the rows or people per value.
    """
    problems = []
    one, who = ("row", "rows") if who == "rows" else ("person", "people")
    if 0 < size < k:
        found = f"only one {one}" if size == 1 else f"only {size:,} {who}"
        smaller = min(EXAMPLE_K, size // 2)
        more = f"Add more {who}."
        if smaller >= 2:
            example = f"Choose a smaller k, for example {smaller} (--k {smaller}), or add more {who}."
            more = f"{example} With k={size} all {who} would be one group."
        problems.append(f"k={k} cannot be kept: the table has {found}, so no group can have {k}. {more}")
    for sensitive_column, of_values in counts if size else ():
        whole = TableCounts(sensitive_column.name, of_values, size, who, sensitive_column.limits)
        promise = sensitive_column.promise
        for name in promise.requested:
            shortfall = DEFINITIONS[name].shortfall
            problems += shortfall(promise, whole) if shortfall is not None else []
    if problems:
        raise PromiseError("\n".join(problems))
