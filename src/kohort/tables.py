"""Read and write tables: CSV as text, Parquet and Arrow with their types."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from kohort import frames
from kohort.errors import RequestError
from kohort.files import arrow_ipc, csv_text, parquet_folders, text_files
from kohort.files.refusals import NO_ARROW, NO_PARQUET, reading
from kohort.files.text_files import Compression, TextFile
from kohort.frames import FrameKind

FileKind = Literal["csv", "parquet", "arrow"]

KINDS: dict[FileKind, tuple[str, ...]] = {
    "csv": (".csv", ".tsv", ".tab", ".txt"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
}
TABBED = (".tsv", ".tab")
COMPRESSIONS: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd"}


@dataclass(frozen=True)
class Format:
    """How a table lies in a file. The delimiter, the compression and the encoding are those of text."""

    kind: FileKind
    delimiter: str = ","
    compression: Compression = None
    encoding: str = "utf-8"

    def text(self, path: Path) -> TextFile:
        return TextFile(path, self.compression, self.encoding)


def format_of(path: Path, delimiter: str = ",") -> Format:
    """The format that a file's name asks for; `delimiter` is the source's, kept where the name does not ask for another."""
    *_, before, last = ("", "", *(suffix.lower() for suffix in path.suffixes))
    compression = COMPRESSIONS.get(last)
    suffix = before if compression else last
    kind = next((kind for kind, suffixes in KINDS.items() if suffix in suffixes), None)
    if kind is None or (compression and kind != "csv"):
        known = ", ".join(suffix for suffixes in KINDS.values() for suffix in suffixes)
        sheet = " Save the sheet as CSV." if suffix in (".xlsx", ".xls", ".ods") else ""
        raise RequestError(f"The name {path.name!r} does not say a format.{sheet} Use one of {known}; text may add .gz or .zst.")
    if suffix in TABBED:
        delimiter = "\t"
    elif suffix == ".csv" and delimiter == "\t":
        delimiter = ","
    return Format(kind, delimiter, compression)


# --- reading


Origin = Format | FrameKind
"""Where a table came from: a file of some format, or some kind of data frame."""


def read(source: Any, encoding: str | None = None, wanted: Collection[str] = ()) -> tuple[pa.Table, Origin]:
    """A table from a path or any data frame, and where it came from.

    A path may also be a folder of Parquet files or a pattern of their names. `encoding` is that of text, where the file
    does not show it; `wanted` are the columns that have a role, for levels of a pandas index are read only if they have.
    """
    if isinstance(source, (str, os.PathLike)):
        table, origin = _read_path(Path(source), encoding)
    elif (taken := frames.take_in(source, wanted)) is not None:
        table, origin = taken
    else:
        message = f"Cannot read a table from a {type(source).__name__}. Give a path, a pyarrow table or a data frame."
        raise RequestError(message)
    require_distinct(table.column_names)
    return _plain(table), origin


def is_one_file(source: Any) -> bool:
    """Whether a source is the path of one file, there or not; no table, folder or pattern."""
    return isinstance(source, (str, os.PathLike)) and not parquet_folders.is_many(Path(source))


def format_in(path: Path, encoding: str | None = None) -> Format:
    """The format of what is there: by its name; the encoding and the delimiter of text by its first lines."""
    with _reading(path, Format("parquet")):
        if parquet_folders.is_many(path):
            return Format("parquet")
        form = format_of(path)
        if not path.exists():
            raise RequestError(f"There is no file {path}. Check its name and folder.")
        if not path.is_file():
            raise RequestError(f"{path} is not a file (a pipe, a device). Give a file.")
    if form.kind == "csv":
        with _reading(path, form):
            form = replace(form, encoding=text_files.find_encoding(path, form.compression, encoding))
        with _reading(path, form):
            preferred = form.delimiter if form.delimiter == "\t" else None
            form = replace(form, delimiter=csv_text.sniff_delimiter(form.text(path), preferred))
    return form


def _read_path(path: Path, encoding: str | None) -> tuple[pa.Table, Origin]:
    form = format_in(path, encoding)
    if not is_one_file(path):
        return parquet_folders.read(path), form
    with _reading(path, form):
        if form.kind == "parquet":
            return pq.ParquetFile(path).read(), form
        if form.kind == "arrow":
            return arrow_ipc.read(path), form
        return csv_text.read(form.text(path), form.delimiter), form


def column_names(path: Path, form: Format) -> list[str]:
    """The columns of a file, without reading its rows."""
    with _reading(path, form):
        if form.kind == "parquet":
            return list(pq.read_schema(path).names)
        if form.kind == "arrow":
            return arrow_ipc.column_names(path)
        return csv_text.column_names(form.text(path), form.delimiter)


def unreadable(path: Path, form: Format) -> RequestError:
    """The error for a file that a reader refused."""
    return RequestError(f"{path} {_refused(path, form)}")


def _refused(path: Path, form: Format) -> str:
    if form.kind == "csv":
        return f"cannot be read as csv: {csv_text.what_is_wrong(form.text(path), form.delimiter)}"
    return NO_PARQUET if form.kind == "parquet" else NO_ARROW


def _reading(path: Path, form: Format) -> AbstractContextManager[None]:
    return reading(path, lambda: _refused(path, form))


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


def _plain(table: pa.Table) -> pa.Table:
    """Without metadata, in nested types too; text views (polars has them) and half floats in types that everyone knows."""

    def plain(kind: pa.DataType) -> pa.DataType:
        return pa.string() if pa.types.is_string_view(kind) else pa.float32() if pa.types.is_float16(kind) else kind

    schema = pa.schema([(field.name, frames.rebuilt(field.type, plain)) for field in table.schema])
    try:
        table.validate(full=True)
        return table if schema.equals(table.schema, check_metadata=True) else table.cast(schema)
    except pa.ArrowException:
        raise RequestError("The table holds text that is not UTF-8, or is damaged. Mend it where it was made.") from None


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
        if parquet_folders.is_many(source):
            if parquet_folders.would_hold(source, target):
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
