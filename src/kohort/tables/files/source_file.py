"""One file of a source: how messages call it, the table in it, and the columns that its folders add."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from kohort.errors import RequestError
from kohort.tables.files import registry as formats
from kohort.tables.files.arrow_file import ArrowTable
from kohort.tables.files.csv_reader import CsvTable
from kohort.tables.files.parquet_file import ParquetTable
from kohort.tables.files.read_errors import reading
from kohort.tables.files.registry import Format
from kohort.tables.files.table_size import ROWS_AT_ONCE, TableSize


class StoredTable(Protocol):
    """A table in a file, whatever the format. Its errors are those of its reader."""

    def schema(self) -> pa.Schema: ...

    def table_size(self) -> TableSize: ...

    def read(self) -> pa.Table: ...

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows in order, with these columns and maybe others; from the beginning at every call."""
        ...

    def refused(self) -> str:
        """Why it cannot be read, told without a cell."""
        ...


@dataclass(frozen=True)
class SourceFile:
    """A file of a known format. `keys` are the columns that its folders give it."""

    path: Path
    title: str
    form: Format
    keys: dict[str, str | None] = field(default_factory=dict)
    stamp: tuple[int, int, int] | None = None
    """How the file was when it was opened: rows that are read twice must be the same rows."""

    @classmethod
    def at(cls, path: Path, title: str, encoding: str | None, keys: dict[str, str | None]) -> SourceFile:
        stamp = _stamp(path)
        return cls(path, title, formats.format_in(path, title, encoding), keys, stamp)

    @cached_property
    def table(self) -> StoredTable:
        if self.form.kind == "parquet":
            return ParquetTable(self.path)
        if self.form.kind == "arrow":
            return ArrowTable(self.path)
        return CsvTable(self.form.text(self.path, self.title), self.form.delimiter)

    def reading(self) -> AbstractContextManager[None]:
        return reading(self.title, self.table.refused, self.path)

    def refuse_change(self) -> None:
        if self.stamp is not None and _stamp(self.path) != self.stamp:
            raise RequestError(f"{self.title} was changed while it was read. Run again when nobody writes to it.")

    def schema(self) -> pa.Schema:
        """All its columns, those that its folders name last."""
        with self.reading():
            schema = self.table.schema()
            _require_names(schema)
        return self._with_keys(schema)

    def table_size(self) -> TableSize:
        with self.reading():
            shape = self.table.table_size()
            _require_names(shape.schema)
        added = shape.size // max(1, len(shape.schema)) * len(self.keys)  # as if they were like the others
        return TableSize(self._with_keys(shape.schema), shape.rows, shape.size + added, shape.column_buffer)

    def read(self) -> pa.Table:
        with self.reading():
            table = self.table.read()
            _require_names(table.schema)
        for key in self.keys:
            table = table.append_column(key, self._key_column(key, table.num_rows))
        return table

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The named columns in that order. Nothing of them is validated yet, and they may lie in a mapped file."""
        with self.reading():
            self.refuse_change()
            own = [name for name in columns if name not in self.keys] or self.table.schema().names[:1]
            batches = self.table.batches(own) if own else iter(())
            while (batch := next(batches, None)) is not None:
                for start in range(0, batch.num_rows, ROWS_AT_ONCE):
                    yield self._chosen(batch.slice(start, ROWS_AT_ONCE), columns)
                    self.refuse_change()
            self.refuse_change()

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
    """A damaged file may have names that are not text, which shows when they are looked at."""
    _ = schema.names


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:  # whoever opens it will say so
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
