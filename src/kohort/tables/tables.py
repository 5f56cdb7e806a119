"""Read and write tables: CSV as text, Parquet and Arrow with their types."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kohort.errors import RequestError
from kohort.tables import frames, streams
from kohort.tables.files import arrow_file as arrow_ipc
from kohort.tables.files import csv_dialect as csv_text
from kohort.tables.files import file_sets as folders
from kohort.tables.files.registry import COMPRESSIONS, KINDS, FileKind, Format, format_of, kind_of
from kohort.tables.files.source_file import SourceFile
from kohort.tables.locations import local
from kohort.tables.streams import Origin, Stream, plain

__all__ = [
    "COMPRESSIONS",
    "KINDS",
    "FileKind",
    "Format",
    "Origin",
    "Stream",
    "as_stored",
    "as_text",
    "batches_to_file",
    "column_names",
    "format_in",
    "format_of",
    "is_one_file",
    "kind_of",
    "open_stream",
    "read",
    "require_distinct",
    "require_other",
    "unreadable",
    "without_durations",
]

# --- reading


def read(source: Any, encoding: str | None = None, wanted: Collection[str] = ()) -> tuple[pa.Table, Origin]:
    """A table from a path or any data frame, and where it came from.

    A path may also be a folder of files of one kind or a pattern of their names. `encoding` is that of text, where the file
    does not show it; `wanted` are the columns that have a role, for levels of a pandas index are read only if they have.
    """
    origin: Origin
    if isinstance(source, (str, os.PathLike)):
        source_files = folders.source_files_of(local(source), encoding)
        table, origin = folders.read(source_files), source_files[0].form
    elif (taken := frames.take_in(source, wanted)) is not None:
        table, origin = taken
    else:
        message = f"Cannot read a table from a {type(source).__name__}. Give a path, a pyarrow table or a data frame."
        raise RequestError(message)
    require_distinct(table.column_names)
    return plain(table), origin


def open_stream(source: Any, encoding: str | None = None, wanted: Collection[str] = ()) -> Stream:
    """What `read` reads, batch by batch, as often as asked. Data frames are in memory already; a stream of them is taken in."""
    if not isinstance(source, (str, os.PathLike)):
        return streams.of_table(*read(source, encoding, wanted))
    stream = streams.of_source_files(folders.source_files_of(local(source), encoding))
    require_distinct(stream.schema.names)
    return stream


def is_one_file(source: Any) -> bool:
    """Whether a source is the path of one file, there or not; no table, folder or pattern."""
    return isinstance(source, (str, os.PathLike)) and not folders.is_many(Path(source))


def format_in(path: Path, encoding: str | None = None) -> Format:
    """The format of what is there: by its name; the encoding and the delimiter of text by its first lines."""
    return folders.source_files_of(path, encoding)[0].form


def column_names(path: Path, form: Format) -> list[str]:
    """The columns of a file, without reading its rows."""
    return list(SourceFile(path, str(path), form).schema().names)


def unreadable(path: Path, form: Format) -> RequestError:
    """The error for a file that a reader refused."""
    return RequestError(f"{path} {SourceFile(path, str(path), form).table.refused()}")


def require_distinct(names: list[str]) -> None:
    """Columns are told apart by name. Told by number: without a header the names would be somebody's record."""
    times = Counter(names)
    doubled = [number for number, name in enumerate(names, start=1) if times[name] > 1]
    if doubled:
        numbers = ", ".join(map(str, doubled[:8]))
        raise RequestError(
            f"Several columns of the table have the same name (columns {numbers}). Rename them; if its first line is a row, put "
            "the columns' names above it."
        )


# --- writing


def batches_to_file(batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: Path, form: Format) -> None:
    """Write record batches to a file that exists already (so that its permissions are settled). Text is UTF-8."""
    if form.kind == "parquet":
        # Rows are shuffled, so statistics would help no reader; without them writing takes half the time.
        with pq.ParquetWriter(path, schema, compression="zstd", compression_level=1, write_statistics=False) as writer:
            for batch in batches:
                writer.write_batch(batch)
        return
    if form.kind == "arrow":
        arrow_ipc.write(batches, schema, path)
        return
    with pa.OSFile(str(path), "wb") as raw, pa.CompressedOutputStream(raw, form.compression) if form.compression else raw as sink:
        sink.write(csv_text.header_line(schema.names, form.delimiter))
        for batch in batches:
            sink.write(csv_text.lines(batch, form.delimiter))


def require_other(target: Path, sources: Iterable[Any]) -> None:
    """Refuse to write over, or among, what the run reads, whatever the name it is called by."""
    for source in (Path(source) for source in sources if isinstance(source, (str, os.PathLike))):
        if folders.is_many(source):
            if folders.would_hold(source, target):
                message = f"{target} would be among the files that the release is made from. Choose another place for it."
                raise RequestError(message)
        elif target.exists() and source.exists() and target.samefile(source):
            raise RequestError(f"{target} is what the release is made from. Choose another name for it.")


def as_text(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Values as text, the same whoever asks: SQL engines do not agree on the text of dates and decimals."""
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    return plain.cast(pa.string())


def as_stored(column: pa.ChunkedArray, form: Format) -> pa.ChunkedArray:
    """A column as a plain reader finds it in a file: CSV holds text, and Parquet has no type for durations."""
    return as_text(column) if form.kind == "csv" else without_durations(column)


def without_durations(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Durations as integers: SQL would cut off their nanoseconds."""
    return column.cast(pa.int64()) if pa.types.is_duration(column.type) else column
