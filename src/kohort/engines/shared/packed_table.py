"""The bit layout of a table whose rows are packed codes. The rows can be stored anywhere and be unpacked a few at a time.

A packed row holds the codes of its quasi-identifiers, of its sensitive values and of the other columns that a search uses; the
indices of its exact values where codes are bins; its person; and a number that breaks ties. It uses as few 64-bit words as these
bits need.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from kohort.constraints.constraints import Constraints
from kohort.encoding.axes import code_dtype
from kohort.encoding.encode import Coding, Distinct
from kohort.encoding.number_axis import NumericAxis, deviation
from kohort.encoding.points import Points
from kohort.encoding.sensitive import SensitiveColumn
from kohort.methods.search.median_cuts import layout_of
from kohort.schema.promises import Promise

if TYPE_CHECKING:
    from kohort.kernels.core.packed import BitLayout

WORD = 1 << 64


@dataclass(frozen=True)
class Facts:
    """Facts about the whole table (see `Whole`), computed without its rows."""

    some_missing: tuple[bool, ...] = ()
    deviations: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class PackedColumns:
    """Columns that are decoded together: the quasi-identifiers, the label, or the extra columns that a method uses."""

    role: Literal["quasi", "label", "extra"]
    codings: tuple[Coding, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class PackedTable:
    """Column dictionaries and bit layout of a table whose rows are stored elsewhere."""

    rows: int
    held: Mapping[str, Distinct]
    """By column: its distinct values. The index of a row is the index of its value among them; -1 = missing."""
    quasi: PackedColumns
    sensitive: tuple[SensitiveColumn, ...]
    """The sensitive columns. Their `codes` are the codes of the distinct values, not of the rows."""
    shares: tuple[NDArray[np.float64], ...]
    """Per sensitive column: the share of each value in the whole table."""
    promise: Promise
    suppress: float
    template: Points
    """Points without rows: axes, weights, objective, and the facts about the whole table."""
    label: PackedColumns | None = None
    extra: PackedColumns | None = None
    persons: bool = False
    """Whether packed rows hold the hash of their person."""
    ordered: bool = False
    """Whether packed rows hold a number that breaks ties."""

    @property
    def groups(self) -> list[PackedColumns]:
        return [group for group in (self.quasi, self.label, self.extra) if group is not None]

    @cached_property
    def _fields(self) -> list[tuple[str, str, int]]:
        """List (content, column, number of codes) for each field of a packed row: first the axes, then the sensitive columns."""
        fields: list[tuple[str, str, int]] = []
        for group in self.groups:
            fields += [(group.role, coding.axis.name, coding.axis.size) for coding in group.codings]
            if group is self.quasi:
                fields += [("sensitive", sensitive_column.name, sensitive_column.values) for sensitive_column in self.sensitive]
        for group in self.groups:
            binned = [coding for coding in group.codings if coding.numbers is not None]
            fields += [(f"{group.role} index", coding.axis.name, len(coding.codes)) for coding in binned]
        fields += [("person", "", WORD)] if self.persons else []
        fields += [("tie", "", WORD)] if self.ordered else []
        return fields

    @cached_property
    def layout(self) -> BitLayout:
        return layout_of([size for _what, _name, size in self._fields], len(self.quasi.codings))[0]

    @property
    def words(self) -> int:
        """Number of 64-bit words of a row."""
        return int(self.layout.word.max()) + 1

    @property
    def person_word(self) -> int:
        """The index of the word that holds the hash of the row's person and nothing else."""
        return int(self.layout.word[[what for what, _name, _size in self._fields].index("person")])

    # --- packing rows

    def pack(
        self,
        indices: Mapping[str, NDArray[np.integer]],
        persons: NDArray[np.uint64] | None = None,
        ties: NDArray[np.uint64] | None = None,
    ) -> NDArray[np.uint64]:
        """Pack rows, given the indices of their values, into an array (rows, words)."""
        from kohort.kernels.cuts.routing import put

        rows = len(next(iter(indices.values())))
        words = np.zeros((rows, self.words), np.uint64)
        for column, (what, name, _size) in enumerate(self._fields):
            values = persons if what == "person" else ties if what == "tie" else self._tables[what, name][indices[name]]
            put(np.asarray(values, np.uint64), self.layout, column, words)
        return words

    @cached_property
    def _tables(self) -> dict[tuple[str, str], NDArray[np.uint64]]:
        """By field: the packed code for each index of a value. The last entry is the code of a missing value."""
        tables = {("sensitive", sensitive_column.name): sensitive_column.codes for sensitive_column in self.sensitive}
        for group in self.groups:
            for coding in group.codings:
                tables[group.role, coding.axis.name] = coding.codes
                tables[f"{group.role} index", coding.axis.name] = np.arange(len(coding.codes))
        return {key: table.astype(np.uint64) for key, table in tables.items()}

    # --- unpacking rows

    def points(self, words: NDArray[np.uint64]) -> Points:
        """Unpack rows as points."""
        quasi = self._group(words, self.quasi)
        label, extra = (None if group is None else self._group(words, group) for group in (self.label, self.extra))
        return replace(self.template, codes=quasi.codes, exact=quasi.exact, label=label, extra=extra)

    def _group(self, words: NDArray[np.uint64], group: PackedColumns) -> Points:
        axes = tuple(coding.axis for coding in group.codings)
        codes = np.empty((len(words), len(axes)), code_dtype(axes))
        exact = {}
        for number, coding in enumerate(group.codings):
            codes[:, number] = self._get(words, group.role, coding.axis.name)
            if coding.numbers is not None:
                exact[number] = coding.numbers[self._get(words, f"{group.role} index", coding.axis.name).astype(np.int64)]
        return Points(codes, axes, group.weights, exact)

    def constraints(self, words: NDArray[np.uint64]) -> Constraints:
        """Return the constraints of the promise for these packed rows."""
        sensitive = tuple(
            replace(sensitive_column, codes=self._get(words, "sensitive", sensitive_column.name).astype(np.int64))
            for sensitive_column in self.sensitive
        )
        units = np.unique(self._get(words, "person", ""), return_inverse=True)[1] if self.persons else None
        return Constraints(self.promise, len(words), sensitive, units, None if self.persons else self.shares, self.suppress)

    def nothing(self) -> NDArray[np.uint64]:
        """Return packed rows: none of them."""
        return np.empty((0, self.words), np.uint64)

    def ties(self, words: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return self._get(words, "tie", "")

    def _get(self, words: NDArray[np.uint64], what: str, name: str) -> NDArray[np.uint64]:
        from kohort.kernels.cuts.routing import get

        column = next(at for at, field in enumerate(self._fields) if field[:2] == (what, name))
        values = np.empty(len(words), np.uint64)
        get(words, self.layout, column, values)
        return values


def facts_of(codings: Sequence[Coding], held: Mapping[str, Distinct]) -> Facts:
    """Return the facts about the whole table, computed from the distinct values of its columns."""
    columns = [held[coding.axis.name] for coding in codings]
    deviations = tuple(_deviation(coding, column) for coding, column in zip(codings, columns, strict=True))
    return Facts(tuple(column.some_missing for column in columns), deviations)


def _deviation(coding: Coding, held: Distinct) -> float:
    if not isinstance(coding.axis, NumericAxis):
        return 0.0
    numbers = coding.axis.first[coding.codes[:-1] - 1] if coding.numbers is None else coding.numbers[:-1]
    different, index = np.unique(numbers, return_inverse=True)
    return deviation(coding.axis, different, np.bincount(index, held.counts[:-1], len(different)).astype(np.int64))


def shares_of(sensitive: Sequence[SensitiveColumn], held: Mapping[str, Distinct]) -> Iterator[NDArray[np.float64]]:
    """Yield, per sensitive column, the share of each value in the whole table."""
    for sensitive_column in sensitive:
        counts = counts_of(sensitive_column, held[sensitive_column.name])
        yield counts / max(counts.sum(), 1)


def counts_of(sensitive_column: SensitiveColumn, held: Distinct) -> NDArray[np.int64]:
    """Count the rows of each value of a sensitive column whose `codes` are those of the distinct values."""
    return np.bincount(sensitive_column.codes, held.counts, sensitive_column.values).astype(np.int64)
