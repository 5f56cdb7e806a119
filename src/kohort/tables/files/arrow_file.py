"""Arrow IPC files. kohort reads the file format and the stream format, and writes the file format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kohort.tables.cell_text import without_durations
from kohort.tables.files.file_format import FileFormat
from kohort.tables.files.table_size import TableSize

FILE_BEGINS = b"ARROW1"
STREAM_ENDS = b"\xff\xff\xff\xff\0\0\0\0"
LARGE = 1 << 27  # bytes of a batch that is too large to read at once
READ_ERROR = "cannot be read as Arrow: the file is damaged, incomplete or not an Arrow file. Copy or export it again."


@dataclass(frozen=True)
class ArrowTable:
    """See `StoredTable`."""

    path: Path

    def schema(self) -> pa.Schema:
        with pa.OSFile(str(self.path)) as file:
            return _open(file).schema

    def table_size(self) -> TableSize:
        """Return the size, estimated from the first batch: compressed data need more bytes in memory than in the file."""
        size = self.path.stat().st_size
        with pa.memory_map(str(self.path)) as file:
            reader = _open(file)
            rows = reader.count_rows() if _is_file(reader) and hasattr(reader, "count_rows") else None
            begin = file.tell()
            first = next(_batches(reader), None)
            if first is None or not first.num_rows:
                return TableSize(reader.schema, rows, size)
            unpacked, read = first.get_total_buffer_size(), file.tell() - begin  # only the stream format moves the position
            share = read / size if read > 0 else first.num_rows / max(rows or 0, first.num_rows)
            return TableSize(reader.schema, rows, max(size, int(unpacked / share)))

    def read(self) -> pa.Table:
        """Read the file into memory. It is not mapped, because it could change, or become shorter, during a run."""
        with pa.OSFile(str(self.path)) as file:
            return _open(file).read_all()

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the batches as they were written. Batches that may not fit into memory are mapped; the caller copies rows."""
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
        # A file has one dictionary for each column, inside lists too. Later batches can only add values to it.
        options = pa.ipc.IpcWriteOptions(unify_dictionaries=True, emit_dictionary_deltas=True)
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema, options=options) as writer:
            if any(pa.types.is_nested(field.type) for field in schema):
                writer.write_table(pa.Table.from_batches(batches, schema))
            else:
                dictionaries: dict[str, pa.Array] = {}
                for batch in batches:
                    writer.write_batch(_with_grown_dictionaries(batch, dictionaries))

    def duckdb_rows(self, path: Path, columns: Sequence[str]) -> pa.Table:
        """Return the table, mapped. That is safe, because only kohort writes to a staged file."""
        table = _open(pa.memory_map(str(path))).read_all()
        return pa.table([without_durations(column) for column in table.columns], names=list(columns))


FORMAT = ArrowFormat


def _with_grown_dictionaries(batch: pa.RecordBatch, dictionaries: dict[str, pa.Array]) -> pa.RecordBatch:
    """Return the same cells with dictionaries that extend those of earlier batches (`dictionaries`, by column name)."""
    columns = list(batch.columns)
    for number, (name, column) in enumerate(zip(batch.schema.names, columns, strict=True)):
        if not pa.types.is_dictionary(column.type):
            continue
        known = dictionaries.setdefault(name, column.dictionary)
        if column.dictionary.equals(known):
            continue
        new = column.dictionary.filter(pc.invert(pc.is_in(column.dictionary, known)))
        known = dictionaries[name] = pa.concat_arrays([known, new.unique()])
        indices = pc.index_in(column.dictionary, known).cast(column.type.index_type).take(column.indices)
        columns[number] = pa.DictionaryArray.from_arrays(indices, known, ordered=column.type.ordered)
    return pa.record_batch(columns, schema=batch.schema)


def _open(file: Any) -> Any:
    beginning = file.read(len(FILE_BEGINS))
    if beginning == FILE_BEGINS:
        return pa.ipc.open_file(file)
    size = file.size()
    file.seek(max(0, size - len(STREAM_ENDS)))
    if file.read() != STREAM_ENDS:  # the reader does not notice a stream that was cut off between two batches
        raise pa.ArrowInvalid("no end of stream")
    file.seek(0)
    return pa.ipc.open_stream(file)


def _is_file(reader: Any) -> bool:
    return isinstance(reader, pa.ipc.RecordBatchFileReader)


def _batches(reader: Any) -> Iterator[pa.RecordBatch]:
    if _is_file(reader):
        return (reader.get_batch(number) for number in range(reader.num_record_batches))
    return iter(reader)
