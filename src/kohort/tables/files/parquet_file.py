"""Parquet files. The size of a batch is limited, even if row groups are large."""

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

VALID = 1 / 8  # bytes of the flag that says whether a cell is missing
BUFFER = 1 << 18  # bytes of a column that are read at once
MANY = 1 << 10  # assumed number of columns before the file is open
TIMES_A_COLUMN, MOST_OF_A_COLUMN = 2.5, 3 << 20
SAMPLED_GROUPS, SAMPLED_ROWS = 8, 1 << 10  # row groups, and rows of each, that are read to estimate the length of text
READ_ERROR = "cannot be read as Parquet: the file is damaged, incomplete or not a Parquet file. Copy or export it again."


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
        """Yield the rows. Pages are read one by one, because a row group may be larger than the memory.

        Row groups of similar size are read together.
        """
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
        # The rows are shuffled, so statistics do not help readers. Without them, writing takes half the time.
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
    """The bytes that columns need in memory, estimated from the metadata of the file.

    The metadata do not contain the length of repeated text, so some rows are read. The metadata of single columns are not used,
    because pyarrow ends the process if they are damaged.
    """

    def __init__(self, file: Any, columns: Sequence[str]) -> None:
        self._groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
        chosen = set(columns)
        widths = {field.name: _width(field.type) for field in file.schema_arrow if field.name in chosen}
        variable = [name for name, width in widths.items() if width is None]
        samples = list(self._sample_rows(file, variable)) if variable else []
        self._has_variable_width = bool(variable)
        self._row = sum(width for width in widths.values() if width is not None)
        self._row += max((growing_bytes(batch) / batch.num_rows for batch in samples), default=0)
        self._dictionaries = max((batch.nbytes - growing_bytes(batch) for batch in samples), default=0)

    def bytes_of(self, number: int) -> float:
        """Return the bytes of a row group in memory. All bytes in the file may belong to columns whose cells differ in width."""
        group = self._groups[number]
        size = float(self._row * group.num_rows + self._dictionaries)
        return max(size, float(group.total_byte_size)) if self._has_variable_width else size

    def column_buffer(self) -> int:
        """Return the bytes that a column's reader needs: a dictionary, and a page before and after decompression.

        The two constants were found by measurement.
        """
        columns = max((group.total_byte_size / max(1, group.num_columns) for group in self._groups), default=0)
        return int(min(TIMES_A_COLUMN * columns, MOST_OF_A_COLUMN))

    def rows_at_once(self, number: int) -> int:
        """Return the rows of a batch. It is a power of two, so that neighbouring row groups often have the same number."""
        row = self.bytes_of(number) / max(1, self._groups[number].num_rows)
        most = min(ROWS_AT_ONCE, BYTES_AT_ONCE // max(1, int(row)))
        return 1 << max(0, most.bit_length() - 1)

    def _sample_rows(self, file: Any, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the first rows of some row groups."""
        filled = [number for number, group in enumerate(self._groups) if group.num_rows]
        for number in filled[:: len(filled) // SAMPLED_GROUPS + 1]:
            batches = file.iter_batches(SAMPLED_ROWS, row_groups=[number], columns=list(columns))
            yield from (batch for batch in islice(batches, 1) if batch.num_rows)


def _width(data_type: pa.DataType) -> float | None:
    """Return the bytes of a cell; None if cells differ in width."""
    try:
        return None if pa.types.is_dictionary(data_type) else float(data_type.bit_width / 8 + VALID)
    except ValueError:
        return None
