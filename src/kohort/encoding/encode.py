"""Encode columns as codes.

First find the distinct values of a column, then sort them in the order of their axis, then look up the code of each row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kohort.encoding.axes import Axis, code_dtype
from kohort.encoding.date_axis import DateAxis
from kohort.encoding.number_axis import Grid, NumericAxis, difference
from kohort.encoding.points import Points
from kohort.encoding.tree_axis import TreeAxis
from kohort.errors import RequestError, gathered
from kohort.schema import date_formats as calendars
from kohort.schema import type_detection
from kohort.schema.columns import Column, Schema
from kohort.schema.tree_rules import ColumnValues, Date, Interval, Rule
from kohort.schema.trees import flat
from kohort.schema.type_detection import Numbers, Reading
from kohort.tables.tables import as_text
from kohort.wording import counted, row_number

MOST_NUMBERS = 65_535
"""Up to this many distinct numbers have one code each; with 0 for missing they fill 16 bits. More numbers share codes: the codes
are then equal-width bins.
"""

_NO_TEXT = (pa.types.is_nested, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_duration)


def encode(table: pa.Table, schema: Schema, columns: Sequence[str] | None = None) -> Points:
    """Encode columns of a table as points. Without `columns`, encode the quasi-identifiers."""
    names = schema.quasi if columns is None else columns
    found: list[tuple[Coding, NDArray[np.int64]]] = []
    problems: list[str] = []
    for name in names:
        with gathered(problems):
            held, indices = distinct(table.column(name), name, schema.missing)
            found.append((coding_of(held, schema), indices))
    if problems:
        raise RequestError(problems)
    axes = [coding.axis for coding, _indices in found]
    points = np.empty((table.num_rows, len(axes)), code_dtype(axes))
    for number, (coding, indices) in enumerate(found):
        points[:, number] = coding.codes[indices]
    exact = {number: coding.numbers[indices] for number, (coding, indices) in enumerate(found) if coding.numbers is not None}
    return Points(points, tuple(axes), tuple(schema.columns[name].weight for name in names), exact)


def encode_label(table: pa.Table, schema: Schema, name: str, weight: float) -> Points:
    """Encode a column as unordered categories."""
    held, indices = distinct(table.column(name), name, schema.missing)
    coding = label_coding(held)
    points = coding.codes[indices][:, np.newaxis].astype(code_dtype([coding.axis]))
    return Points(points, (coding.axis,), (weight,))


# --- distinct values of a column


@dataclass(frozen=True, eq=False)
class Distinct:
    """The distinct values of a column, and how many rows have each. Missing values are not included."""

    name: str
    values: pa.Array
    counts: NDArray[np.int64]
    """Rows per value. The last entry is for missing values."""
    first_rows: Callable[[], NDArray[np.int64]] | None = None
    """Returns, per value, the first row that has it. The last entry is for missing values. None if rows have no numbers."""

    @property
    def some_missing(self) -> bool:
        """Whether any value is missing."""
        return bool(self.counts[-1])

    def where(self, those: NDArray[np.bool_]) -> str:
        """Return the first row with one of the selected values, as a clause for a message."""
        if self.first_rows is None:
            return ""
        return f", the first at {row_number(int(self.first_rows()[:-1][those].min()))}"

    def rows(self, those: NDArray[np.bool_]) -> int:
        """Return how many rows have one of the selected values."""
        return int(self.counts[:-1][those].sum())


def distinct(column: pa.ChunkedArray, name: str, missing: Sequence[str]) -> tuple[Distinct, NDArray[np.int64]]:
    """Return the distinct values of a column without missing ones, and for each row the index of its value, or -1 for missing."""
    column = comparable(column, name).dictionary_encode()
    if not _one_dictionary(column):
        column = column.unify_dictionaries()
    if not column.num_chunks:
        return Distinct(name, pa.nulls(0, pa.string()), np.zeros(1, np.int64)), np.empty(0, np.int64)
    values = column.chunk(0).dictionary
    indices = np.concatenate(
        [chunk.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False) for chunk in column.chunks]
    )
    keep = ~is_missing(values, name, missing)
    renumbered = np.full(len(values) + 1, -1, np.int64)
    renumbered[:-1][keep] = np.arange(np.count_nonzero(keep))
    indices = renumbered[indices]
    values = values.filter(pa.array(keep))
    counts = np.bincount(indices + 1, minlength=len(values) + 1)
    return Distinct(name, values, np.append(counts[1:], counts[0]), lambda: _first_rows(indices, len(values))), indices


def comparable(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return a column whose values can be compared. Raise an error if its type does not allow that."""
    arrow_type = column.type
    if any(test(arrow_type) for test in _NO_TEXT) or isinstance(arrow_type, pa.BaseExtensionType):
        raise RequestError(
            f"Column {name!r} has type {arrow_type}. Its values cannot be compared as text or numbers. "
            f"Convert the column to text or numbers, or give it the role drop (--drop {name}) instead of its present role."
        )
    if pa.types.is_null(arrow_type):
        return column.cast(pa.string())
    # A dictionary made by other software may have the same value twice.
    return column.cast(arrow_type.value_type) if pa.types.is_dictionary(arrow_type) else column


