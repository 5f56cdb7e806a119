"""Tables of pyarrow, other objects that provide an Arrow stream, and frames of other libraries that narwhals supports."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from kohort.tables.frames.frame_library import READ_ERRORS, FrameLibrary, cast, reading, rebuilt, values


def take_arrow(source: Any) -> tuple[pa.Table, FrameLibrary]:
    types = {field.name: rebuilt(field.type, lambda data_type: data_type) for field in source.schema}
    frame_class = type(source) if isinstance(source, (pa.RecordBatch, pa.RecordBatchReader)) else pa.Table
    if isinstance(source, pa.RecordBatchReader):
        with reading("record batch reader"):
            source = source.read_all()
    table = pa.Table.from_batches([source]) if isinstance(source, pa.RecordBatch) else source
    return table, FrameLibrary(
        f"pyarrow {frame_class.__name__}", partial(_to_arrow, types, frame_class), frame_class is not pa.RecordBatchReader
    )


def _to_arrow(types: Mapping[str, pa.DataType], frame_class: Any, table: pa.Table, carried: Collection[str]) -> Any:
    columns = [
        cast(column, types[name]) if name in carried else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    table = pa.table(columns, names=table.column_names)
    if frame_class is pa.RecordBatch:
        return pa.RecordBatch.from_struct_array(table.to_struct_array().combine_chunks())
    return table.to_reader() if frame_class is pa.RecordBatchReader else table


def take_other(source: Any) -> tuple[pa.Table, FrameLibrary] | None:
    import narwhals as nw

    frame = nw.from_native(source, pass_through=True)
    if isinstance(frame, (nw.DataFrame, nw.LazyFrame)):
        lazy, library = isinstance(frame, nw.LazyFrame), frame.implementation
        with reading(f"{library.value} frame"):
            table = frame.collect("pyarrow").to_native() if isinstance(frame, nw.LazyFrame) else frame.to_arrow()
        return table, FrameLibrary(f"{library.value} {type(source).__name__}", partial(_to_other, library, lazy))
    if not hasattr(source, "__arrow_c_stream__"):
        return None
    try:
        reader = pa.RecordBatchReader.from_stream(source)
    except READ_ERRORS:  # a series or an array, not a table
        return None
    with reading("Arrow stream"):
        return take_arrow(reader.read_all())


def _to_other(library: Any, lazy: bool, table: pa.Table, carried: Collection[str]) -> Any:
    import narwhals as nw

    columns = [
        column if name in carried else values(column) for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    plain = pa.table(columns, names=table.column_names)
    try:
        if lazy:
            return nw.from_native(plain, eager_only=True).lazy(backend=library).to_native()
        return nw.from_arrow(plain, backend=library).to_native()
    except Exception:  # noqa: BLE001 - some libraries need a session (Spark). Every library reads Arrow, so return that.
        return plain
