"""Data frames in, the same kind out: pandas, polars, DuckDB, pyarrow, and what else narwhals knows or streams Arrow.

No library is imported unless the object at hand comes from it. Whatever a library says of a failure may quote cells, so that
none of it is passed on.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

import pyarrow as pa

from kohort.tables.frames.arrow_table import take_arrow, take_other
from kohort.tables.frames.frame_library import FrameLibrary, is_of, plain, rebuilt, without_dictionaries

__all__ = ["FrameLibrary", "give_back", "index_names", "rebuilt", "take_in", "without_dictionaries"]


def take_in(source: Any, wanted: Collection[str] = ()) -> tuple[pa.Table, FrameLibrary] | None:
    """A data frame as an Arrow table, and its kind; None for what is no data frame.

    The index of a pandas frame is left behind, but for the levels that `wanted` names: they become its first columns.
    """
    if isinstance(source, (str, os.PathLike)):  # the most common; narwhals need not be loaded to say so
        return None
    if isinstance(source, (pa.Table, pa.RecordBatch, pa.RecordBatchReader)):
        taken = take_arrow(source)
    elif is_of(source, "pandas", "DataFrame"):
        from kohort.tables.frames.pandas_frame import take_pandas

        taken = take_pandas(source, wanted)
    elif is_of(source, "polars", "DataFrame", "LazyFrame"):
        from kohort.tables.frames.polars_frame import take_polars

        taken = take_polars(source)
    elif is_of(source, "duckdb", "DuckDBPyRelation"):
        from kohort.tables.frames.duckdb_relation import take_duckdb

        taken = take_duckdb(source)
    elif is_of(source, "narwhals", "DataFrame", "LazyFrame"):
        return _take_wrapped(source, wanted)
    else:
        other = take_other(source)
        if other is None:
            return None
        taken = other
    table, kind = taken
    return plain(table), kind


def give_back(table: pa.Table, kind: FrameLibrary, carried: Collection[str]) -> Any:
    """A release as a frame of the kind that its source was.

    `carried` names the columns that are published as they were: they get the type they had, less the categories that no
    row of the release holds. The others hold texts; they are categories where the source's column of that name was one.
    """
    return kind.make(table, carried)


def index_names(source: Any) -> list[str]:
    """The names by which a job may ask for levels of a pandas frame's index; none for the index that every frame has."""
    native = source.to_native() if is_of(source, "narwhals", "DataFrame", "LazyFrame") else source
    if not is_of(native, "pandas", "DataFrame"):
        return []
    from kohort.tables.frames.pandas_frame import levels

    return list(levels(native))


def _take_wrapped(source: Any, wanted: Collection[str]) -> tuple[pa.Table, FrameLibrary] | None:
    """A frame that is wrapped by narwhals is given back wrapped."""
    taken = take_in(source.to_native(), wanted)
    if taken is None:
        return None

    def wrap(table: pa.Table, carried: Collection[str]) -> Any:
        import narwhals as nw

        return nw.from_native(give_back(table, inner, carried))

    table, inner = taken
    return table, FrameLibrary(f"narwhals {inner.name}", wrap, inner.readable_again)