def is_missing(values: pa.Array, name: str, missing: Sequence[str]) -> NDArray[np.bool_]:
    """Return, per value, whether it is missing: null, NaN, empty text, or one of the texts in `missing`."""
    gone = values.is_null(nan_is_null=pa.types.is_floating(values.type)).to_numpy(zero_copy_only=False)
    is_text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    if is_text or missing:
        tokens = pc.is_in(_texts(values, name), pa.array(["", *missing]))
        gone = gone | tokens.to_numpy(zero_copy_only=False)
    return np.asarray(gone, np.bool_)


def _one_dictionary(column: pa.ChunkedArray) -> bool:
    """Return whether all chunks share one dictionary. Arrow creates them so. Unifying would then only hash every value again."""
    dictionaries = (chunk.dictionary.buffers() for chunk in column.chunks)
    addresses = {tuple(buffer.address if buffer is not None else 0 for buffer in buffers) for buffers in dictionaries}
    return len(addresses) <= 1


def _first_rows(indices: NDArray[np.int64], values: int) -> NDArray[np.int64]:
    """Return the first row of each value. The last entry is for missing values."""
    first = np.full(values + 1, len(indices), np.int64)
    first[indices[::-1]] = np.arange(len(indices))[::-1]  # the last assignment to each entry is the first row
    return first


# --- the axis of a column


@dataclass(frozen=True, eq=False)
class Coding:
    """The axis of one column, and the code of each distinct value. The last code is for missing values."""

    axis: Axis
    codes: NDArray[np.int64]
    numbers: Numbers | None = None
    """The true number of each distinct value, if the codes are bins."""


def label_coding(held: Distinct) -> Coding:
    """Encode values as unordered categories. Their codes follow the order of their UTF-8 bytes."""
    leaves, codes = by_bytes(held.values, held.name)
    return Coding(TreeAxis(held.name, flat(leaves.to_pylist())), codes)


def coding_of(held: Distinct, schema: Schema) -> Coding:
    """Return the axis and the codes of a column, from its declared or detected type."""
    name = held.name
    requested = schema.columns[name]
    if name in schema.trees:
        return on_tree(held, requested, TreeAxis(name, schema.trees[name]))
    if isinstance(requested.hierarchy, Rule):
        return on_tree(held, requested, made_axis(held, requested, requested.hierarchy))
    reading = read_values(held, requested)
    if reading.numbers is not None and reading.value_type in ("integer", "decimal"):
        return _by_size(reading, name, _grid(reading, name, schema))
    if requested.statistic != "range":
        raise RequestError(
            f"Column {name!r} does not contain numbers, so kohort cannot publish its mean. "
            f"Set statistic to range (--statistic {name}=range)."
        )
    if requested.step is not None:
        dates = "contains dates, whose ranges always end with a month or a year"
        what = dates if reading.numbers is not None else "does not contain numbers"
        raise RequestError(f"Column {name!r} {what}. It cannot have a step. Remove its step (--step).")
    return label_coding(held) if reading.numbers is None else _by_month(reading, name)


def made_axis(held: Distinct, requested: Column, rule: Rule) -> TreeAxis:
    """Return the axis of a tree that a rule creates from the values."""
    reading = read_values(held, requested) if isinstance(rule, (Date, Interval)) else type_detection.TEXT
    texts = _texts(held.values, held.name).to_pylist()
    return TreeAxis(held.name, rule.tree(ColumnValues(held.name, texts, held.counts[:-1], reading)), rule.describe())


def on_tree(held: Distinct, requested: Column, axis: TreeAxis) -> Coding:
    """Return the codes of values that must all be leaves of a tree."""
    name = axis.name
    if requested.statistic != "range":
        raise RequestError(
            f"Column {name!r} has a tree, so kohort cannot publish its mean. "
            f"Set statistic to range (--statistic {name}=range), or remove the tree (--hierarchy)."
        )
    if requested.step is not None:
        raise RequestError(f"Column {name!r} has a tree and a step. Remove one of them (--hierarchy or --step).")
    code_of = {leaf: code for code, leaf in enumerate(axis.tree.leaves, start=1)}
    codes = np.array([code_of.get(text, -1) for text in _texts(held.values, name).to_pylist()], np.int64)
    absent = codes < 0
    if absent.any():
        advice = "Add each to the rule in hierarchy." if axis.rule else "Add a line for each to the tree (value;wider value;*)."
        raise RequestError(
            f"Column {name!r}: {counted(int(absent.sum()), 'distinct value')} not in its tree, "
            f"found in {counted(held.rows(absent), 'row')}{held.where(absent)}. {advice} "
            "If such a value means 'unknown', name it in missing (--missing 'n/a')."
        )
    return Coding(axis, np.append(codes, 0))


