"""What is known of a table before its rows are read."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

ROWS_AT_ONCE = 1 << 18  # of a batch at most
BYTES_AT_ONCE = 1 << 25


@dataclass(frozen=True)
class TableSize:
    """Columns, rows (None if only reading tells) and bytes it takes in memory, rather too many than too few."""

    schema: pa.Schema
    rows: int | None
    size: int
    column_buffer: int = 0
    """Bytes that reading holds for every column beside its rows."""


def growing_bytes(batch: pa.RecordBatch) -> int:
    """What becomes less with fewer rows: not dictionaries."""
    return int(batch.nbytes - batch.slice(0, 0).nbytes)
