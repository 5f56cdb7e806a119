"""Code shared by all data frame libraries: conversion column by column, errors without cell values, common types."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kohort.errors import MachineError, RequestError
from kohort.tables.files.read_errors import damaged

READ_ERRORS = (pa.ArrowException, TypeError, ValueError, OverflowError)  # raised for a column that Arrow cannot store


@dataclass(frozen=True)
class FrameLibrary:
    """The library and class of a data frame, and the function that converts a release to this class."""

    name: str
    make: Callable[[pa.Table, Collection[str]], Any]
    """See `give_back`."""
    readable_again: bool = True
    """Whether the returned data frame can be read twice. A stream cannot, so its release is audited before it is returned."""

    def __repr__(self) -> str:  # without `make`, which may contain the values of categories
        return f"FrameLibrary({self.name!r})"


def is_of(source: Any, library: str, *names: str) -> bool:
    """Whether `source` is an object of one of these classes of a library. The library is not imported for this check."""
    module = sys.modules.get(library)
    return isinstance(source, tuple(getattr(module, name) for name in names if hasattr(module, name)))


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Convert any error into an error of kohort, without the library's message, which may quote cells."""
    try:
        yield
    except (MemoryError, pa.ArrowMemoryError):
        raise MachineError(
            f"The {what} does not fit into memory. Save it as a Parquet file and give the path of this file, "
            "or use a machine with more memory."
        ) from None
    except Exception as error:  # noqa: BLE001 - a query or a stream may raise any error
        message = f"kohort could not read the {what} ({type(error).__name__}). Evaluate it without kohort to see the full error."
        raise RequestError(message) from None


def column_by_column(columns: Mapping[str, Any], convert: Callable[[str, Any], pa.Array | pa.ChunkedArray]) -> pa.Table:
    """Return an Arrow table of a frame's columns. One error names all columns that Arrow cannot store."""
    made: dict[str, pa.Array | pa.ChunkedArray] = {}
    problems: list[str] = []
    for name, column in columns.items():
        try:
            made[name] = convert(name, column)
        except RequestError as error:
            problems += error.problems
        except (MemoryError, pa.ArrowMemoryError):
            raise MachineError(
                "The data frame does not fit into memory. Save it as a Parquet file and give the path of this file, "
                "or use a machine with more memory."
            ) from None
        except READ_ERRORS:
            problems.append(unsupported_type(name, column.dtype))
    if problems:
        raise RequestError(problems)
    return pa.table(made)


def unsupported_type(name: str, column_type: Any) -> str:
    """Return the message for a column that Arrow cannot store."""
    type_name = str(column_type).partition("(")[0]  # the rest may contain the values of an Enum
    return (
        f"Column {name!r} has the type {type_name}, which Arrow cannot store. Convert the column to text or numbers, "
        "or remove it from the table."
    )


def without_dictionaries(data_type: pa.DataType) -> pa.DataType:
    """Return the type of the same cells without dictionaries, in nested types too."""
    return rebuilt(data_type, lambda inner: inner.value_type if pa.types.is_dictionary(inner) else inner)


def rebuilt(data_type: pa.DataType, change: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """Apply `change` to every type inside a type. Drop metadata of nested fields: polars lists all values of an Enum there."""

    def inner(field: pa.Field) -> pa.Field:
        return pa.field(field.name, rebuilt(field.type, change), field.nullable)

    if pa.types.is_struct(data_type):
        return pa.struct([inner(field) for field in data_type])
    if pa.types.is_map(data_type):
        return pa.map_(inner(data_type.key_field), inner(data_type.item_field), data_type.keys_sorted)
    if pa.types.is_fixed_size_list(data_type):
        return pa.list_(inner(data_type.value_field), data_type.list_size)
    if pa.types.is_list(data_type):
        return pa.list_(inner(data_type.value_field))
    return pa.large_list(inner(data_type.value_field)) if pa.types.is_large_list(data_type) else change(data_type)


def plain(table: pa.Table) -> pa.Table:
    """Return a table without view types and without the metadata of nested fields."""
    types = [rebuilt(field.type, _without_views) for field in table.schema]
    if all(data_type.equals(field.type, check_metadata=True) for data_type, field in zip(types, table.schema, strict=True)):
        return table
    try:
        table.validate(full=True)  # a cast does not check the cells
        columns = [cast(column, data_type) for column, data_type in zip(table.columns, types, strict=True)]
    except pa.ArrowException:
        raise damaged() from None
    return pa.table(columns, names=table.column_names)


def _without_views(data_type: pa.DataType) -> pa.DataType:
    """Return a type without views, because Arrow cannot select rows of views."""
    if pa.types.is_dictionary(data_type):
        return pa.dictionary(data_type.index_type, _without_views(data_type.value_type), data_type.ordered)
    views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    return views.get(data_type, data_type)


def cast(column: pa.ChunkedArray, data_type: pa.DataType) -> pa.ChunkedArray:
    return column if data_type.equals(column.type, check_metadata=True) else column.cast(data_type)


def values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return cast(column, without_dictionaries(column.type))