def by_bytes(values: pa.Array, name: str) -> tuple[pa.Array, NDArray[np.int64]]:
    """Return distinct values as text, sorted by their UTF-8 bytes, and the code of each. The last code is for missing values."""
    texts = _texts(values, name)
    order = pc.array_sort_indices(texts)
    codes = np.zeros(len(texts) + 1, np.int64)
    codes[order.to_numpy()] = np.arange(1, len(texts) + 1)
    return texts.take(order), codes


def _texts(values: pa.Array, name: str) -> pa.Array:
    """Return values as text."""
    try:
        return as_text(values)
    except pa.ArrowException:
        raise RequestError(
            f"Column {name!r} has type {values.type}, which kohort cannot convert to text. "
            f"Convert the column to text, or give it the role drop (--drop {name}) instead of its present role."
        ) from None


def read_values(held: Distinct, requested: Column) -> Reading:
    """Return the type of the values, declared or detected, and their numbers. Raise an error if they do not fit the type.

    Also raise an error if the values fit two formats.
    """
    reading = type_detection.read(held.values, requested.value_type, requested.format)
    if reading is None:
        raise RequestError(
            f"Column {held.name!r} has type {held.values.type} and cannot be read as {requested.value_type}. "
            "Set another type (--type), or remove this one."
        )
    if reading.unfit is not None:
        if requested.format is not None:
            advice = "If the column has no dates, leave out its format. Otherwise correct these values."
        else:
            advice = f"Correct these values, or set type to text (--type {held.name}=text)."
        raise RequestError(
            f"Column {held.name!r}: in {counted(held.rows(reading.unfit), 'row')} the value is {reading.unfit_because}"
            f"{held.where(reading.unfit)}. {advice} If such a value means 'unknown', name it in missing (--missing 'n/a')."
        )
    if reading.question:
        raise RequestError(f"Column {held.name!r} {reading.question}.")
    return reading


def _by_month(reading: Reading, name: str) -> Coding:
    """Encode dates with one code per month, because a release never distinguishes dates of the same month."""
    months, rank = np.unique(calendars.month_of(np.asarray(reading.numbers)), return_inverse=True)
    return Coding(DateAxis.of_months(name, months, reading.format or calendars.ISO), np.append(rank + 1, 0))


def _grid(reading: Reading, name: str, schema: Schema) -> Grid | None:
    """Return the grid on which the ranges of a column of numbers end, or None. Raise an error if the numbers do not allow it."""
    whole = reading.value_type == "integer"
    step = schema.step(name, whole=whole)
    if step is None:
        return None
    grid, numbers = Grid(step), np.asarray(reading.numbers)
    if whole and step != step.to_integral_value():
        raise RequestError(
            f"Column {name!r} contains whole numbers, so its ranges cannot be {grid.describe()}. "
            f"Set a whole step (--step {name}=5), or set type to decimal (--type {name}=decimal)."
        )
    if not grid.suits(numbers):
        other = "smaller" if numbers.dtype.kind == "i" else "larger or rounder"
        raise RequestError(
            f"Column {name!r}: ranges {grid.describe()} would end at numbers that 64 bits cannot store exactly. "
            f"Set a {other} step (--step {name}=...), or rescale the column."
        )
    return grid


def _by_size(reading: Reading, name: str, grid: Grid | None) -> Coding:
    """Encode numbers in their order, one code per number, or as bins if there are too many distinct numbers."""
    numbers = np.asarray(reading.numbers)
    ordered, rank = np.unique(numbers, return_inverse=True)
    with np.errstate(over="ignore"):
        endless = len(ordered) > 0 and ordered.dtype.kind == "f" and np.isinf(ordered[-1] - ordered[0])
    if endless:
        raise RequestError(
            f"Column {name!r}: its range is too large for a 64-bit number. "
            f"Set type to text (--type {name}=text), or rescale the column."
        )
    if len(ordered) <= MOST_NUMBERS:
        return Coding(NumericAxis(name, ordered, ordered, comma=reading.comma, grid=grid), np.append(rank + 1, 0))
    offsets = difference(ordered, np.broadcast_to(ordered[:1], ordered.shape))
    share = offsets / offsets[-1]
    bins, code_of_value = np.unique(np.minimum((share * MOST_NUMBERS).astype(np.int64), MOST_NUMBERS - 1), return_inverse=True)
    borders = np.searchsorted(code_of_value, np.arange(len(bins) + 1))
    axis = NumericAxis(name, ordered[borders[:-1]], ordered[borders[1:] - 1], binned=True, comma=reading.comma, grid=grid)
    return Coding(axis, np.append(code_of_value[rank] + 1, 0), np.append(numbers, 0))
