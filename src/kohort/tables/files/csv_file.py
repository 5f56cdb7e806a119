"""CSV and other delimited text. Every cell is text and is not changed. Types are detected later, from the text."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort.tables.cell_text import as_text
from kohort.tables.files import csv_dialect, text_stream
from kohort.tables.files.csv_reader import CsvTable
from kohort.tables.files.file_format import COMPRESSIONS, Compression, FileFormat, sql_text
from kohort.tables.files.read_errors import reading
from kohort.tables.files.text_stream import TextFile

TAB_SUFFIXES = (".tsv", ".tab")


@dataclass(frozen=True)
class CsvFormat(FileFormat):
    """See `FileFormat`."""

    delimiter: str = ","
    compression: Compression = None
    encoding: str = "utf-8"

    name = "csv"
    title = "CSV"
    suffixes = (".csv", *TAB_SUFFIXES, ".txt")
    compressions = tuple(COMPRESSIONS)
    note_suffixes = (".txt",)
    holds_text = True

    @classmethod
    def for_name(cls, suffix: str, compression: Compression, source: FileFormat | None) -> CsvFormat:
        delimiter = source.delimiter if isinstance(source, CsvFormat) else ","
        if suffix in TAB_SUFFIXES:
            delimiter = "\t"
        elif suffix == ".csv" and delimiter == "\t":
            delimiter = ","
        return cls(delimiter, compression)

    def detect(self, path: Path, title: str, encoding: str | None) -> CsvFormat:
        """Detect the encoding from the first bytes, then the delimiter from the first lines."""
        decoded = replace(self, encoding=text_stream.find_encoding(path, self.compression, encoding))
        with reading(title, decoded.open(path, title).read_error, path):
            preferred = self.delimiter if self.delimiter == "\t" else None
            return replace(decoded, delimiter=csv_dialect.sniff_delimiter(decoded.text_file(path, title), preferred))

    def open(self, path: Path, title: str) -> CsvTable:
        return CsvTable(self.text_file(path, title), self.delimiter)

    def text_file(self, path: Path, title: str) -> TextFile:
        return TextFile(path, self.compression, self.encoding, title)

    def write(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: Path) -> None:
        with (
            pa.OSFile(str(path), "wb") as file,
            pa.CompressedOutputStream(file, self.compression) if self.compression else file as sink,
        ):
            sink.write(csv_dialect.header_line(schema.names, self.delimiter))
            for batch in batches:
                sink.write(csv_dialect.lines(batch, self.delimiter))

    def as_stored(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        return as_text(column)

    def duckdb_rows(self, path: Path, columns: Sequence[str]) -> str:
        types = ", ".join(f"{column}: 'VARCHAR'" for column in columns)
        only_column = str(len(columns) == 1).lower()  # in a file with one column, a missing value is written as ""
        return (
            f"read_csv({sql_text(str(path))}, auto_detect=false, header=true, columns={{{types}}}, "
            f"delim={sql_text(self.delimiter)}, quote='\"', escape='\"', nullstr='', allow_quoted_nulls={only_column}, "
            f"compression='{self.compression or 'none'}', hive_partitioning=false, max_line_size={csv_dialect.BLOCK})"
        )

    @property
    def spark_source(self) -> str | None:
        return "csv" if self.compression is None else None

    def spark_write_options(self) -> dict[str, Any]:
        """Write every cell unchanged, with its spaces. Empty text is quoted, a missing value is an empty cell."""
        spaces = dict.fromkeys(("ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace"), False)
        return {"header": True, "sep": self.delimiter, "quote": '"', "escape": '"', **spaces}

    def spark_read_options(self, columns: int) -> dict[str, Any]:
        """Declare a random text as missing, so that Spark reads empty text as text. In a single column, empty text is missing."""
        missing = secrets.token_hex(16) if columns > 1 else ""
        return {"multiLine": True, "nullValue": missing, **self.spark_write_options()}


FORMAT = CsvFormat
