"""Read data frames of pandas, polars, DuckDB, pyarrow and, through narwhals, other libraries. Return releases as the same class.

Each library has its own module. A library is imported only if the user's data frame comes from it. kohort does not pass on the
error messages of a library, because they may quote cells.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

import pyarrow as pa

from kohort.tables.frames.arrow_table import take_arrow, take_other
from kohort.tables.frames.frame_library import FrameLibrary, is_of, plain, rebuilt, without_dictionaries

__all__ = ["FrameLibrary", "give_back", "index_names", "rebuilt", "take_in", "without_dictionaries"]


def take_in(source: Any, role_columns: Collection[str] = ()) -> tuple[pa.Table, FrameLibrary] | None:
    """Return a data frame as an Arrow table, and its library; None if the source is not a data frame.

    The index of a pandas frame is not read, except for the levels named in `role_columns`: these become the first columns.
    """
    if isinstance(source, (str, os.PathLike)):  # the most common case, which needs no import of narwhals
        return None
    if isinstance(source, (pa.Table, pa.RecordBatch, pa.RecordBatchReader)):
        taken = take_arrow(source)
    elif is_of(source, "pandas", "DataFrame"):
        from kohort.tables.frames.pandas_frame import take_pandas

        taken = take_pandas(source, role_columns)
    elif is_of(source, "polars", "DataFrame", "LazyFrame"):
        from kohort.tables.frames.polars_frame import take_polars

        taken = take_polars(source)
    elif is_of(source, "duckdb", "DuckDBPyRelation"):
        from kohort.tables.frames.duckdb_relation import take_duckdb

        taken = take_duckdb(source)
    elif is_of(source, "narwhals", "DataFrame", "LazyFrame"):
        return _take_wrapped(source, role_columns)
    else:
        other = take_other(source)
        if other is None:
            return None
        taken = other
    table, library = taken
    return plain(table), library


def give_back(table: pa.Table, library: FrameLibrary, carried: Collection[str]) -> Any:
    """Return a release as a data frame of the same class as its source.

    `carried` names the columns that are published unchanged. They keep the type of the source, without the categories that occur
    in no row of the release. The other columns are text, or categories if the source's column of this name had categories.
    """
    return library.make(table, carried)


def index_names(source: Any) -> list[str]:
    """Return the names that a job may use for the levels of a pandas index. The default index has none."""
    native = source.to_native() if is_of(source, "narwhals", "DataFrame", "LazyFrame") else source
    if not is_of(native, "pandas", "DataFrame"):
        return []
    from kohort.tables.frames.pandas_frame import levels

    return list(levels(native))


def _take_wrapped(source: Any, role_columns: Collection[str]) -> tuple[pa.Table, FrameLibrary] | None:
    """Read a data frame of narwhals. Its release is wrapped by narwhals again."""
    taken = take_in(source.to_native(), role_columns)
    if taken is None:
        return None

    def wrap(table: pa.Table, carried: Collection[str]) -> Any:
        import narwhals as nw

        return nw.from_native(give_back(table, inner, carried))

    table, inner = taken
    return table, FrameLibrary(f"narwhals {inner.name}", wrap, inner.readable_again)
