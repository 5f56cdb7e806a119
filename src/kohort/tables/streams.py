"""Tables batch by batch, however large they are: the rows that reading the whole table gives, as often as asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import pyarrow as pa

from kohort.errors import RequestError
from kohort.tables import frames
from kohort.tables.files import arrow_file as arrow_ipc
from kohort.tables.files import file_sets as folders
from kohort.tables.files.read_errors import NO_TABLE
from kohort.tables.files.registry import Format
from kohort.tables.files.source_file import SourceFile
from kohort.tables.files.table_size import BYTES_AT_ONCE, ROWS_AT_ONCE, growing_bytes
from kohort.tables.frames import FrameLibrary

_Rows = TypeVar("_Rows", pa.Table, pa.RecordBatch)

Origin = Format | FrameLibrary
"""Where a table came from: a file of some format, or some kind of data frame."""


@dataclass(frozen=True)
class Stream:
    """A table that need not fit into memory."""

    schema: pa.Schema
    origin: Origin
    rows: int | None
    """None if only reading tells."""
    size_in_memory: int
    """Bytes that the whole table would take, estimated rather too high than too low."""
    _start: Callable[[pa.Schema], Iterator[pa.RecordBatch]] = field(repr=False)
    column_buffer: int = 0
    """Bytes that reading holds for every column beside its rows."""

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Every row in order, from the beginning: all columns, or those named, in that order.

        A batch has at most ROWS_AT_ONCE rows and about BYTES_AT_ONCE bytes. A file that is damaged further on, or changed
        since it was opened, is refused when that shows.
        """
        return self._start(self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns]))


def of_table(table: pa.Table, origin: Origin) -> Stream:
    """A plain table that is in memory already; nothing of it is copied."""

    def start(wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
        for batch in table.select(wanted.names).to_batches(max_chunksize=ROWS_AT_ONCE):
            yield from _small(batch)

    return Stream(table.schema, origin, table.num_rows, table.nbytes, start)


def of_source_files(source_files: Sequence[SourceFile]) -> Stream:
    """Files, one after the other. Their columns must agree before any row is read."""
    shapes = [source_file.table_size() for source_file in source_files]
    if len(source_files) > 1:
        folders.require_alike(source_files, [shape.schema for shape in shapes])

    def start(wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
        for source_file in source_files:
            yield from read_source_file(source_file, wanted)

    rows = [shape.rows for shape in shapes if shape.rows is not None]
    known = sum(rows) if len(rows) == len(shapes) else None
    stored = shapes[0].schema
    doubled = 2 if any("halffloat" in str(kind) for kind in stored.types) else 1
    size, buffer = doubled * sum(shape.size for shape in shapes), max(shape.column_buffer for shape in shapes)
    return Stream(_plain_schema(stored), source_files[0].form, known, size, start, buffer)


def read_source_file(source_file: SourceFile, wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of one file, with these columns."""
    with source_file.reading():
        for batch in source_file.batches(wanted.names):
            for few in _small(plain(batch, wanted)):
                yield arrow_ipc.copied(few) if source_file.form.kind == "arrow" else few  # they may be few rows of a huge batch
                source_file.refuse_change()  # before more of it is looked at: a mapped file that shrank would end the process


def _small(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Parts of a batch, none with too many bytes."""
    if batch.num_rows < 2 or growing_bytes(batch) <= BYTES_AT_ONCE:
        yield batch
        return
    half = batch.num_rows // 2
    yield from _small(batch.slice(0, half))
    yield from _small(batch.slice(half))


def plain(rows: _Rows, schema: pa.Schema | None = None) -> _Rows:
    """Without metadata, in nested types too; text views (polars has them) and half floats in types that everyone knows."""
    schema = _plain_schema(rows.schema) if schema is None else schema
    try:
        rows.validate(full=True)
        return rows if schema.equals(rows.schema, check_metadata=True) else rows.cast(schema)
    except pa.ArrowException:
        raise RequestError(NO_TABLE) from None


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    def known(kind: pa.DataType) -> pa.DataType:
        return pa.string() if pa.types.is_string_view(kind) else pa.float32() if pa.types.is_float16(kind) else kind

    try:
        return pa.schema([(column.name, frames.rebuilt(column.type, known)) for column in schema])
    except UnicodeError:  # a name in a nested type
        raise RequestError(NO_TABLE) from None
