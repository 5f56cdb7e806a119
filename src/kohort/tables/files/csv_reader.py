"""Read CSV files as tables of text, at once or in batches. Both ways return the same cells and reject the same files."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from kohort.errors import RequestError
from kohort.tables.files import csv_dialect, csv_structure
from kohort.tables.files.table_size import TableSize
from kohort.tables.files.text_stream import TextFile
from kohort.wording import row_number

PARSED_AT_ONCE = 4  # number of parts of a file; each is in memory as text and as cells
CELL = 4.125  # bytes of a cell in memory in addition to its text


@dataclass(frozen=True)
class CsvTable:
    """See `StoredTable`. Every column is text. An empty cell is a missing value; a quoted empty cell is empty text."""

    file: TextFile
    delimiter: str

    def schema(self) -> pa.Schema:
        return pa.schema([(name, pa.string()) for name in csv_dialect.column_names(self.file, self.delimiter)])

    def table_size(self) -> TableSize:
        """Return the size, estimated from the first lines: short cells need more bytes in memory than in the file."""
        schema = self.schema()
        with self.file.open_bytes() as stream:
            head = stream.read(csv_structure.PIECE)
        text = self.file.size()
        cells = len(schema) * max(1, head.count(b"\n")) * text / max(1, len(head))
        return TableSize(schema, None, int(text + CELL * cells))

    def read(self) -> pa.Table:
        schema = self.schema()
        last = csv_structure.require_valid_structure(self.file, self.delimiter)
        with self.file.open_bytes() as stream:
            try:
                options = pacsv.ReadOptions(column_names=schema.names, skip_rows_after_names=1, block_size=csv_dialect.BLOCK)
                table = self._parse(stream, options)
            except pa.ArrowInvalid:
                if self._has_rows():
                    raise
                return schema.empty_table()  # the file has only a header
        self._require_short_rows(table)
        return _with_last_missing(table) if table.num_rows and last == self.delimiter.encode() else table

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        rows = 0
        try:
            for table, may_be_long in self._parsed(columns):
                if may_be_long:
                    self._require_short_rows(table, rows)
                rows += table.num_rows
                yield from table.select(columns).to_batches()
        except pa.ArrowInvalid:
            csv_structure.require_valid_structure(self.file, self.delimiter)  # raise the same error as `read`
            raise

    def read_error(self) -> str:
        return f"cannot be read as CSV: {csv_dialect.find_problem(self.file, self.delimiter)}"

    def _parsed(self, columns: Sequence[str]) -> Iterator[tuple[pa.Table, bool]]:
        """Yield the parsed parts of the file, and whether each may have very long rows. The next parts are parsed meanwhile."""
        names = self.schema().names

        def parse(part: bytes, may_be_long: bool, skipped: int) -> tuple[pa.Table, bool]:
            _require_utf8(part)
            options = pacsv.ReadOptions(
                column_names=names, skip_rows_after_names=skipped, block_size=len(part), use_threads=False
            )
            return self._parse(pa.BufferReader(part), options, () if may_be_long else columns, checked=True), may_be_long

        at_once = min(PARSED_AT_ONCE, pa.cpu_count())
        pool = ThreadPoolExecutor(at_once)
        waiting: deque[Future[tuple[pa.Table, bool]]] = deque()
        try:
            for number, (part, may_be_long) in enumerate(
                csv_structure.whole_rows(self.file, self.delimiter, 2 * csv_dialect.BLOCK)
            ):
                waiting.append(pool.submit(parse, part, may_be_long, int(number == 0)))
                if len(waiting) > at_once:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)

    def _parse(self, stream: Any, options: Any, columns: Sequence[str] = (), *, checked: bool = False) -> pa.Table:
        """Parse all columns, or those named. Set `checked` if the text is known to be UTF-8."""
        names = options.column_names
        is_only = len(names) == 1  # in a file with one column, an empty line or "" is a missing value
        return pacsv.read_csv(
            stream,
            options,
            pacsv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True, ignore_empty_lines=not is_only),
            pacsv.ConvertOptions(
                check_utf8=not checked,
                column_types=dict.fromkeys(names, pa.string()),
                include_columns=columns,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=is_only,
            ),
        )

    def _has_rows(self) -> bool:
        with self.file.open_text() as text:
            rows = csv.reader(text, delimiter=self.delimiter)
            next(rows, None)
            return any(rows)

    def _require_short_rows(self, table: pa.Table, before: int = 0) -> None:
        """Raise a RequestError if a row is very long. Arrow, and readers of the release, may fail on rows longer than a block."""
        limit = csv_dialect.BLOCK // 2  # in the release, quotes may be doubled
        longest = sum(pc.max(pc.binary_length(column)).as_py() or 0 for column in table.columns)
        if longest < limit:
            return
        lengths = pa.chunked_array(table.column(0).chunks and [pa.array(np.zeros(table.num_rows, np.int64))])
        for column in table.columns:
            lengths = pc.add(lengths, pc.binary_length(column).fill_null(0).cast(pa.int64()))
        long = pc.greater_equal(lengths, limit)
        if pc.any(long).as_py():
            row = row_number(before + pc.index(long, value=True).as_py())
            raise RequestError(f"{self.file}: {row} is longer than {limit >> 20} MiB. Shorten or remove its long cells.")


def _require_utf8(text: bytes) -> None:
    """Raise an Arrow error if the text is not UTF-8. This checks all columns, whichever columns are read."""
    ends = np.array([0, len(text)], np.int64)
    pa.Array.from_buffers(pa.large_string(), 1, [None, pa.py_buffer(ends), pa.py_buffer(text)]).validate(full=True)


def _with_last_missing(table: pa.Table) -> pa.Table:
    """Set the last cell to missing. Arrow reads an empty cell at the end of the file, after a quoted cell, as empty text."""
    names, cells = table.column_names, table.column(table.num_columns - 1)
    ended = pa.chunked_array([*cells.slice(0, len(cells) - 1).chunks, pa.array([None], cells.type)])
    return table.set_column(len(names) - 1, names[-1], ended)
