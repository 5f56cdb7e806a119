"""The dialect of a CSV file: its header, its delimiter, and how cells are quoted. An empty cell is missing, `""` is empty text.

Messages have line numbers and counts only: the messages of CSV readers quote cells.
"""

from __future__ import annotations

import csv

import pyarrow as pa
import pyarrow.compute as pc

from kohort.errors import RequestError
from kohort.tables.files import text_stream
from kohort.tables.files.text_stream import TextFile

DELIMITERS = ",;\t|"
SAMPLE = 20  # lines that are read to find the delimiter
BLOCK = 1 << 24  # bytes that a reader takes at once; also the longest row that it accepts


def column_names(file: TextFile, delimiter: str) -> list[str]:
    """The names in the header line."""
    with file.open_text() as text:
        names = next(csv.reader(text, delimiter=delimiter), [])
    if not names:
        raise RequestError(f"{file} does not begin with a header line. Put the names of the columns there.")
    if any("\0" in name for name in names):
        raise RequestError(f"{file} cannot be read as csv: {what_is_wrong(file, delimiter)}")
    return names


def sniff_delimiter(file: TextFile, preferred: str | None = None) -> str:
    """The preferred delimiter if the header has it.

    Else the one that gives the first lines the same number of fields, and the most; else the one that gives the header the most.
    """
    with file.open_text() as text:
        lines = [line for line, _ in zip(text, range(SAMPLE), strict=False)]
    if not lines:
        raise RequestError(f"{file} is empty. Give a file with a header line and rows.")
    lines = [lines[0], *(line for line in lines[1:] if len(line) < 100_000)]  # Python's reader has a limit

    def records(delimiter: str) -> list[int]:
        """The number of fields of each record. Without the last record if the sample may have cut it off."""
        counts = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row] or [0]
        return counts[:-1] if len(lines) == SAMPLE and len(counts) > 1 else counts

    def fields(delimiter: str) -> int:
        counts = set(records(delimiter))
        return counts.pop() if len(counts) == 1 else 0

    if preferred and records(preferred)[0] > 1:
        return preferred
    best = max(DELIMITERS, key=fields)
    return best if fields(best) > 1 else max(DELIMITERS, key=lambda mark: records(mark)[0])


def what_is_wrong(file: TextFile, delimiter: str) -> str:
    """Why a file could not be read, with line numbers and counts only."""
    wrong = text_stream.what_is_wrong(file)
    if wrong:
        return wrong
    with file.open_text() as text:
        rows = csv.reader(text, delimiter=delimiter)
        try:
            columns = len(next(rows, []))
            for row in rows:
                if row and len(row) != columns:
                    return (
                        f"line {rows.line_num} has {len(row)} fields where the header has {columns}. "
                        "Mend it; a cell that holds the delimiter must stand in quotes."
                    )
        except csv.Error:
            pass  # a cell that is too long for Python's reader, but not for Arrow's
    return f"it is damaged, or a row is longer than {BLOCK >> 20} MiB."


# --- writing


def header_line(names: list[str], delimiter: str) -> bytes:
    header = pa.record_batch([pa.array([name]) for name in names], [str(i) for i in range(len(names))])
    return bytes(lines(header, delimiter))


def lines(batch: pa.RecordBatch, delimiter: str) -> pa.Buffer:
    """The batch as CSV lines, quoted only where needed. Returns the buffer of the joined strings, without a copy."""
    columns = [_column(column, name, delimiter) for name, column in zip(batch.schema.names, batch.columns, strict=True)]
    if len(columns) == 1:  # readers would skip an empty line
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
    # Readers would take a byte order mark at the start of the first cell for that of the file.
    quoted = pc.match_substring_regex(text, f'["\\r\\n{_in_class(delimiter)}]|^$|^\\x{{FEFF}}')
    if pc.any(quoted).as_py():
        doubled = pc.replace_substring(text, '"', '""')
        mark, nothing = pa.scalar('"', pa.large_string()), pa.scalar("", pa.large_string())
        enclosed = pc.binary_join_element_wise(mark, doubled, mark, nothing)
        text = pc.if_else(quoted, enclosed, text)
    return text.fill_null("")


def _in_class(mark: str) -> str:
    return f"\\{mark}" if mark in "|\\]^-" else mark
