"""Read tables of any size batch by batch. The rows are the same as when the whole table is read.

A stream can be read several times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import pyarrow as pa

from kohort.tables import frames
from kohort.tables.files import file_sets
from kohort.tables.files.file_format import FileFormat
from kohort.tables.files.read_errors import damaged
from kohort.tables.files.source_file import SourceFile
from kohort.tables.files.table_size import BYTES_AT_ONCE, ROWS_AT_ONCE, growing_bytes
from kohort.tables.frames import FrameLibrary

_Rows = TypeVar("_Rows", pa.Table, pa.RecordBatch)

Origin = FileFormat | FrameLibrary
"""The origin of a table: files of a format, or a data frame of a library."""


@dataclass(frozen=True)
class Stream:
    """A table that may be larger than the memory."""

    schema: pa.Schema
    origin: Origin
    rows: int | None
    """The number of rows; None if the rows must be read to count them."""
    size_in_memory: int
    """Estimated bytes of the whole table in memory. The estimate is more often too high than too low."""
    _start: Callable[[pa.Schema], Iterator[pa.RecordBatch]] = field(repr=False)
    column_buffer: int = 0
    """Bytes that a reader needs for each column in addition to the rows."""

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Return all rows in order. Every call starts at the first row. Without `columns`, all columns are read.

        A batch has at most ROWS_AT_ONCE rows and about BYTES_AT_ONCE bytes. Its columns have the order of `columns`. Raises a
        RequestError if the file is damaged, or was changed after it was opened.
        """
        return self._start(self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns]))


def of_table(table: pa.Table, origin: Origin) -> Stream:
    """Return a stream of a table that is already in memory. Its cells are not copied."""

    def start(schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for batch in table.select(schema.names).to_batches(max_chunksize=ROWS_AT_ONCE):
            yield from _small(batch)

    return Stream(table.schema, origin, table.num_rows, table.nbytes, start)


def of_source_files(source_files: Sequence[SourceFile]) -> Stream:
    """Return a stream of the rows of all files, in the order of the files.

    Raises a RequestError before any row is read if the columns of the files differ.
    """
    sizes = [source_file.table_size() for source_file in source_files]
    if len(source_files) > 1:
        file_sets.require_same_columns(source_files, [size.schema for size in sizes])

    def start(schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for source_file in source_files:
            yield from read_source_file(source_file, schema)

    rows = [size.rows for size in sizes if size.rows is not None]
    known = sum(rows) if len(rows) == len(sizes) else None
    stored = sizes[0].schema
    doubled = 2 if any("halffloat" in str(value_type) for value_type in stored.types) else 1
    in_memory, buffer = doubled * sum(size.size_in_memory for size in sizes), max(size.column_buffer for size in sizes)
    return Stream(_plain_schema(stored, source_files[0].title), source_files[0].file_format, known, in_memory, start, buffer)


def read_source_file(source_file: SourceFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one file, with these columns."""
    with source_file.reading():
        for batch in source_file.batches(schema.names):
            for small in _small(plain(batch, schema, source_file.title)):
                yield _copied(small) if source_file.file_format.is_memory_mapped else small
                source_file.require_unchanged()  # reading on in a mapped file that became shorter would end the process


def _copied(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Copy the rows, so that they do not keep the large batch in memory that they are part of. They must be validated first."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return pa.ipc.open_stream(sink.getvalue()).read_next_batch()


def _small(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield a batch in parts of at most about BYTES_AT_ONCE bytes."""
    if batch.num_rows < 2 or growing_bytes(batch) <= BYTES_AT_ONCE:
        yield batch
        return
    half = batch.num_rows // 2
    yield from _small(batch.slice(0, half))
    yield from _small(batch.slice(half))


def plain(rows: _Rows, schema: pa.Schema | None = None, title: str = "The table") -> _Rows:
    """Return rows without metadata, in nested types too. Text views (of polars) and half floats become common types.

    `title` is the table's name in messages.
    """
    schema = _plain_schema(rows.schema, title) if schema is None else schema
    try:
        rows.validate(full=True)
        return rows if schema.equals(rows.schema, check_metadata=True) else rows.cast(schema)
    except pa.ArrowException:
        raise damaged(title) from None


def _plain_schema(schema: pa.Schema, title: str) -> pa.Schema:
    def common(value_type: pa.DataType) -> pa.DataType:
        if pa.types.is_string_view(value_type):
            return pa.string()
        return pa.float32() if pa.types.is_float16(value_type) else value_type

    try:
        return pa.schema([(column.name, frames.rebuilt(column.type, common)) for column in schema])
    except UnicodeError:  # a name in a nested type is not UTF-8
        raise damaged(title) from None
