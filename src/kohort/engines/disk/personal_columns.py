"""Checks whether a column identifies people by itself. The column is read in batches and may have any number of values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort.encoding.row_order import text_hashes
from kohort.engines.shared.spool import Spool
from kohort.schema.columns import personal, words_of

ROWS_AT_ONCE = 1 << 23
WORD_BITS = np.uint64(8)


class PersonalColumnCheck:
    """Counts unique values and words per text. A hash of each value is enough for that."""

    def __init__(self, path: Path) -> None:
        self._seen = Spool(path, np.uint64)
        self._rows = 0

    def add(self, column: pa.Array) -> None:
        self._rows += len(column)
        column = column.drop_null()
        counted = words_of(column)
        words = np.zeros(len(column), np.uint64)
        if counted is not None:
            words = np.minimum(counted.to_numpy(zero_copy_only=False), 255).astype(np.uint64)
        self._seen.append((text_hashes(column) << WORD_BITS) | words)

    def reason(self) -> str | None:
        """Return why the column may identify people, or None."""
        parts = 1 << max(0, (self._seen.rows // ROWS_AT_ONCE).bit_length())
        unique, different, words = 0, 0, 0
        for part in range(parts):
            values, counts = np.unique(self._part(part, parts), return_counts=True)
            unique += int(np.count_nonzero(counts == 1))
            different += len(values)
            words += int((values & np.uint64(255)).sum())
        return personal(self._rows, unique, words / different) if different else None

    def _part(self, part: int, parts: int) -> NDArray[np.uint64]:
        """Return the hashes whose highest bits are `part`."""
        shift = np.uint64(64 - (parts.bit_length() - 1))
        if parts == 1:
            return self._seen.read()
        return np.concatenate([chunk[chunk >> shift == part] for chunk in self._seen.chunks()])

    def remove(self) -> None:
        self._seen.remove()
