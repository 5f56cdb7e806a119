"""The values of a column as positions on a line. Numbers and days are their own positions; leaves of a tree are numbered.

So every published cell is one interval of positions, and every predicate is a few intervals, for all types of columns.
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
"""Positions: int64 for integers, days and leaves, otherwise float64."""

Codes = NDArray[np.int64]

EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, eq=False)
class Domain:
    """One column of the source, with its values as positions."""

    name: str
    value_type: ValueType
    values: pa.Array
    """Value of each row: number, day or text; null if missing. The true answers are computed from them."""
    tree: Tree | None = None
    """Tree of text, or of numbers and dates that are published as labels; None if they are published as ranges."""
    leaf_numbers: Indices | None = None
    """Number or day of each leaf, if leaves are numbers or dates."""
    comma: bool = False
    """Whether numbers are written with a decimal comma."""
    format: str | None = None
    """Format of dates that are written as text."""

    @property
    def is_number(self) -> bool:
        """Whether the values are numbers."""
        return self.value_type in ("integer", "decimal")

    @property
    def has_order(self) -> bool:
        """Whether the values are numbers or dates."""
        return self.is_number or self.value_type in ("date", "timestamp")

    @property
    def is_whole(self) -> bool:
        """Whether positions can be counted. Real numbers are measured by length instead."""
        return self.tree is not None or self.value_type != "decimal"

    @cached_property
    def ends(self) -> tuple[Any, Any]:
        """The first and last position of the whole column."""
        if self.tree is not None:
            return 0, max(len(self.tree.leaves) - 1, 0)
        present = self.values.drop_null().to_numpy(zero_copy_only=False)
        return (present.min(), present.max()) if len(present) else (0, 0)

    @cached_property
    def runs(self) -> dict[str, tuple[int, int]]:
        """The first and last leaf below each label of the tree. If two nodes have the same label, the higher node counts."""
        runs: dict[str, tuple[int, int]] = {}
        for row in self.tree.ancestors if self.tree is not None and self.tree.leaves else ():
            begins = np.flatnonzero(np.append(True, row[1:] != row[:-1]))
            for first, last in zip(begins, np.append(begins[1:], len(row)) - 1, strict=True):
                runs[self.tree.labels[row[first]]] = int(first), int(last)  # type: ignore[union-attr]
        return runs

    @cached_property
    def leaf_of(self) -> dict[str, int]:
        """The index of each leaf of the tree. A node above a leaf may have the same label."""
        return {leaf: number for number, leaf in enumerate(self.tree.leaves)} if self.tree is not None else {}

    @cached_property
    def some_missing(self) -> bool:
        """Whether the column has missing values."""
        return bool(self.values.null_count)

    def read_cells(self, texts: Sequence[str | None]) -> PublishedCells:
        """Return published texts as intervals of positions."""
        found = [self._read_cell(text) for text in texts]
        ends = np.array([cell or self.ends for cell in found], np.int64 if self.is_whole else np.float64).reshape(-1, 2)
        is_null = np.array([text is None for text in texts], np.bool_)
        unsure = np.array([text == ROOT and self.some_missing for text in texts], np.bool_)
        return PublishedCells(ends[:, 0], ends[:, 1], is_null, unsure)

    def read_published(self, column: pa.ChunkedArray) -> tuple[PublishedCells, Codes]:
        """Read a column of published text. Return its distinct cells, the last one for missing, and the cell of each row."""
        held, codes = distinct(as_text(column), self.name, ())
        return self.read_cells([*held.values.to_pylist(), None]), np.where(codes < 0, len(held.values), codes)

    def read_means(self, column: pa.ChunkedArray) -> tuple[NDArray[np.float64], Codes]:
        """Read a column of published means. Return its distinct means, NaN for `*` and missing, and the mean of each row."""
        held, codes = distinct(as_text(column), self.name, ())
        found = [published.interval(text.replace(",", ".") if self.comma else text) for text in held.values.to_pylist()]
        means = [float(one.low) if one is not None and np.isfinite(one.low) else np.nan for one in found]
        return np.array([*means, np.nan]), np.where(codes < 0, len(means), codes)

    def read_values(self, column: pa.ChunkedArray, missing: Sequence[str]) -> tuple[PublishedCells, Codes]:
        """Read a column that was published unchanged. Return its distinct values as cells, and the cell of each row."""
        held, codes = distinct(column, self.name, missing)
        if self.tree is not None:
            at = np.array([*(self.leaf_of[text] for text in as_text(held.values).to_pylist()), 0], np.int64)
        else:
            reading = type_detection.read(held.values, self.value_type, self.format) or type_detection.TEXT
            at = np.append(np.asarray(reading.numbers), 0)
        is_null = np.zeros(len(at), np.bool_)
        is_null[-1] = True  # the code of missing is -1, so it is looked up here
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
        """Return the mean, smallest and largest number in each interval of positions, if values are spread evenly."""
        if self.leaf_numbers is None:
            begin, end = low.astype(np.float64), high.astype(np.float64)
            return begin / 2 + end / 2, begin, end
        parts = [self.leaf_numbers[first : last + 1] for first, last in zip(low.tolist(), high.tolist(), strict=True)]
        found = [(part.mean(), part.min(), part.max()) if len(part) else (np.nan,) * 3 for part in parts]
        mean, least, largest = np.array(found, np.float64).reshape(-1, 3).T
        return mean, least, largest


@dataclass(frozen=True, eq=False)
class PublishedCells:
    """Distinct published cells as intervals of positions, both ends included."""

    low: Indices
    high: Indices
    is_null: NDArray[np.bool_]
    """Whether the cell was published as missing. No predicate holds for it."""
    unsure: NDArray[np.bool_]
    """Whether the source value may be missing, because the cell is `*`."""


def distinct_combinations(codes: Sequence[Codes]) -> tuple[list[Codes], NDArray[np.float64]]:
    """Return the distinct combinations of codes, column by column, and the number of rows of each."""
    names = [str(number) for number in range(len(codes))]
    grouped = pa.table(dict(zip(names, codes, strict=True))).group_by(names, use_threads=False).aggregate([([], "count_all")])
    return [grouped.column(name).to_numpy() for name in names], grouped.column("count_all").to_numpy().astype(np.float64)


def domain_of(table: pa.Table, schema: Schema, name: str) -> Domain:
    """Read a column of a table in its declared or detected type. If the type is ambiguous, the column is read as text."""
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
    """Return the tree of a column. Quasi-identifiers have their own tree. Text without a tree gets a flat one."""
    name, requested = held.name, schema.columns[held.name]
    if name in schema.trees:
        return schema.trees[name]
    if isinstance(requested.hierarchy, Rule) and requested.role == "quasi":
        axis: TreeAxis = made_axis(held, requested, requested.hierarchy)
        return axis.tree
    return flat(by_bytes(held.values, name)[0].to_pylist()) if reading.numbers is None else None


def _numbers_of_leaves(tree: Tree, number_of: Mapping[str, Any], reading: Reading, form: str | None) -> Indices | None:
    """Return the number or day of each leaf. A tree may have leaves that do not occur; if one is not a number, return None."""
    if all(leaf in number_of for leaf in tree.leaves):
        return np.array([number_of[leaf] for leaf in tree.leaves])
    again = type_detection.read(pa.array(tree.leaves), reading.value_type, form or reading.format)
    return None if again is None or again.unfit is not None or again.numbers is None else np.asarray(again.numbers)


def _indices(indices: NDArray[np.int64]) -> pa.Array:
    return pa.array(indices, mask=indices < 0)


def day_number(value: date | str) -> int:
    """Return the position of a day. Texts must be ISO dates.

    >>> day_number("1970-01-02")
    1
    """
    found = value if isinstance(value, date) else date.fromisoformat(value)
    return found.toordinal() - EPOCH
