"""One file of a source: its name in messages, its table, and the columns that its folders add."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from kohort.errors import RequestError
from kohort.tables.files.file_format import FileFormat, StoredTable
from kohort.tables.files.read_errors import reading
from kohort.tables.files.registry import detected_format
from kohort.tables.files.table_size import ROWS_AT_ONCE, TableSize


@dataclass(frozen=True)
class SourceFile:
    """A file with a known format. `keys` are the columns that its folders add, with their value."""

    path: Path
    title: str
    """Its name in messages."""
    file_format: FileFormat
    keys: dict[str, str | None] = field(default_factory=dict)
    stamp: tuple[int, int, int] | None = None
    """Inode, size and time of change when the format was detected. Later reads check that the file is still the same."""

    @classmethod
    def detected(cls, path: Path, title: str, encoding: str | None, keys: dict[str, str | None]) -> SourceFile:
        """Return the file at `path`, with the format found from its name and content."""
        stamp = _stamp(path)
        return cls(path, title, detected_format(path, title, encoding), keys, stamp)

    @cached_property
    def table(self) -> StoredTable:
        return self.file_format.open(self.path, self.title)

    def reading(self) -> AbstractContextManager[None]:
        return reading(self.title, self.table.read_error, self.path)

    def require_unchanged(self) -> None:
        if self.stamp is not None and _stamp(self.path) != self.stamp:
            raise RequestError(
                f"{self.title} was changed while kohort read it. Run kohort again when no other program writes to it."
            )

    def schema(self) -> pa.Schema:
        """Return all columns. The columns that folders add are last."""
        with self.reading():
            schema = self.table.schema()
            _require_names(schema)
        return self._with_keys(schema)

    def table_size(self) -> TableSize:
        with self.reading():
            size = self.table.table_size()
            _require_names(size.schema)
        added = size.size_in_memory // max(1, len(size.schema)) * len(self.keys)  # assume the average size of the other columns
        return TableSize(self._with_keys(size.schema), size.rows, size.size_in_memory + added, size.column_buffer)

    def read(self) -> pa.Table:
        with self.reading():
            self.require_unchanged()
            table = self.table.read()
            _require_names(table.schema)
        self.require_unchanged()
        for key in self.keys:
            table = table.append_column(key, self._key_column(key, table.num_rows))
        return table

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the named columns in this order. Cells are not validated yet, and may be part of a mapped file."""
        with self.reading():
            self.require_unchanged()
            own = [name for name in columns if name not in self.keys] or self.table.schema().names[:1]
            batches = self.table.batches(own) if own else iter(())
            while (batch := next(batches, None)) is not None:
                for start in range(0, batch.num_rows, ROWS_AT_ONCE):
                    yield self._chosen(batch.slice(start, ROWS_AT_ONCE), columns)
                    self.require_unchanged()
            self.require_unchanged()

    def _chosen(self, batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
        for key in self.keys:
            batch = batch.append_column(key, self._key_column(key, batch.num_rows))
        return batch.select(list(columns)).replace_schema_metadata(None)

    def _key_column(self, key: str, rows: int) -> pa.Array:
        return pa.repeat(pa.scalar(self.keys[key], pa.string()), rows)

    def _with_keys(self, schema: pa.Schema) -> pa.Schema:
        for key in self.keys:
            schema = schema.append(pa.field(key, pa.string()))
        return schema


def _require_names(schema: pa.Schema) -> None:
    """Raise the reader's error now if the column names of a damaged file are not text."""
    _ = schema.names


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:  # opening the file will raise the error again
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
