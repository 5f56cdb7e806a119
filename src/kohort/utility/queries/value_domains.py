"""What a query can ask of a column: its values as places on a line. Numbers and days are places themselves, leaves are numbered.

Every cell of a release is then an interval of places, and every predicate a few of them, whatever the column holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort.encoding.encode import Distinct, by_bytes, distinct, made_axis
from kohort.encoding.tree_axis import TreeAxis
from kohort.schema import published_text as published
from kohort.schema import type_detection
from kohort.schema.columns import Schema
from kohort.schema.tree_rules import Rule
from kohort.schema.trees import ROOT, Tree, flat
from kohort.schema.type_detection import Reading, ValueType
from kohort.tables.tables import as_text

Indices = NDArray[Any]
"""int64 where places are whole (integers, days, leaves), else float64."""

Codes = NDArray[np.int64]

EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, eq=False)
class Domain:
    """One column of the source."""

    name: str
    value_type: ValueType
    values: pa.Array
    """Per row: numbers, days or text; null where missing. What the truth is asked of."""
    tree: Tree | None = None
    """Above texts, or above numbers and dates that are published by their labels; None where they are published as ranges."""
    leaf_numbers: Indices | None = None
    """Per leaf: the number or day that it is, if leaves are."""
    comma: bool = False
    format: str | None = None
    """How dates are written, for those that are text."""

    @property
    def is_number(self) -> bool:
        return self.value_type in ("integer", "decimal")

    @property
    def has_order(self) -> bool:
        return self.is_number or self.value_type in ("date", "timestamp")

    @property
    def is_whole(self) -> bool:
        """Whether a cell holds a number of places that can be counted; reals are measured."""
        return self.tree is not None or self.value_type != "decimal"

    @cached_property
    def ends(self) -> tuple[Any, Any]:
        """The first and the last place of the whole column."""
        if self.tree is not None:
            return 0, max(len(self.tree.leaves) - 1, 0)
        present = self.values.drop_null().to_numpy(zero_copy_only=False)
        return (present.min(), present.max()) if len(present) else (0, 0)

    @cached_property
    def runs(self) -> dict[str, tuple[int, int]]:
        """Of a tree: the first and the last leaf below each label; of two nodes with one label the larger, the higher one."""
        runs: dict[str, tuple[int, int]] = {}
        for row in self.tree.ancestors if self.tree is not None and self.tree.leaves else ():
            begins = np.flatnonzero(np.append(True, row[1:] != row[:-1]))
            for first, last in zip(begins, np.append(begins[1:], len(row)) - 1, strict=True):
                runs[self.tree.labels[row[first]]] = int(first), int(last)  # type: ignore[union-attr]
        return runs

    @cached_property
    def leaf_of(self) -> dict[str, int]:
        """Of a tree: the number of each value; what stands above it may have its name too."""
        return {leaf: number for number, leaf in enumerate(self.tree.leaves)} if self.tree is not None else {}

    @cached_property
    def some_missing(self) -> bool:
        return bool(self.values.null_count)

    def read_cells(self, texts: Sequence[str | None]) -> PublishedCells:
        """Published texts as intervals of places."""
        found = [self._read_cell(text) for text in texts]
        ends = np.array([cell or self.ends for cell in found], np.int64 if self.is_whole else np.float64).reshape(-1, 2)
        is_null = np.array([text is None for text in texts], np.bool_)
        unsure = np.array([text == ROOT and self.some_missing for text in texts], np.bool_)
        return PublishedCells(ends[:, 0], ends[:, 1], is_null, unsure)

    def read_published(self, column: pa.ChunkedArray) -> tuple[PublishedCells, Codes]:
        """A column of published text: distinct cells as places, the last for missing, and which each row has."""
        held, codes = distinct(as_text(column), self.name, ())
        return self.read_cells([*held.values.to_pylist(), None]), np.where(codes < 0, len(held.values), codes)

    def read_means(self, column: pa.ChunkedArray) -> tuple[NDArray[np.float64], Codes]:
        """A column of published means: distinct ones, NaN where they tell nothing, and which each row has."""
        held, codes = distinct(as_text(column), self.name, ())
        found = [published.interval(text.replace(",", ".") if self.comma else text) for text in held.values.to_pylist()]
        means = [float(one.low) if one is not None and np.isfinite(one.low) else np.nan for one in found]
        return np.array([*means, np.nan]), np.where(codes < 0, len(means), codes)

    def read_values(self, column: pa.ChunkedArray, missing: Sequence[str]) -> tuple[PublishedCells, Codes]:
        """A column that was published as it is: distinct values as places, and which each row has."""
        held, codes = distinct(column, self.name, missing)
        if self.tree is not None:
            at = np.array([*(self.leaf_of[text] for text in as_text(held.values).to_pylist()), 0], np.int64)
        else:
            reading = type_detection.read(held.values, self.value_type, self.format) or type_detection.TEXT
            at = np.append(np.asarray(reading.numbers), 0)
        is_null = np.zeros(len(at), np.bool_)
        is_null[-1] = True  # where missing is looked up: its code is -1
        return PublishedCells(at, at, is_null, np.zeros(len(at), np.bool_)), np.where(codes < 0, len(at) - 1, codes)

    def _read_cell(self, text: str | None) -> tuple[Any, Any] | None:
        if text is None or text == ROOT:
            return None
        if self.tree is not None:
            return self.runs.get(text)
        if not self.is_number:
            days = published.days(text)
            return (days[0].toordinal() - EPOCH, days[1].toordinal() - EPOCH) if days else None
        found = published.interval(text.replace(",", ".") if self.comma else text)
        return (found.low, found.high) if found else None

    def numbers_within(self, low: Indices, high: Indices) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The mean, the least and the largest number of intervals of places, spread evenly."""
        if self.leaf_numbers is None:
            begin, end = low.astype(np.float64), high.astype(np.float64)
            return begin / 2 + end / 2, begin, end
        parts = [self.leaf_numbers[first : last + 1] for first, last in zip(low.tolist(), high.tolist(), strict=True)]
        found = [(part.mean(), part.min(), part.max()) if len(part) else (np.nan,) * 3 for part in parts]
        mean, least, largest = np.array(found, np.float64).reshape(-1, 3).T
        return mean, least, largest


