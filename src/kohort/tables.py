"""Read and write tables: CSV as text, Parquet and Arrow with their types. Output is staged, then renamed into place.

Messages of the readers are never passed on: they quote the cells they failed on.
"""

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

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from kohort.errors import MachineError, RequestError, listed

DELIMITERS = ",;\t|"
SUFFIXES: dict[str, Literal["csv", "parquet"]] = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}
FIELD_START, UNQUOTED, QUOTED, LINE_END = 0, 1, 2, 4  # states of kernels.csv_marks
BLOCK = 1 << 24  # bytes the CSV reader takes at a time; also the longest row it accepts


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
        table, form = pa.table(source), None
    else:
        message = f"Cannot read a table from a {type(source).__name__}. Give a path, a pyarrow table or a data frame."
        raise RequestError(message)
    require_distinct(table.column_names)
    return _plain(table), form


def require_distinct(names: list[str]) -> None:
    """Columns are told apart by name."""
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise RequestError(f"The table has several columns of the same name: {listed(doubled)}. Rename them.")


def _plain(table: pa.Table) -> pa.Table:
    """Without metadata; text views (polars has them) and half floats in types that every function and engine knows."""

    def plain(kind: pa.DataType) -> pa.DataType:
        return pa.string() if pa.types.is_string_view(kind) else pa.float32() if pa.types.is_float16(kind) else kind

    schema = pa.schema([(field.name, plain(field.type)) for field in table.schema])
    return table.replace_schema_metadata(None) if schema.equals(table.schema) else table.cast(schema)


def format_in(path: Path) -> Format:
    """The format of a file that is there: by its name, the delimiter by its first lines."""
    form = format_of(path)
    if not path.exists():
        raise RequestError(f"There is no file {path}.")
    if path.is_dir():
        raise RequestError(f"{path} is a folder. Give a file.")
    if form.kind == "csv":
        with _reading(path, form):
            form = replace(form, delimiter=_sniff_delimiter(path, form.gzipped))
    return form


def _read_file(path: Path) -> tuple[pa.Table, Format]:
    form = format_in(path)
    with _reading(path, form):
        return (pq.ParquetFile(path).read() if form.kind == "parquet" else _read_csv(path, form)), form


def column_names(path: Path, form: Format) -> list[str]:
    """The columns of a file, without reading its rows."""
    with _reading(path, form):
        if form.kind == "parquet":
            return list(pq.read_schema(path).names)
        with _open_text(path, form.gzipped) as file:
            names = next(csv.reader(file, delimiter=form.delimiter), [])
    if not names:
        raise RequestError(f"{path} does not begin with a header line. Put the names of the columns there.")
    return names


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


def _open_text(path: Path, gzipped: bool) -> Any:
    return (gzip.open if gzipped else open)(path, "rt", encoding="utf-8-sig", newline="")


def _sniff_delimiter(path: Path, gzipped: bool) -> str:
    """The delimiter under which the first lines agree on the most fields; the comma where nothing tells."""
    with _open_text(path, gzipped) as file:
        lines = [line for line, _ in zip(file, range(20), strict=False)]
    if not lines:
        raise RequestError(f"{path} is empty. Give a file with a header line and rows.")
    lines = [lines[0], *(line for line in lines[1:] if len(line) < 100_000)]  # Python's reader has a limit

    def fields(delimiter: str) -> int:
        counts = {len(row) for row in csv.reader(lines, delimiter=delimiter) if row}
        return counts.pop() if len(counts) == 1 else 0

    best = max(DELIMITERS, key=fields)
    if fields(best) > 1:
        return best
    return max(DELIMITERS, key=lambda mark: len(next(csv.reader(lines[:1], delimiter=mark), [])))


def _read_csv(path: Path, form: Format) -> pa.Table:
    """Every column as text, untouched. An empty cell is null, a quoted empty one is the empty text."""
    names = column_names(path, form)
    _require_marks_in_order(path, form)
    lone = len(names) == 1  # there an empty line is a missing cell, and "" is how it must be written
    with _open_bytes(path, form) as stream:
        try:
            return pacsv.read_csv(
                stream,
                pacsv.ReadOptions(column_names=names, skip_rows_after_names=1, block_size=BLOCK),
                pacsv.ParseOptions(delimiter=form.delimiter, newlines_in_values=True, ignore_empty_lines=not lone),
                pacsv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=lone,
                ),
            )
        except pa.ArrowInvalid:
            if _has_rows(path, form):
                raise
            return pa.table({name: pa.array([], pa.string()) for name in names})  # a header alone


def _open_bytes(path: Path, form: Format) -> Any:
    return pa.input_stream(str(path), compression="gzip" if form.gzipped else None)


def _has_rows(path: Path, form: Format) -> bool:
    with _open_text(path, form.gzipped) as file:
        return sum(bool(line.strip()) for line in file) > 1


