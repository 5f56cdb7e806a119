"""Convert cells to text, and convert types that SQL would change."""

from __future__ import annotations

import pyarrow as pa


def as_text(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return the values as text. SQL engines write dates and decimals differently, so Arrow makes the text."""
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    return plain.cast(pa.string())


def without_durations(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return durations as integers, because SQL would cut off their nanoseconds."""
    return column.cast(pa.int64()) if pa.types.is_duration(column.type) else column
