"""Cells as the text that every part of kohort agrees on, and types that SQL would change."""

from __future__ import annotations

import pyarrow as pa


def as_text(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The values as text. SQL engines disagree on the text of dates and decimals, so they do not make it."""
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    return plain.cast(pa.string())


def without_durations(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Durations as integers: SQL would cut off their nanoseconds."""
    return column.cast(pa.int64()) if pa.types.is_duration(column.type) else column
