"""Columns to codes, nowhere else. Distinct values are found once, put in their axis' order, and rows look them up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kohort import calendars, kinds
from kohort.axes import Axis, DateAxis, Grid, NumericAxis, Points, TreeAxis, code_dtype, difference
from kohort.errors import RequestError
from kohort.hierarchies import flat
from kohort.kinds import Numbers, Reading
from kohort.schema import Column, Schema
from kohort.tables import as_text
from kohort.tree_builders import Date, Interval, Rule, Values

MOST_NUMBERS = 65_535
"""Distinct numbers that get a code each (with 0 for missing they fill 16 bits); beyond, codes are equal-width bins."""

_NO_TEXT = (pa.types.is_nested, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_duration)


def encode(table: pa.Table, schema: Schema, columns: Sequence[str] | None = None) -> Points:
    """Columns of a table as points: the quasi-identifiers, if none are named."""
    names = schema.quasi if columns is None else columns
    axes: list[Axis] = []
    codes_of: list[NDArray[np.int64]] = []
    exact: dict[int, Numbers] = {}
    problems: list[str] = []
    for number, name in enumerate(names):
        try:
            axis, codes, values = _encode_column(table.column(name), name, schema)
        except RequestError as error:
            problems += error.problems
            continue
        axes.append(axis)
        codes_of.append(codes)
        if values is not None:
            exact[number] = values
    if problems:
        raise RequestError(problems)
    points = np.empty((table.num_rows, len(axes)), code_dtype(axes))
    for number, column in enumerate(codes_of):
        points[:, number] = column
    return Points(points, tuple(axes), tuple(schema.columns[name].weight for name in names), exact)


def encode_label(table: pa.Table, schema: Schema, name: str, weight: float) -> Points:
    """A column whose values are only equal or not."""
    values, places = distinct(table.column(name), name, schema.missing)
    leaves, codes = by_bytes(values, name)
    axis = TreeAxis(name, flat(leaves.to_pylist()))
    points = codes[places][:, np.newaxis].astype(code_dtype([axis]))
    return Points(points, (axis,), (weight,))


def _encode_column(column: pa.ChunkedArray, name: str, schema: Schema) -> tuple[Axis, NDArray[np.int64], Numbers | None]:
    """The axis of one column, the code of each row, and the true values where the codes are bins."""
    values, places = distinct(column, name, schema.missing)
    asked = schema.columns[name]
    if name in schema.trees:
        return on_tree(values, places, asked, TreeAxis(name, schema.trees[name]))
    if isinstance(asked.hierarchy, Rule):
        return on_tree(values, places, asked, made_axis(values, places, name, asked, asked.hierarchy))
    reading = read_values(values, places, name, asked)
    if reading.numbers is not None and reading.kind in ("integer", "decimal"):
        return _by_size(reading, places, name, _grid(reading, name, schema))
    if asked.statistic != "range":
        raise RequestError(f"Column {name!r} does not hold numbers, so it has no mean. Publish its range.")
    if asked.step is not None:
        what = "holds dates, whose ranges end with months and years" if reading.numbers is not None else "does not hold numbers"
        raise RequestError(f"Column {name!r} {what}, so it has no step. Leave its step out.")
    if reading.numbers is not None:
        return _by_month(reading, places, name)
    leaves, codes = by_bytes(values, name)
    return TreeAxis(name, flat(leaves.to_pylist())), codes[places], None


def distinct(column: pa.ChunkedArray, name: str, missing: Sequence[str]) -> tuple[pa.Array, NDArray[np.int64]]:
    """The distinct present values, and for each row the place of its own among them; -1 for missing."""
    kind = column.type
    if any(test(kind) for test in _NO_TEXT) or isinstance(kind, pa.BaseExtensionType):
        raise RequestError(f"Column {name!r} of type {kind} has no values that can be compared as text or number.")
    if pa.types.is_null(kind):
        column = column.cast(pa.string())
    if pa.types.is_dictionary(kind):  # one from outside may hold a value twice
        column = column.cast(kind.value_type)
    column = column.dictionary_encode()
    if not _one_dictionary(column):
        column = column.unify_dictionaries()
    if not column.num_chunks:
        return pa.nulls(0, pa.string()), np.empty(0, np.int64)
    values = column.chunk(0).dictionary
    places = np.concatenate(
        [chunk.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False) for chunk in column.chunks]
    )
    gone = values.is_null(nan_is_null=pa.types.is_floating(values.type)).to_numpy(zero_copy_only=False)
    is_text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    if is_text or missing:
        tokens = pc.is_in(_texts(values, name), pa.array(["", *missing]))
        gone = gone | tokens.to_numpy(zero_copy_only=False)
    keep = ~gone
    renumbered = np.full(len(values) + 1, -1, np.int64)
    renumbered[:-1][keep] = np.arange(np.count_nonzero(keep))
    return values.filter(pa.array(keep)), renumbered[places]


def _one_dictionary(column: pa.ChunkedArray) -> bool:
    """Whether all chunks share one dictionary, as Arrow makes them; unifying would hash every value again."""
    dictionaries = (chunk.dictionary.buffers() for chunk in column.chunks)
    places = {tuple(buffer.address if buffer is not None else 0 for buffer in buffers) for buffers in dictionaries}
    return len(places) <= 1


def made_axis(values: pa.Array, places: NDArray[np.int64], name: str, asked: Column, rule: Rule) -> TreeAxis:
    """The axis of a tree that a rule makes from the values."""
    reading = read_values(values, places, name, asked) if isinstance(rule, (Date, Interval)) else kinds.TEXT
    counts = np.bincount(places[places >= 0], minlength=len(values))
    return TreeAxis(name, rule.tree(Values(name, _texts(values, name).to_pylist(), counts, reading)), rule.describe())


def on_tree(values: pa.Array, places: NDArray[np.int64], asked: Column, axis: TreeAxis) -> tuple[Axis, NDArray[np.int64], None]:
    name = axis.name
    if asked.statistic != "range":
        raise RequestError(f"Column {name!r} has a tree, so it has no mean. Publish its range.")
    if asked.step is not None:
        raise RequestError(f"Column {name!r} has a tree, so it has no step. Leave out one of the two.")
    code_of = {leaf: code for code, leaf in enumerate(axis.tree.leaves, start=1)}
    codes = np.array([code_of.get(text, -1) for text in _texts(values, name).to_pylist()] + [0], np.int64)
    absent = codes[places] < 0
    if absent.any():
        raise RequestError(
            f"Column {name!r}: {np.count_nonzero(codes < 0)} distinct value(s) in {np.count_nonzero(absent)} row(s) are not in "
            f"its tree, the first at row {int(np.argmax(absent)) + 1}. Add them to the tree, or name them with --missing."
        )
    return axis, codes[places], None


def by_bytes(values: pa.Array, name: str) -> tuple[pa.Array, NDArray[np.int64]]:
    """Distinct values as text in the order of their UTF-8 bytes, and the code of each; the last entry is for missing."""
    texts = _texts(values, name)
    order = pc.array_sort_indices(texts)
    codes = np.zeros(len(texts) + 1, np.int64)
    codes[order.to_numpy()] = np.arange(1, len(texts) + 1)
    return texts.take(order), codes


def _texts(values: pa.Array, name: str) -> pa.Array:
    try:
        return as_text(values)
    except pa.ArrowException:
        raise RequestError(f"Column {name!r} of type {values.type} cannot be read as text.") from None


def read_values(values: pa.Array, places: NDArray[np.int64], name: str, asked: Column) -> Reading:
    """What the values are, as declared or found; refused where they are something else or could be two things."""
    reading = kinds.read(values, asked.kind, asked.format)
    if reading is None:
        raise RequestError(f"Column {name!r} of type {values.type} cannot be declared {asked.kind}.")
    if reading.unfit is not None:
        _refuse(np.append(reading.unfit, False)[places], name, reading.unfit_because)
    if reading.question:
        raise RequestError(f"Column {name!r} {reading.question}.")
    return reading


def _refuse(rows: NDArray[np.bool_], name: str, what: str) -> None:
    raise RequestError(
        f"Column {name!r}: {np.count_nonzero(rows)} value(s) are {what}, the first at row {int(np.argmax(rows)) + 1}. "
        "Declare it text, mend it, or name what stands for missing with --missing."
    )


def _by_month(reading: Reading, places: NDArray[np.int64], name: str) -> tuple[Axis, NDArray[np.int64], None]:
    """One code per month: a release never tells dates of one month apart."""
    months, rank = np.unique(calendars.month_of(np.asarray(reading.numbers)), return_inverse=True)
    return DateAxis.of_months(name, months, reading.format or calendars.ISO), np.append(rank + 1, 0)[places], None


def _grid(reading: Reading, name: str, schema: Schema) -> Grid | None:
    """Where the ranges of a column of numbers end, unless they are tight; refused where the numbers do not allow it."""
    whole = reading.kind == "integer"
    step = schema.step(name, whole=whole)
    if step is None:
        return None
    grid, numbers = Grid(step), np.asarray(reading.numbers)
    if whole and step != step.to_integral_value():
        raise RequestError(
            f"Column {name!r} holds whole numbers, so its ranges cannot end {grid.describe()}. "
            f"Give it a whole step (--step {name}=5), or declare it decimal."
        )
    if not grid.suits(numbers):
        other = "smaller" if numbers.dtype.kind == "i" else "larger or rounder"
        raise RequestError(
            f"Column {name!r}: {grid.describe()} its ranges would end at numbers that 64 bits do not hold exactly. "
            f"Give it a {other} step (--step {name}=...), or rescale it."
        )
    return grid


def _by_size(
    reading: Reading, places: NDArray[np.int64], name: str, grid: Grid | None
) -> tuple[Axis, NDArray[np.int64], Numbers | None]:
    numbers = np.asarray(reading.numbers)
    ordered, rank = np.unique(numbers, return_inverse=True)
    with np.errstate(over="ignore"):
        endless = len(ordered) > 0 and ordered.dtype.kind == "f" and np.isinf(ordered[-1] - ordered[0])
    if endless:
        raise RequestError(f"Column {name!r}: its range is beyond what a 64-bit number holds. Declare it text, or rescale it.")
    if len(ordered) <= MOST_NUMBERS:
        codes = np.append(rank + 1, 0)
        return NumericAxis(name, ordered, ordered, comma=reading.comma, grid=grid), codes[places], None
    offsets = difference(ordered, np.broadcast_to(ordered[:1], ordered.shape))
    share = offsets / offsets[-1]
    bins, code_of_value = np.unique(np.minimum((share * MOST_NUMBERS).astype(np.int64), MOST_NUMBERS - 1), return_inverse=True)
    borders = np.searchsorted(code_of_value, np.arange(len(bins) + 1))
    axis = NumericAxis(name, ordered[borders[:-1]], ordered[borders[1:] - 1], binned=True, comma=reading.comma, grid=grid)
    codes = np.append(code_of_value[rank] + 1, 0)
    return axis, codes[places], np.append(numbers, 0)[places]


# --- canonical order


def canonical_order(points: Points, table: pa.Table, schema: Schema, seed: int) -> NDArray[np.int64]:
    """Rows by their codes (true values where binned), equal ones by a hash of the seed and all that is carried with them.

    Rows that are still equal cannot be told apart in the release either, so their order does not matter.
    """
    keys: list[NDArray[np.generic]] = [_carried_hash(table, schema, seed)]
    for axis in reversed(range(len(points.axes))):
        keys += [points.exact[axis]] if axis in points.exact else []
        keys.append(np.ascontiguousarray(points.codes[:, axis]))
    return np.lexsort(keys)


def _carried_hash(table: pa.Table, schema: Schema, seed: int) -> NDArray[np.uint64]:
    state = np.full(table.num_rows, seed, np.uint64)
    for name in sorted(schema.named("sensitive", "other", "unit")):  # not in the file's order: that is not part of the job
        state = splitmix64(np.bitwise_xor(state, _ranks(table.column(name)).astype(np.uint64)))
    return state


def _ranks(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Each row's value as its rank among the column's, by the bytes of its text; 0 for missing."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())  # a time zone that nobody knows has no text
    try:
        texts = as_text(column)
    except pa.ArrowException:  # lists, bytes and the like
        texts = pa.chunked_array([pa.array([None if cell is None else repr(cell) for cell in column.to_pylist()], pa.string())])
    encoded = texts.combine_chunks().dictionary_encode()
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    ranks = np.zeros(len(encoded.dictionary) + 1, np.int64)
    ranks[pc.array_sort_indices(encoded.dictionary).to_numpy()] = np.arange(1, len(ranks))
    places: NDArray[np.int32] = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return ranks[places]


def own_seed(seed: int, number: int) -> int:
    """The seed of one block, sweep, ... of a run: 63 bits."""
    mixed = splitmix64(splitmix64(np.array([seed], np.uint64)) ^ np.uint64(number))
    return int(mixed[0] >> np.uint64(1))


def splitmix64(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Steele, Lea, Flood 2014: one step of a 64-bit mixing generator, as a hash. The same on every machine."""
    with np.errstate(over="ignore"):
        z = state + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
