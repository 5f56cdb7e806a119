"""The dialect of a CSV file: its header, its delimiter and its quotes. An empty cell is a missing value, `""` is empty text.

Messages contain only line numbers and counts. The messages of CSV libraries are not used, because they quote cells.
"""

from __future__ import annotations

import csv

import pyarrow as pa
import pyarrow.compute as pc

from kohort.errors import RequestError
from kohort.tables.files import text_stream
from kohort.tables.files.text_stream import TextFile
from kohort.wording import counted

DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a vertical bar"}
"""The delimiters that kohort recognises, with their names in messages."""
SAMPLE = 20  # number of lines that are read to find the delimiter
BLOCK = 1 << 24  # bytes that a reader parses at once; also the length of the longest row that it accepts


def column_names(file: TextFile, delimiter: str) -> list[str]:
    """Return the column names in the header line."""
    with file.open_text() as text:
        names = next(csv.reader(text, delimiter=delimiter), [])
    if not names:
        raise RequestError(f"{file}: the first line is empty. Write the column names into the first line.")
    if any("\0" in name for name in names):
        raise RequestError(f"{file} cannot be read as CSV: {find_problem(file, delimiter)}")
    return names


def sniff_delimiter(file: TextFile, preferred: str | None = None) -> str:
    """Return the delimiter of a file: the preferred delimiter if the header contains it.

    Otherwise the delimiter that splits all first lines into the same number of cells, and into the most cells. If there is none,
    the delimiter that splits the header into the most cells.
    """
    with file.open_text() as text:
        lines = [line for line, _ in zip(text, range(SAMPLE), strict=False)]
    if not lines:
        raise RequestError(f"{file} is empty. Give a file with a header line and at least one row.")
    lines = [lines[0], *(line for line in lines[1:] if len(line) < 100_000)]  # Python's reader limits the length of a cell

    def cells_per_row(delimiter: str) -> list[int]:
        """Return the number of cells of each row, without the last row if the sample may have cut it off."""
        counts = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row] or [0]
        return counts[:-1] if len(lines) == SAMPLE and len(counts) > 1 else counts

    def common_number(delimiter: str) -> int:
        """Return the number of cells that all rows have; 0 if rows differ."""
        counts = set(cells_per_row(delimiter))
        return counts.pop() if len(counts) == 1 else 0

    if preferred and cells_per_row(preferred)[0] > 1:
        return preferred
    best = max(DELIMITERS, key=common_number)
    return best if common_number(best) > 1 else max(DELIMITERS, key=lambda mark: cells_per_row(mark)[0])


def find_problem(file: TextFile, delimiter: str) -> str:
    """Return why a file could not be read, with line numbers and counts only."""
    problem = text_stream.find_problem(file)
    if problem:
        return problem
    with file.open_text() as text:
        rows = csv.reader(text, delimiter=delimiter)
        try:
            columns = len(next(rows, []))
            for row in rows:
                if row and len(row) != columns:
                    return (
                        f"line {rows.line_num} has {counted(len(row), 'cell')}, but the header has {columns}. Correct this line. "
                        f"If a cell contains {DELIMITERS.get(delimiter, 'the delimiter')}, put double quotes around the cell."
                    )
        except csv.Error:
            pass  # the cell is too long for Python's reader, but not for Arrow's
    return f"the file is damaged, or a row is longer than {BLOCK >> 20} MiB. Export it again, without very long cells."


# --- writing


def header_line(names: list[str], delimiter: str) -> bytes:
    header = pa.record_batch([pa.array([name]) for name in names], [str(i) for i in range(len(names))])
    return bytes(lines(header, delimiter))


def lines(batch: pa.RecordBatch, delimiter: str) -> pa.Buffer:
    """Return the batch as CSV lines, quoted only where needed. The result is the buffer of the joined strings, without a copy."""
    columns = [_column(column, name, delimiter) for name, column in zip(batch.schema.names, batch.columns, strict=True)]
    if len(columns) == 1:  # CSV readers would skip an empty line
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
        raise RequestError(
            f"Column {name!r} has the type {column.type}, which CSV cannot store. Write a Parquet file (.parquet) instead."
        ) from None
    # Without quotes, readers would remove a byte order mark at the start of the first cell as that of the file.
    quoted = pc.match_substring_regex(text, f'["\\r\\n{_in_class(delimiter)}]|^$|^\\x{{FEFF}}')
    if pc.any(quoted).as_py():
        doubled = pc.replace_substring(text, '"', '""')
        mark, nothing = pa.scalar('"', pa.large_string()), pa.scalar("", pa.large_string())
        enclosed = pc.binary_join_element_wise(mark, doubled, mark, nothing)
        text = pc.if_else(quoted, enclosed, text)
    return text.fill_null("")


def _in_class(mark: str) -> str:
    return f"\\{mark}" if mark in "|\\]^-" else mark
