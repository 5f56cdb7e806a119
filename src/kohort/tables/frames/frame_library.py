"""What all libraries of data frames share: conversion column by column, errors without cell values, plain types."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kohort.errors import MachineError, RequestError

READ_ERRORS = (pa.ArrowException, TypeError, ValueError, OverflowError)  # of a column that Arrow cannot hold


@dataclass(frozen=True)
class FrameLibrary:
    """The library and class of a data frame, and how a release becomes such a data frame again."""

    name: str
    make: Callable[[pa.Table, Collection[str]], Any]
    """See `give_back`."""
    readable_again: bool = True
    """Whether a data frame can be read twice. A stream cannot, so its release is audited before it is given back."""

    def __repr__(self) -> str:  # without `make`, which may hold the values of categories
        return f"FrameLibrary({self.name!r})"


def is_of(source: Any, library: str, *names: str) -> bool:
    """Whether this is an object of a library. A library that was never imported has made no object."""
    module = sys.modules.get(library)
    return isinstance(source, tuple(getattr(module, name) for name in names if hasattr(module, name)))


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn any error into one of kohort's, without the library's message, which may quote cells."""
    try:
        yield
    except (MemoryError, pa.ArrowMemoryError):
        raise MachineError(f"The {what} does not fit into memory.") from None
    except Exception as error:  # noqa: BLE001 - a query or a stream may raise anything
        message = f"The {what} could not be read ({type(error).__name__}). Run it by itself to see why."
        raise RequestError(message) from None


def column_by_column(columns: Mapping[str, Any], convert: Callable[[str, Any], pa.Array | pa.ChunkedArray]) -> pa.Table:
    """An Arrow table of a frame's columns. One error names all columns that Arrow cannot hold."""
    made: dict[str, pa.Array | pa.ChunkedArray] = {}
    problems: list[str] = []
    for name, column in columns.items():
        try:
            made[name] = convert(name, column)
        except RequestError as error:
            problems += error.problems
        except (MemoryError, pa.ArrowMemoryError):
            raise MachineError("The data frame does not fit into memory.") from None
        except READ_ERRORS:
            problems.append(unfit(name, column.dtype))
    if problems:
        raise RequestError(problems)
    return pa.table(made)


def unfit(name: str, column_type: Any) -> str:
    """The message for a column that Arrow cannot hold."""
    type_name = str(column_type).partition("(")[0]  # the rest may be the values of an Enum
    return f"Column {name!r} of type {type_name} does not fit into an Arrow table. Cast it to a plainer type, or leave it out."


def without_dictionaries(data_type: pa.DataType) -> pa.DataType:
    """The type of the same cells without dictionaries, in nested types too."""
    return rebuilt(data_type, lambda inner: inner.value_type if pa.types.is_dictionary(inner) else inner)


def rebuilt(data_type: pa.DataType, change: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """A type with every type inside it changed. Drops the metadata of nested fields: polars lists all values of an Enum there."""

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
    """A table without view types, and without the metadata of nested fields."""
    types = [rebuilt(field.type, _without_views) for field in table.schema]
    if all(data_type.equals(field.type, check_metadata=True) for data_type, field in zip(types, table.schema, strict=True)):
        return table
    try:
        table.validate(full=True)  # a cast does not check cells
        columns = [cast(column, data_type) for column, data_type in zip(table.columns, types, strict=True)]
    except pa.ArrowException:
        raise RequestError("The table holds text that is not UTF-8, or is damaged. Mend it where it was made.") from None
    return pa.table(columns, names=table.column_names)


def _without_views(data_type: pa.DataType) -> pa.DataType:
    """A type without views: Arrow cannot select rows of them."""
    if pa.types.is_dictionary(data_type):
        return pa.dictionary(data_type.index_type, _without_views(data_type.value_type), data_type.ordered)
    views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    return views.get(data_type, data_type)


def cast(column: pa.ChunkedArray, data_type: pa.DataType) -> pa.ChunkedArray:
    return column if data_type.equals(column.type, check_metadata=True) else column.cast(data_type)


def values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return cast(column, without_dictionaries(column.type))
