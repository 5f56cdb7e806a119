"""Parquet files. Batches have a limited size, however large the row groups are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kohort.tables.files.file_format import FileFormat, sql_text
from kohort.tables.files.table_size import BYTES_AT_ONCE, ROWS_AT_ONCE, TableSize, growing_bytes

VALID = 1 / 8  # bytes of a cell's missing flag
BUFFER = 1 << 18  # bytes of a column that are read at once
MANY = 1 << 10  # columns to expect before the file is open
TIMES_A_COLUMN, MOST_OF_A_COLUMN = 2.5, 3 << 20
TRIED_GROUPS, TRIED_ROWS = 8, 1 << 10  # read to estimate the length of texts
READ_ERROR = "cannot be read as parquet: it is damaged, cut short, or not a Parquet file."


@dataclass(frozen=True)
class ParquetTable:
    """See `StoredTable`."""

    path: Path

    def schema(self) -> pa.Schema:
        return pq.read_schema(self.path)

    def table_size(self) -> TableSize:
        with self._open(MANY) as file:
            schema = file.schema_arrow
            sizes = _Sizes(file, schema.names)
            size = int(sum(map(sizes.bytes_of, range(file.num_row_groups))))
            return TableSize(schema, file.metadata.num_rows, size, sizes.column_buffer())

    def read(self) -> pa.Table:
        return pq.ParquetFile(self.path).read()

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Page by page, because a row group may be larger than memory. Row groups of similar size are read together."""
        with self._open(len(columns)) as file:
            sizes = _Sizes(file, columns)
            for rows, groups in groupby(range(file.num_row_groups), sizes.rows_at_once):
                yield from file.iter_batches(rows, row_groups=list(groups), columns=list(columns))

    def read_error(self) -> str:
        return READ_ERROR

    def _open(self, columns: int) -> Any:
        buffer = max(1 << 12, min(BUFFER, BYTES_AT_ONCE // columns))
        return pq.ParquetFile(self.path, buffer_size=buffer, pre_buffer=False)


class ParquetFormat(FileFormat):
    """See `FileFormat`."""

    name = "parquet"
    title = "Parquet"
    suffixes = (".parquet", ".pq")
    first_bytes = b"PAR1"
    is_audited_in_place = True
    is_copied_for_audit = False
    is_read_by_spark = True

    def open(self, path: Path, title: str) -> ParquetTable:
        del title
        return ParquetTable(path)

    def write(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: Path) -> None:
        # Rows are shuffled, so statistics would help no reader; without them writing takes half the time.
        with pq.ParquetWriter(path, schema, compression="zstd", compression_level=1, write_statistics=False) as writer:
            for batch in batches:
                writer.write_batch(batch)

    def duckdb_rows(self, path: Path, columns: Sequence[str]) -> str:
        del columns
        return f"read_parquet({sql_text(str(path))}, hive_partitioning=false)"

    @property
    def spark_source(self) -> str:
        return "parquet"

    def spark_write_options(self) -> dict[str, Any]:
        return {"compression": "zstd"}


FORMAT = ParquetFormat


class _Sizes:
    """How many bytes columns take in memory, as far as the metadata of the file says.

    The metadata do not say how long repeated texts are, so some rows are read. The metadata of single columns are not used:
    pyarrow ends the process if they are damaged.
    """

    def __init__(self, file: Any, columns: Sequence[str]) -> None:
        self._groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
        asked = set(columns)
        widths = {field.name: _width(field.type) for field in file.schema_arrow if field.name in asked}
        loose = [name for name, width in widths.items() if width is None]
        tried = list(self._try(file, loose)) if loose else []
        self._is_loose = bool(loose)
        self._row = sum(width for width in widths.values() if width is not None)
        self._row += max((growing_bytes(batch) / batch.num_rows for batch in tried), default=0)
        self._dictionaries = max((batch.nbytes - growing_bytes(batch) for batch in tried), default=0)

    def bytes_of(self, number: int) -> float:
        """Bytes of a row group in memory. All bytes in the file may belong to the columns whose cells differ in width."""
        group = self._groups[number]
        told = float(self._row * group.num_rows + self._dictionaries)
        return max(told, float(group.total_byte_size)) if self._is_loose else told

    def column_buffer(self) -> int:
        """Bytes that a column's reader holds: a dictionary, and a page before and after decompression. Measured."""
        columns = max((group.total_byte_size / max(1, group.num_columns) for group in self._groups), default=0)
        return int(min(TIMES_A_COLUMN * columns, MOST_OF_A_COLUMN))

    def rows_at_once(self, number: int) -> int:
        """Rows of a batch: a power of two, so that neighbouring row groups often have the same."""
        row = self.bytes_of(number) / max(1, self._groups[number].num_rows)
        most = min(ROWS_AT_ONCE, BYTES_AT_ONCE // max(1, int(row)))
        return 1 << max(0, most.bit_length() - 1)

    def _try(self, file: Any, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The first rows of some row groups."""
        filled = [number for number, group in enumerate(self._groups) if group.num_rows]
        for number in filled[:: len(filled) // TRIED_GROUPS + 1]:
            batches = file.iter_batches(TRIED_ROWS, row_groups=[number], columns=list(columns))
            yield from (batch for batch in islice(batches, 1) if batch.num_rows)


def _width(data_type: pa.DataType) -> float | None:
    """Bytes of a cell; None if cells differ in width."""
    try:
        return None if pa.types.is_dictionary(data_type) else float(data_type.bit_width / 8 + VALID)
    except ValueError:
        return None
