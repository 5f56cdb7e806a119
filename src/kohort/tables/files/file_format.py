"""The interface of a file format. Each format implements `FileFormat` in its own module; `registry` lists them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import pyarrow as pa

from kohort.tables.cell_text import without_durations
from kohort.tables.files.table_size import TableSize

Compression = Literal["gzip", "zstd"] | None
COMPRESSIONS: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd"}
"""Compressions by the suffix of the file name."""


class StoredTable(Protocol):
    """The table in one file. Its methods raise the errors of the library that reads the file."""

    def schema(self) -> pa.Schema:
        """Return the columns. The rows are not read if the format allows that."""
        ...

    def table_size(self) -> TableSize:
        """Return the columns, the number of rows if it is known, and an estimate of the bytes in memory."""
        ...

    def read(self) -> pa.Table:
        """Return all rows, in memory."""
        ...

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order. Every call starts at the first row. A batch may have more columns than these."""
        ...

    def read_error(self) -> str:
        """Return why the file cannot be read. The text follows the file's name in a message and must not quote a cell."""
        ...


@dataclass(frozen=True)
class FileFormat(ABC):
    """A file format with its settings. An instance has all settings that are needed to read or write one file.

    To add a format, write a subclass in its own module and list it in `registry`. It must define `name`, `title`, `suffixes`,
    `open` and `write`. A format with settings (CSV has a delimiter) is a frozen dataclass whose fields all have defaults.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """The name in messages."""
    suffixes: ClassVar[tuple[str, ...]]
    compressions: ClassVar[tuple[str, ...]] = ()
    """The keys of COMPRESSIONS that may follow a suffix of this format."""
    note_suffixes: ClassVar[tuple[str, ...]] = ()
    """Suffixes that text without a table may have too (README.txt). In a folder with other tables, such files are not read."""
    first_bytes: ClassVar[bytes] = b""
    """The bytes at the start of every file of the format, used to identify files with a wrong name; empty if there are none."""
    holds_text: ClassVar[bool] = False
    """Whether every cell is text. Types are then detected from the text, and a header line may be missing."""
    is_memory_mapped: ClassVar[bool] = False
    """Whether batches may be part of a mapped file. They are then copied before they are passed on."""
    is_audited_in_place: ClassVar[bool] = False
    """Whether `kohort.audit` lets DuckDB read the user's file. Otherwise kohort reads it into memory first."""
    is_copied_for_audit: ClassVar[bool] = True
    """Whether DuckDB reads the file once into a temporary table, because every check reads the rows again."""
    is_read_by_spark: ClassVar[bool] = False
    """Whether Spark's own reader returns the same cells as kohort's. Otherwise kohort's reader runs in Spark's tasks."""

    # --- names and detection

    @classmethod
    def for_name(cls, suffix: str, compression: Compression, source: FileFormat | None) -> FileFormat:
        """Return the format of a file to write, by its name. `source` is the source file's format; its settings may be kept."""
        del suffix, compression, source
        return cls()

    def detect(self, path: Path, title: str, encoding: str | None) -> FileFormat:
        """Return the format with the settings found in the file at `path`. `encoding` is the encoding that the user set."""
        del path, title, encoding
        return self

    # --- reading and writing

    @abstractmethod
    def open(self, path: Path, title: str) -> StoredTable:
        """Return the table in a file of this format, without reading it yet. `title` is the file's name in messages."""

    @abstractmethod
    def write(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: Path) -> None:
        """Write a table to an existing empty file. Its temporary name does not have the suffix of the format. Text is UTF-8."""

    # --- the audit

    def as_stored(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return a column as DuckDB reads it from a file of this format."""
        return without_durations(column)

    def duckdb_rows(self, path: Path, columns: Sequence[str]) -> str | pa.Table | pa.RecordBatchReader:
        """Return the rows of a file for DuckDB, or SQL that reads them. `columns` are the names to use, in the file's order."""
        stored = self.open(path, str(path))
        schema = stored.schema()
        types = [pa.int64() if pa.types.is_duration(field.type) else field.type for field in schema]

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in stored.batches(schema.names):
                cells = [without_durations(batch.column(name)) for name in schema.names]
                yield pa.record_batch(cells, names=list(columns))

        return pa.RecordBatchReader.from_batches(pa.schema(list(zip(columns, types, strict=True))), batches())

    # --- Spark

    @property
    def spark_source(self) -> str | None:
        """Spark's name for the format, if Spark can write and read back a folder of such files."""
        return None

    def spark_write_options(self) -> dict[str, Any]:
        """Return the options of Spark's writer."""
        return {}

    def spark_read_options(self, columns: int) -> dict[str, Any]:
        """Return the options of Spark's reader for files that Spark wrote, with this number of columns."""
        del columns
        return {}


def sql_text(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
