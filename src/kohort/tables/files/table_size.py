"""Columns, rows and bytes of a table, before its rows are read."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

ROWS_AT_ONCE = 1 << 18  # largest number of rows in a batch
BYTES_AT_ONCE = 1 << 25  # approximate limit of the bytes of a batch


@dataclass(frozen=True)
class TableSize:
    """The columns and the size of a table, known before its rows are read."""

    schema: pa.Schema
    rows: int | None
    """The number of rows; None if the rows must be read to count them."""
    size_in_memory: int
    """Estimated bytes of the table in memory. The estimate is more often too high than too low."""
    column_buffer: int = 0
    """Bytes that a reader needs for each column in addition to the rows."""


def growing_bytes(batch: pa.RecordBatch) -> int:
    """Return the bytes of a batch that grow with the number of rows, so without dictionaries."""
    return int(batch.nbytes - batch.slice(0, 0).nbytes)
