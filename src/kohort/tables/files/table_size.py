"""Columns, rows and bytes of a table, before its rows are read."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

ROWS_AT_ONCE = 1 << 18  # the most rows of a batch
BYTES_AT_ONCE = 1 << 25  # about the most bytes of a batch


@dataclass(frozen=True)
class TableSize:
    """What is known of a table before its rows are read."""

    schema: pa.Schema
    rows: int | None
    """None if the rows must be read to count them."""
    size_in_memory: int
    """What the table takes in memory, estimated rather too high than too low."""
    column_buffer: int = 0
    """Bytes that a reader holds for every column in addition to the rows."""


def growing_bytes(batch: pa.RecordBatch) -> int:
    """Bytes of a batch that grow with its rows, so without dictionaries."""
    return int(batch.nbytes - batch.slice(0, 0).nbytes)
