"""The memory limit of a run, and how many rows fit into it."""

from __future__ import annotations

import os
import resource
import sys
from dataclasses import dataclass
from pathlib import Path

from kohort.engines.shared.packed_table import PackedTable

RESERVE = 96 << 20  # memory of readers, writers and the interpreter, in addition to the rows that are counted here
LEAST_ROOM = 64 << 20
MOST_ROWS_IN_BUCKET = 1 << 20
_STATM = Path("/proc/self/statm")


def resident() -> int:
    """Return the resident memory of this process in bytes. Without /proc, return its peak so far."""
    try:
        return int(_STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


@dataclass(frozen=True)
class Limits:
    """The memory limit of a run, in bytes of resident memory of the whole process."""

    memory: int
    most_rows: int | None = None

    def room(self) -> int:
        """Return the bytes that may still be used."""
        return max(self.memory - resident() - RESERVE, LEAST_ROOM)

    def rows_at_once(self, packed: PackedTable) -> int:
        """Return how many rows can be cut and grouped in memory."""
        axes = len(packed.quasi.codings)
        code = packed.template.codes.dtype.itemsize
        words = 8 * packed.words * 3  # the rows as they were read, and two copies for cutting
        points = 3 * axes * code + 16 * len(packed.sensitive) + 8 * len(packed.quasi.codings) * bool(packed.ordered)
        people = 24 * (2 + len(packed.sensitive)) * bool(packed.persons)  # numbered, sorted, and paired with each sensitive value
        fitting = max(self.room() // (words + points + people + 80), 1)
        return fitting if self.most_rows is None else min(fitting, self.most_rows)

    def buckets(self, rows: int, row_bytes: float) -> int:
        """Return how many buckets a shuffle needs so that several copies of one bucket fit into memory."""
        rows_in_one = min(MOST_ROWS_IN_BUCKET, self.room() / (8 * row_bytes + 400))
        return max(1, round(rows / max(rows_in_one, 1) + 0.5))