@dataclass(frozen=True, eq=False)
class PublishedCells:
    """Distinct published cells as intervals of places, ends included."""

    low: Indices
    high: Indices
    is_null: NDArray[np.bool_]
    """Published as missing: no predicate holds."""
    unsure: NDArray[np.bool_]
    """Somewhere in there, or missing."""


def alike(codes: Sequence[Codes]) -> tuple[list[Codes], NDArray[np.float64]]:
    """The distinct combinations of codes, column by column, and how many rows have each."""
    names = [str(number) for number in range(len(codes))]
    grouped = pa.table(dict(zip(names, codes, strict=True))).group_by(names, use_threads=False).aggregate([([], "count_all")])
    return [grouped.column(name).to_numpy() for name in names], grouped.column("count_all").to_numpy().astype(np.float64)


def domain_of(table: pa.Table, schema: Schema, name: str) -> Domain:
    """A column as its values are, or are declared to be; what could be two things is text."""
    requested = schema.columns[name]
    held, indices = distinct(table.column(name), name, schema.missing)
    values = held.values
    reading = type_detection.read(values, requested.value_type, requested.format) or type_detection.TEXT
    if reading.unfit is not None or reading.question:
        reading = type_detection.TEXT
    tree = _tree_of(held, schema, reading)
    if reading.numbers is None:
        return Domain(name, reading.value_type, as_text(values).take(_indices(indices)), tree)
    numbers = np.asarray(reading.numbers)
    per_row = pa.array(numbers).take(_indices(indices))
    leaf_numbers = None
    if tree is not None:
        number_of: Mapping[str, Any] = dict(zip(as_text(values).to_pylist(), numbers, strict=True))
        leaf_numbers = _numbers_of_leaves(tree, number_of, reading, requested.format)
    return Domain(name, reading.value_type, per_row, tree, leaf_numbers, reading.comma, reading.format)


def _tree_of(held: Distinct, schema: Schema, reading: Reading) -> Tree | None:
    """What a column is published by: its tree if it is a quasi-identifier; text that is none has a flat one."""
    name, requested = held.name, schema.columns[held.name]
    if name in schema.trees:
        return schema.trees[name]
    if isinstance(requested.hierarchy, Rule) and requested.role == "quasi":
        axis: TreeAxis = made_axis(held, requested, requested.hierarchy)
        return axis.tree
    return flat(by_bytes(held.values, name)[0].to_pylist()) if reading.numbers is None else None


def _numbers_of_leaves(tree: Tree, number_of: Mapping[str, Any], reading: Reading, form: str | None) -> Indices | None:
    """A tree file may have leaves that the column does not hold; if one of them is no number, leaves are not."""
    if all(leaf in number_of for leaf in tree.leaves):
        return np.array([number_of[leaf] for leaf in tree.leaves])
    again = type_detection.read(pa.array(tree.leaves), reading.value_type, form or reading.format)
    return None if again is None or again.unfit is not None or again.numbers is None else np.asarray(again.numbers)


def _indices(indices: NDArray[np.int64]) -> pa.Array:
    return pa.array(indices, mask=indices < 0)


def day_number(value: date | str) -> int:
    """A day of the calendar as a place; texts as ISO writes them.

    >>> day_number("1970-01-02")
    1
    """
    found = value if isinstance(value, date) else date.fromisoformat(value)
    return found.toordinal() - EPOCH