def _require_marks_in_order(path: Path, form: Format) -> None:
    """A quote that is never closed would silently make one cell of the rest of the file; a lone CR could hide rows."""
    state = np.zeros(3, np.int64)
    good, looking = True, False
    with _open_bytes(path, form) as stream:
        while good and (piece := stream.read(BLOCK)):
            looking = looking or b'"' in piece or b"\r" in piece
            if looking:
                from kohort.kernels.csv_marks import check_marks

                good = check_marks(np.frombuffer(piece, np.uint8), ord(form.delimiter), state)
            else:
                state[0] = FIELD_START if piece[-1:] in (b"\n", form.delimiter.encode()) else UNQUOTED
                state[1] += piece.count(b"\n")
    if not good and state[0] == LINE_END:
        raise RequestError(
            f"{path}: line {state[1] + 1} holds a carriage return without a line feed. Save it with usual line ends."
        )
    if not good or state[0] == QUOTED:
        raise RequestError(
            f"{path}: the quote opened in line {state[2] + 1} is not closed as it should be. Double quotes inside cells."
        )


def unreadable(path: Path, form: Format) -> RequestError:
    """The error for a file that a reader refused."""
    return RequestError(f"{path} cannot be read as {form.kind}: {_what_is_wrong(path, form)}")


def _what_is_wrong(path: Path, form: Format) -> str:
    """Why a file could not be read, told by line numbers and counts only."""
    if form.kind == "parquet":
        return "it is damaged, cut short, or not a Parquet file."
    try:
        with _open_text(path, form.gzipped) as file:
            rows = csv.reader(file, delimiter=form.delimiter)
            columns = len(next(rows, []))
            for row in rows:
                if row and len(row) != columns:
                    return f"line {rows.line_num} has {len(row)} fields where the header has {columns}."
    except UnicodeDecodeError:
        return "it is not UTF-8 text. Save it as UTF-8."
    except (EOFError, zlib.error, OSError):
        return "the gzip data are damaged or cut short."
    except csv.Error as error:
        return f"{error}."
    return "it is damaged, mixes kinds of line ends, or has a quote that is never closed."


def as_text(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Values as text, the same whoever asks: SQL engines do not agree on the text of dates and decimals."""
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    return plain.cast(pa.string())


def as_stored(column: pa.ChunkedArray, form: Format) -> pa.ChunkedArray:
    """A column as a plain reader finds it in a file: CSV holds text, and Parquet has no type for durations."""
    if form.kind == "csv":
        return as_text(column)
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
        sink.write(_csv_line(schema.names, form.delimiter))
        for batch in batches:
            sink.write(_csv_bytes(batch, form.delimiter))
        if sink is not raw:
            sink.close()


def _csv_line(names: list[str], delimiter: str) -> bytes:
    header = pa.record_batch([pa.array([name]) for name in names], [str(i) for i in range(len(names))])
    return bytes(_csv_bytes(header, delimiter))


def _csv_bytes(batch: pa.RecordBatch, delimiter: str) -> pa.Buffer:
    """The batch as CSV lines, quoted only where needed: the joined strings' own buffer, not a copy row by row."""
    columns = [_csv_column(column, name, delimiter) for name, column in zip(batch.schema.names, batch.columns, strict=True)]
    if len(columns) == 1:  # a lone empty cell would be an empty line, which readers skip
        columns = [pc.if_else(pc.equal(columns[0], ""), '""', columns[0])]
    lines = pc.binary_join_element_wise(*columns, pa.scalar(delimiter, pa.large_string()))
    lines = pc.binary_join_element_wise(lines, pa.scalar("\n", pa.large_string()), pa.scalar("", pa.large_string()))
    if isinstance(lines, pa.ChunkedArray):
        lines = lines.combine_chunks()
    if not len(lines):
        return pa.py_buffer(b"")
    offsets = memoryview(lines.buffers()[1]).cast("q")
    first, last = offsets[lines.offset], offsets[lines.offset + len(lines)]
    return lines.buffers()[2].slice(first, last - first)


def _csv_column(column: pa.Array, name: str, delimiter: str) -> pa.Array:
    if isinstance(column, pa.DictionaryArray):
        return _csv_column(column.dictionary, name, delimiter).take(column.indices).fill_null("")
    try:
        text = column.cast(pa.large_string())
    except pa.ArrowException:
        raise RequestError(f"Column {name!r} of type {column.type} cannot be written as CSV. Write Parquet.") from None
    quoted = pc.match_substring_regex(text, f'["\\r\\n{_in_class(delimiter)}]|^$')
    if pc.any(quoted).as_py():
        doubled = pc.replace_substring(text, '"', '""')
        mark, nothing = pa.scalar('"', pa.large_string()), pa.scalar("", pa.large_string())
        enclosed = pc.binary_join_element_wise(mark, doubled, mark, nothing)
        text = pc.if_else(quoted, enclosed, text)
    return text.fill_null("")


def _in_class(mark: str) -> str:
    return f"\\{mark}" if mark in "|\\]^-" else mark


@contextmanager
def staged(target: Path, force: bool = False) -> Iterator[Path]:
    """A private file beside `target`, renamed onto it if the block ends well and removed if it does not."""
    require_free(target, force)
    path = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
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


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current
