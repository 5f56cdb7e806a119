"""Shuffles rows that do not fit into memory: each row goes to a random bucket, and each bucket is shuffled in memory.

Every order of all rows has the same probability. The random bytes come from the system, never from the seed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort.engines.shared.spool import in_scratch

MOST_BUCKETS = 256  # files that are open at once
DRAWN = np.uint16


class Shuffle:
    """Takes batches of rows and returns shuffled buckets. Every read returns the rows in the same order."""

    def __init__(self, folder: Path, schema: pa.Schema, buckets: int) -> None:
        self._folder, self._schema = folder, schema
        self._many = 1 << max(0, min(buckets, MOST_BUCKETS) - 1).bit_length()  # a power of two, so that all are equally likely
        self._keys = [os.urandom(32) for _ in range(self._many)]
        with in_scratch(folder):
            self._writers = [pa.ipc.new_stream(str(self._path(bucket)), schema) for bucket in range(self._many)]

    def _path(self, bucket: int) -> Path:
        return self._folder / f"bucket-{bucket}"

    def add(self, batch: pa.RecordBatch) -> None:
        """Write each row to a random bucket."""
        drawn = np.frombuffer(os.urandom(DRAWN().itemsize * batch.num_rows), DRAWN) & DRAWN(self._many - 1)
        order = np.argsort(drawn, kind="stable")
        dealt = batch.take(pa.array(order))
        first = 0
        with in_scratch(self._folder):
            for bucket, rows in enumerate(np.bincount(drawn, minlength=self._many).tolist()):
                if rows:
                    self._writers[bucket].write_batch(dealt.slice(first, rows))
                first += rows

    def close(self) -> None:
        with in_scratch(self._folder):
            for writer in self._writers:
                writer.close()

    def buckets(self) -> Iterator[tuple[pa.Table, NDArray[np.int64]]]:
        """Yield the rows of each bucket and the order in which to publish them."""
        from kohort.kernels.core.shuffle import shuffle

        for bucket, key in enumerate(self._keys):
            with in_scratch(self._folder), pa.OSFile(str(self._path(bucket))) as file:
                table = pa.ipc.open_stream(file).read_all()
            order = np.arange(table.num_rows)
            # Derived from the system's random bytes, so that a second read gives the same order.
            shuffle(order, np.frombuffer(hashlib.shake_256(key).digest(8 * len(order)), np.uint64))
            yield table, order
