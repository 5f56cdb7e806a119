"""Reads CSV files as tables of text, whole or in batches. Both find the same cells and refuse the same files."""

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

PARSED_AT_ONCE = 4  # parts of a file, each in memory as text and as cells
CELL = 4.125  # bytes that a cell takes in addition to its text


@dataclass(frozen=True)
class CsvTable:
    """See `StoredTable`. Every column is text. An empty cell is missing; a quoted empty cell is the empty text."""

    file: TextFile
    delimiter: str

    def schema(self) -> pa.Schema:
        return pa.schema([(name, pa.string()) for name in csv_dialect.column_names(self.file, self.delimiter)])

    def table_size(self) -> TableSize:
        """The size is estimated from the first lines: short cells take more room in memory than in the file."""
        schema = self.schema()
        with self.file.open_bytes() as stream:
            head = stream.read(csv_structure.PIECE)
        text = self.file.size()
        cells = len(schema) * max(1, head.count(b"\n")) * text / max(1, len(head))
        return TableSize(schema, None, int(text + CELL * cells))

    def read(self) -> pa.Table:
        schema = self.schema()
        last = csv_structure.require_in_order(self.file, self.delimiter)
        with self.file.open_bytes() as stream:
            try:
                options = pacsv.ReadOptions(column_names=schema.names, skip_rows_after_names=1, block_size=csv_dialect.BLOCK)
                table = self._parse(stream, options)
            except pa.ArrowInvalid:
                if self._has_rows():
                    raise
                return schema.empty_table()  # a header alone
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
            csv_structure.require_in_order(self.file, self.delimiter)  # the error that `read` would raise first
            raise

    def read_error(self) -> str:
        return f"cannot be read as csv: {csv_dialect.what_is_wrong(self.file, self.delimiter)}"

    def _parsed(self, columns: Sequence[str]) -> Iterator[tuple[pa.Table, bool]]:
        """The file in parts, each with whether its rows may be very long. The next parts are parsed while the caller uses one."""
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
        """All columns, or those named. `checked` if the text is known to be UTF-8."""
        names = options.column_names
        lone = len(names) == 1  # in a lone column an empty line, or "", is a missing cell
        return pacsv.read_csv(
            stream,
            options,
            pacsv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True, ignore_empty_lines=not lone),
            pacsv.ConvertOptions(
                check_utf8=not checked,
                column_types=dict.fromkeys(names, pa.string()),
                include_columns=columns,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=lone,
            ),
        )

    def _has_rows(self) -> bool:
        with self.file.open_text() as text:
            rows = csv.reader(text, delimiter=self.delimiter)
            next(rows, None)
            return any(rows)

    def _require_short_rows(self, table: pa.Table, before: int = 0) -> None:
        """Refuse very long rows: Arrow, and readers of the release, read only some rows that are longer than a block."""
        limit = csv_dialect.BLOCK // 2  # quotes may be doubled in the release
        longest = sum(pc.max(pc.binary_length(column)).as_py() or 0 for column in table.columns)
        if longest < limit:
            return
        lengths = pa.chunked_array(table.column(0).chunks and [pa.array(np.zeros(table.num_rows, np.int64))])
        for column in table.columns:
            lengths = pc.add(lengths, pc.binary_length(column).fill_null(0).cast(pa.int64()))
        long = pc.greater_equal(lengths, limit)
        if pc.any(long).as_py():
            row = before + pc.index(long, value=True).as_py() + 1
            raise RequestError(f"{self.file}: row {row} has more than {limit >> 20} MiB. Leave such cells out.")


def _require_utf8(text: bytes) -> None:
    """Check all columns, so that a damaged file is refused whichever columns are read."""
    ends = np.array([0, len(text)], np.int64)
    pa.Array.from_buffers(pa.large_string(), 1, [None, pa.py_buffer(ends), pa.py_buffer(text)]).validate(full=True)


def _with_last_missing(table: pa.Table) -> pa.Table:
    """An empty cell at the end of the file is missing. After a quoted cell, Arrow reads it as empty text."""
    names, cells = table.column_names, table.column(table.num_columns - 1)
    ended = pa.chunked_array([*cells.slice(0, len(cells) - 1).chunks, pa.array([None], cells.type)])
    return table.set_column(len(names) - 1, names[-1], ended)
