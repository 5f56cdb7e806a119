"""CSV files as text: nothing is guessed of a cell, and nothing of it is changed. An empty cell is missing, `""` is empty text.

What is wrong with a file is told by line numbers and counts; readers' own messages quote the cells they failed on.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from kohort.errors import RequestError

DELIMITERS = ",;\t|"
BLOCK = 1 << 24  # bytes the reader takes at a time; also the longest row it accepts
FIELD_START, UNQUOTED, QUOTED, LINE_END = 0, 1, 2, 4  # states of kernels.csv_marks


def column_names(path: Path, delimiter: str, gzipped: bool) -> list[str]:
    """The header line."""
    with _open_text(path, gzipped) as file:
        names = next(csv.reader(file, delimiter=delimiter), [])
    if not names:
        raise RequestError(f"{path} does not begin with a header line. Put the names of the columns there.")
    return names


def sniff_delimiter(path: Path, gzipped: bool) -> str:
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


def read(path: Path, delimiter: str, gzipped: bool) -> pa.Table:
    """Every column as text, untouched. An empty cell is null, a quoted empty one is the empty text."""
    names = column_names(path, delimiter, gzipped)
    _require_marks_in_order(path, delimiter, gzipped)
    lone = len(names) == 1  # there an empty line is a missing cell, and "" is how it must be written
    with _open_bytes(path, gzipped) as stream:
        try:
            return pacsv.read_csv(
                stream,
                pacsv.ReadOptions(column_names=names, skip_rows_after_names=1, block_size=BLOCK),
                pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=not lone),
                pacsv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=lone,
                ),
            )
        except pa.ArrowInvalid:
            if _has_rows(path, gzipped):
                raise
            return pa.table({name: pa.array([], pa.string()) for name in names})  # a header alone


def what_is_wrong(path: Path, delimiter: str, gzipped: bool) -> str:
    """Why a file could not be read, told by line numbers and counts only."""
    try:
        with _open_text(path, gzipped) as file:
            rows = csv.reader(file, delimiter=delimiter)
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


# --- writing


def header_line(names: list[str], delimiter: str) -> bytes:
    header = pa.record_batch([pa.array([name]) for name in names], [str(i) for i in range(len(names))])
    return bytes(lines(header, delimiter))


def lines(batch: pa.RecordBatch, delimiter: str) -> pa.Buffer:
    """The batch as CSV lines, quoted only where needed: the joined strings' own buffer, not a copy row by row."""
    columns = [_column(column, name, delimiter) for name, column in zip(batch.schema.names, batch.columns, strict=True)]
    if len(columns) == 1:  # a lone empty cell would be an empty line, which readers skip
        columns = [pc.if_else(pc.equal(columns[0], ""), '""', columns[0])]
    joined = pc.binary_join_element_wise(*columns, pa.scalar(delimiter, pa.large_string()))
    joined = pc.binary_join_element_wise(joined, pa.scalar("\n", pa.large_string()), pa.scalar("", pa.large_string()))
    if isinstance(joined, pa.ChunkedArray):
        joined = joined.combine_chunks()
    if not len(joined):
        return pa.py_buffer(b"")
    offsets = memoryview(joined.buffers()[1]).cast("q")
    first, last = offsets[joined.offset], offsets[joined.offset + len(joined)]
    return joined.buffers()[2].slice(first, last - first)


def _column(column: pa.Array, name: str, delimiter: str) -> pa.Array:
    if isinstance(column, pa.DictionaryArray):
        return _column(column.dictionary, name, delimiter).take(column.indices).fill_null("")
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


# --- opening


def _open_text(path: Path, gzipped: bool) -> Any:
    return (gzip.open if gzipped else open)(path, "rt", encoding="utf-8-sig", newline="")


def _open_bytes(path: Path, gzipped: bool) -> Any:
    return pa.input_stream(str(path), compression="gzip" if gzipped else None)


def _has_rows(path: Path, gzipped: bool) -> bool:
    with _open_text(path, gzipped) as file:
        return sum(bool(line.strip()) for line in file) > 1


def _require_marks_in_order(path: Path, delimiter: str, gzipped: bool) -> None:
    """A quote that is never closed would silently make one cell of the rest of the file; a lone CR could hide rows."""
    state = np.zeros(3, np.int64)
    good, looking = True, False
    with _open_bytes(path, gzipped) as stream:
        while good and (piece := stream.read(BLOCK)):
            looking = looking or b'"' in piece or b"\r" in piece
            if looking:
                from kohort.kernels.csv_marks import check_marks

                good = check_marks(np.frombuffer(piece, np.uint8), ord(delimiter), state)
            else:
                state[0] = FIELD_START if piece[-1:] in (b"\n", delimiter.encode()) else UNQUOTED
                state[1] += piece.count(b"\n")
    if not good and state[0] == LINE_END:
        raise RequestError(
            f"{path}: line {state[1] + 1} holds a carriage return without a line feed. Save it with usual line ends."
        )
    if not good or state[0] == QUOTED:
        raise RequestError(
            f"{path}: the quote opened in line {state[2] + 1} is not closed as it should be. Double quotes inside cells."
        )
