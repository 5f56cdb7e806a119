"""What every kind of frame needs on its way in: its columns one by one, failures told without cells, plain types."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kohort.errors import MachineError, RequestError

READ_ERRORS = (pa.ArrowException, TypeError, ValueError, OverflowError)  # of a column that does not fit into Arrow


@dataclass(frozen=True)
class FrameLibrary:
    """What a table was taken from, which is what its release is given back as."""

    name: str
    make: Callable[[pa.Table, Collection[str]], Any]
    readable_again: bool = True
    """A stream is gone once it was read, so its release can be looked at only before it is given back."""

    def __repr__(self) -> str:  # types of categories hold their values, so none is shown
        return f"FrameLibrary({self.name!r})"


def is_of(source: Any, library: str, *names: str) -> bool:
    """Is this an object of a library? One that was never imported has made no object."""
    module = sys.modules.get(library)
    return isinstance(source, tuple(getattr(module, name) for name in names if hasattr(module, name)))


@contextmanager
def reading(what: str) -> Iterator[None]:
    try:
        yield
    except (MemoryError, pa.ArrowMemoryError):
        raise MachineError(f"The {what} does not fit into memory.") from None
    except Exception as error:  # noqa: BLE001 - a query or a stream runs code of any kind
        message = f"The {what} could not be read ({type(error).__name__}). Run it by itself to see why."
        raise RequestError(message) from None


def column_by_column(columns: Mapping[str, Any], convert: Callable[[str, Any], pa.Array | pa.ChunkedArray]) -> pa.Table:
    """An Arrow table of a frame's columns; every one that does not fit is told of at once."""
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


def unfit(name: str, kind: Any) -> str:
    told = str(kind).partition("(")[0]  # what follows may be the values of an Enum
    return f"Column {name!r} of type {told} does not fit into an Arrow table. Cast it to a plainer type, or leave it out."


def without_dictionaries(kind: pa.DataType) -> pa.DataType:
    """The type of the same cells with every dictionary in it resolved to its values."""
    return rebuilt(kind, lambda inner: inner.value_type if pa.types.is_dictionary(inner) else inner)


def rebuilt(kind: pa.DataType, change: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """A type with every type in it changed. Notes beside nested fields stay behind: polars lists all values of an Enum there."""

    def inner(field: pa.Field) -> pa.Field:
        return pa.field(field.name, rebuilt(field.type, change), field.nullable)

    if pa.types.is_struct(kind):
        return pa.struct([inner(field) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(inner(kind.key_field), inner(kind.item_field), kind.keys_sorted)
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(inner(kind.value_field), kind.list_size)
    if pa.types.is_list(kind):
        return pa.list_(inner(kind.value_field))
    return pa.large_list(inner(kind.value_field)) if pa.types.is_large_list(kind) else change(kind)


def plain(table: pa.Table) -> pa.Table:
    """Without views and notes beside nested fields."""
    types = [rebuilt(field.type, _without_views) for field in table.schema]
    if all(kind.equals(field.type, check_metadata=True) for kind, field in zip(types, table.schema, strict=True)):
        return table
    try:
        table.validate(full=True)  # a cast trusts what it is given
        columns = [cast(column, kind) for column, kind in zip(table.columns, types, strict=True)]
    except pa.ArrowException:
        raise RequestError("The table holds text that is not UTF-8, or is damaged. Mend it where it was made.") from None
    return pa.table(columns, names=table.column_names)


def _without_views(kind: pa.DataType) -> pa.DataType:
    """Arrow has views, but cannot take rows of them."""
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _without_views(kind.value_type), kind.ordered)
    views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    return views.get(kind, kind)


def cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    return column if kind.equals(column.type, check_metadata=True) else column.cast(kind)


def values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return cast(column, without_dictionaries(column.type))
