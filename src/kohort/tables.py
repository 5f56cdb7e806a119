"""Read and write tables: CSV as text, Parquet and Arrow with their types. Output is staged, then renamed into place."""

from __future__ import annotations

import csv
import gzip
import os
import secrets
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from kohort import csv_text
from kohort.errors import MachineError, RequestError

SUFFIXES: dict[str, Literal["csv", "parquet"]] = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}


@dataclass(frozen=True)
class Format:
    """How a table lies in a file."""

    kind: Literal["csv", "parquet"]
    delimiter: str = ","
    gzipped: bool = False


def format_of(path: Path, delimiter: str = ",") -> Format:
    """The format that a file's name asks for."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    gzipped = suffixes[-1:] == [".gz"]
    suffix = (suffixes[:-1] if gzipped else suffixes)[-1:]
    kind = SUFFIXES.get(suffix[0]) if suffix else None
    if kind is None or (gzipped and kind == "parquet"):
        message = f"The name {path.name!r} does not say a format. Use one of {', '.join(SUFFIXES)} or .csv.gz."
        raise RequestError(message)
    return Format(kind, delimiter, gzipped)


def read(source: Any) -> tuple[pa.Table, Format | None]:
    """A table from a path, or from anything that speaks Arrow (pyarrow, pandas, polars); the format where it had one."""
    if isinstance(source, pa.Table):
        table, form = source, None
    elif isinstance(source, (str, os.PathLike)):
        table, form = _read_file(Path(source))
    elif hasattr(source, "__arrow_c_stream__"):
        table, form = _from_frame(source), None
    else:
        message = f"Cannot read a table from a {type(source).__name__}. Give a path, a pyarrow table or a data frame."
        raise RequestError(message)
    require_distinct(table.column_names)
    return _plain(table), form


def _from_frame(source: Any) -> pa.Table:
    try:
        return pa.table(source)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # their messages quote cells
        message = "The data frame does not fit into an Arrow table. Give each column values of one type."
        raise RequestError(message) from None


def require_distinct(names: list[str]) -> None:
    """Columns are told apart by name. Told by number: without a header the names would be somebody's record."""
    doubled = [number for number, name in enumerate(names, start=1) if names.count(name) > 1]
    if doubled:
        numbers = ", ".join(map(str, doubled[:8]))
        raise RequestError(f"Several columns of the table have the same name (columns {numbers}). Rename them.")


def _plain(table: pa.Table) -> pa.Table:
    """Without metadata; text views (polars has them) and half floats in types that every function and engine knows."""

    def plain(kind: pa.DataType) -> pa.DataType:
        return pa.string() if pa.types.is_string_view(kind) else pa.float32() if pa.types.is_float16(kind) else kind

    schema = pa.schema([(field.name, plain(field.type)) for field in table.schema])
    try:
        table.validate(full=True)
        return table.replace_schema_metadata(None) if schema.equals(table.schema) else table.cast(schema)
    except pa.ArrowException:
        raise RequestError("The table holds text that is not UTF-8, or is damaged. Mend it where it was made.") from None


def format_in(path: Path) -> Format:
    """The format of a file that is there: by its name, the delimiter by its first lines."""
    form = format_of(path)
    if not path.exists():
        raise RequestError(f"There is no file {path}.")
    if not path.is_file():
        raise RequestError(f"{path} is not a file (a folder, a pipe, a device). Give a file.")
    if form.kind == "csv":
        with _reading(path, form):
            form = replace(form, delimiter=csv_text.sniff_delimiter(path, form.gzipped))
    return form


def _read_file(path: Path) -> tuple[pa.Table, Format]:
    form = format_in(path)
    with _reading(path, form):
        if form.kind == "parquet":
            return pq.ParquetFile(path).read(), form
        return csv_text.read(path, form.delimiter, form.gzipped), form


def column_names(path: Path, form: Format) -> list[str]:
    """The columns of a file, without reading its rows."""
    with _reading(path, form):
        if form.kind == "parquet":
            return list(pq.read_schema(path).names)
        return csv_text.column_names(path, form.delimiter, form.gzipped)


@contextmanager
def _reading(path: Path, form: Format) -> Iterator[None]:
    """Turn whatever a reader may say into what is wrong with the file, without its cells."""
    try:
        yield
    except PermissionError:
        raise RequestError(f"{path} may not be read. Ask for the right to read it.") from None
    except (pa.ArrowMemoryError, MemoryError):
        raise MachineError(f"{path} does not fit into memory.") from None
    except (pa.ArrowException, EOFError, zlib.error, UnicodeDecodeError, csv.Error):
        raise unreadable(path, form) from None
    except OSError as error:
        if error.errno is not None and not isinstance(error, gzip.BadGzipFile):
            raise MachineError(f"{path} could not be read: {error.strerror}.") from None
        raise unreadable(path, form) from None


def unreadable(path: Path, form: Format) -> RequestError:
    """The error for a file that a reader refused."""
    if form.kind == "parquet":
        return RequestError(f"{path} cannot be read as parquet: it is damaged, cut short, or not a Parquet file.")
    return RequestError(f"{path} cannot be read as csv: {csv_text.what_is_wrong(path, form.delimiter, form.gzipped)}")


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


# --- writing


def batches_to_file(batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: Path, form: Format) -> None:
    """Write record batches to a file that exists already (so that its permissions are settled)."""
    if form.kind == "parquet":
        # Rows are shuffled, so statistics would help no reader; without them writing takes half the time.
        with pq.ParquetWriter(path, schema, compression="zstd", compression_level=1, write_statistics=False) as writer:
            for batch in batches:
                writer.write_batch(batch)
        return
    with pa.OSFile(str(path), "wb") as raw:
        sink = pa.CompressedOutputStream(raw, "gzip") if form.gzipped else raw
        sink.write(csv_text.header_line(schema.names, form.delimiter))
        for batch in batches:
            sink.write(csv_text.lines(batch, form.delimiter))
        if sink is not raw:
            sink.close()


@contextmanager
def staged(target: Path, force: bool = False) -> Iterator[Path]:
    """A private file beside `target`, renamed onto it if the block ends well and removed if it does not."""
    require_free(target, force)
    path = target.with_name(f".kohort-{secrets.token_hex(8)}.part")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield path
        with path.open("rb") as file:
            os.fsync(file.fileno())
        require_free(target, force)
        path.chmod(0o666 & ~_umask())
        path.replace(target)
    except OSError as error:
        raise MachineError(f"{target} could not be written: {error.strerror or 'the disk failed'}.") from None
    finally:
        path.unlink(missing_ok=True)


def require_free(target: Path, force: bool) -> None:
    """Refuse a target that cannot become a file, before any work is done."""
    try:
        if not target.parent.is_dir():
            raise RequestError(f"There is no folder {target.parent}. Create it first.")
        if target.is_dir():
            raise RequestError(f"{target} is a folder. Give a file name.")
        if target.exists() and not force:
            raise RequestError(f"{target} exists. Choose another name, or replace it with force (--force).")
    except OSError as error:
        raise MachineError(f"{target} could not be written: {error.strerror}.") from None


def require_other(target: Path, sources: Iterable[Any]) -> None:
    """Refuse to write over what the run reads, whatever the name it is called by."""
    files = [Path(source) for source in sources if isinstance(source, (str, os.PathLike))]
    if target.exists() and any(file.exists() and target.samefile(file) for file in files):
        raise RequestError(f"{target} is what the release is made from. Choose another name for it.")


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current
