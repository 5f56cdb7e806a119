"""Read and write tables. Start here: `open_source` opens the table that a user gave, `batches_to_file` writes a release."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort.errors import RequestError
from kohort.tables import streams
from kohort.tables.cell_text import as_text, without_durations
from kohort.tables.files import file_sets
from kohort.tables.files.csv_file import CsvFormat
from kohort.tables.files.file_format import COMPRESSIONS, FileFormat
from kohort.tables.files.registry import FORMATS, format_named, format_of
from kohort.tables.files.source_file import SourceFile
from kohort.tables.source import Source, require_distinct
from kohort.tables.streams import Origin, Stream
from kohort.wording import quoted

__all__ = [
    "COMPRESSIONS",
    "FORMATS",
    "CsvFormat",
    "FileFormat",
    "Origin",
    "Source",
    "Stream",
    "as_text",
    "batches_to_file",
    "column_names",
    "format_in",
    "format_named",
    "format_of",
    "is_one_file",
    "open_source",
    "open_stream",
    "read",
    "read_columns",
    "require_distinct",
    "require_other",
    "unreadable",
    "without_durations",
]

# --- reading


def open_source(given: Any, encoding: str | None = None, role_columns: Collection[str] = ()) -> Source:
    """Return a Source for the table that a user gave: a path, a data frame, or a Source, which is returned unchanged.

    A path may also name a folder of files of one format, or be a pattern of file names. `encoding` is the encoding of text files
    without a byte order mark. `role_columns` are the columns that have a role: levels of a pandas index are read only if they
    have one.
    """
    return given if isinstance(given, Source) else Source(given, encoding, tuple(role_columns))


def read(given: Any, encoding: str | None = None, role_columns: Collection[str] = ()) -> tuple[pa.Table, Origin]:
    """Return the whole table and its origin. See `open_source`."""
    source = open_source(given, encoding, role_columns)
    return source.read(), source.origin


def open_stream(given: Any, encoding: str | None = None, role_columns: Collection[str] = ()) -> Stream:
    """Return the same rows as `read`, batch by batch. See `open_source`."""
    return open_source(given, encoding, role_columns).stream()


def is_one_file(given: Any) -> bool:
    """Whether this is the path of one file, and not a data frame, folder or pattern. The file need not exist."""
    return open_source(given).is_one_file


def format_in(path: Path, encoding: str | None = None) -> FileFormat:
    """Return the format of the file at `path`, or of the first file of a folder or pattern."""
    return file_sets.source_files_of(path, encoding)[0].file_format


def column_names(path: Path, file_format: FileFormat) -> list[str]:
    """Return the column names of a file. Its rows are not read if the format allows that."""
    return list(SourceFile(path, quoted(path), file_format).schema().names)


def read_columns(path: Path, file_format: FileFormat, names: list[str]) -> pa.Table:
    """Return these columns of a file."""
    stream = streams.of_source_files([SourceFile(path, quoted(path), file_format)])
    return pa.Table.from_batches(stream.batches(names), pa.schema([stream.schema.field(name) for name in names]))


def unreadable(path: Path, file_format: FileFormat) -> RequestError:
    """Return the error for a file that could not be read."""
    return RequestError(f"{quoted(path)} {file_format.open(path, quoted(path)).read_error()}")


# --- writing


def batches_to_file(batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: Path, file_format: FileFormat) -> None:
    """Write a table to a file that already exists, so that its permissions are set before it has content."""
    file_format.write(batches, schema, path)


def require_other(target: Path, sources: Iterable[Any]) -> None:
    """Raise a RequestError if `target` is one of the files that the run reads, or would become one. Links are followed."""
    for source in (Path(source) for source in sources if isinstance(source, (str, os.PathLike))):
        if file_sets.is_many(source):
            if file_sets.would_hold(source, target):
                raise RequestError(
                    f"{quoted(target)} would be among the files that kohort reads ({quoted(source)}). "
                    "Choose another folder for it."
                )
        elif target.exists() and source.exists() and target.samefile(source):
            raise RequestError(f"{quoted(target)} is a file that kohort reads in this run. Choose another name for the output.")
