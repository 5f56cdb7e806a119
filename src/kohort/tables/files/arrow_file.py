"""Arrow IPC files. Both of its formats are read, the file format and the stream format; the file format is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort.tables.cell_text import without_durations
from kohort.tables.files.file_format import FileFormat
from kohort.tables.files.table_size import TableSize

FILE_BEGINS = b"ARROW1"
STREAM_ENDS = b"\xff\xff\xff\xff\0\0\0\0"
LARGE = 1 << 27  # bytes of a batch that is too large to read at once
READ_ERROR = "cannot be read as arrow: it is damaged, cut short, or not an Arrow file."


@dataclass(frozen=True)
class ArrowTable:
    """See `StoredTable`."""

    path: Path

    def schema(self) -> pa.Schema:
        with pa.OSFile(str(self.path)) as file:
            return _open(file).schema

    def table_size(self) -> TableSize:
        """The size is estimated from the first batch: compressed data take more room in memory than in the file."""
        size = self.path.stat().st_size
        with pa.memory_map(str(self.path)) as file:
            reader = _open(file)
            rows = reader.count_rows() if _is_file(reader) and hasattr(reader, "count_rows") else None
            begin = file.tell()
            first = next(_batches(reader), None)
            if first is None or not first.num_rows:
                return TableSize(reader.schema, rows, size)
            unpacked, read = first.get_total_buffer_size(), file.tell() - begin  # only a stream moves on
            share = read / size if read > 0 else first.num_rows / max(rows or 0, first.num_rows)
            return TableSize(reader.schema, rows, max(size, int(unpacked / share)))

    def read(self) -> pa.Table:
        """Into memory, not mapped: the file could change, or become shorter, during a run."""
        with pa.OSFile(str(self.path)) as file:
            return _open(file).read_all()

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The batches as they were written. Batches that may not fit into memory are mapped; the caller copies what it uses."""
        with pa.OSFile(str(self.path)) as file:
            reader = _open(file)
            mapped = _is_file(reader) and file.size() > LARGE * reader.num_record_batches
        with (pa.memory_map if mapped else pa.OSFile)(str(self.path)) as file:
            for batch in _batches(_open(file)):
                yield batch.select(list(columns))

    def read_error(self) -> str:
        return READ_ERROR


class ArrowFormat(FileFormat):
    """See `FileFormat`."""

    name = "arrow"
    title = "Arrow"
    suffixes = (".arrow", ".feather", ".ipc")
    first_bytes = FILE_BEGINS
    is_memory_mapped = True

    def open(self, path: Path, title: str) -> ArrowTable:
        del title
        return ArrowTable(path)

    def write(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: Path) -> None:
        options = pa.ipc.IpcWriteOptions(unify_dictionaries=True)  # a file has one dictionary a column, inside lists too
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema, options=options) as writer:
            if any(pa.types.is_nested(field.type) for field in schema):
                writer.write_table(pa.Table.from_batches(batches, schema))
            else:
                for batch in batches:
                    writer.write_batch(batch)

    def duckdb_rows(self, path: Path, columns: Sequence[str]) -> pa.Table:
        """Mapped: only kohort writes to a staged file."""
        table = _open(pa.memory_map(str(path))).read_all()
        return pa.table([without_durations(column) for column in table.columns], names=list(columns))


FORMAT = ArrowFormat


def _open(file: Any) -> Any:
    beginning = file.read(len(FILE_BEGINS))
    if beginning == FILE_BEGINS:
        return pa.ipc.open_file(file)
    size = file.size()
    file.seek(max(0, size - len(STREAM_ENDS)))
    if file.read() != STREAM_ENDS:  # the reader would take a stream cut between two batches for a whole one
        raise pa.ArrowInvalid("no end of stream")
    file.seek(0)
    return pa.ipc.open_stream(file)


def _is_file(reader: Any) -> bool:
    return isinstance(reader, pa.ipc.RecordBatchFileReader)


def _batches(reader: Any) -> Iterator[pa.RecordBatch]:
    if _is_file(reader):
        return (reader.get_batch(number) for number in range(reader.num_record_batches))
    return iter(reader)
