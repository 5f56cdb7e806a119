"""Rows are shuffled to parts on disk; none is lost."""

from __future__ import annotations

import pyarrow as pa

from kohort.engines.disk.row_shuffle import Shuffle


def test_rows_are_dealt_evenly_and_none_is_lost(tmp_path):
    shuffle = Shuffle(tmp_path, pa.schema([("n", pa.int64())]), 8)
    for first in range(0, 8_000, 1_000):
        shuffle.add(pa.record_batch({"n": pa.array(range(first, first + 1_000))}))
    shuffle.close()
    buckets = [table.take(pa.array(order)).column("n").to_pylist() for table, order in shuffle.buckets()]
    assert sorted(number for bucket in buckets for number in bucket) == list(range(8_000))
    assert all(800 < len(bucket) < 1_200 for bucket in buckets)
    assert all(bucket != sorted(bucket) for bucket in buckets)
    again = [table.take(pa.array(order)).column("n").to_pylist() for table, order in shuffle.buckets()]
    assert again == buckets  # the release can be written again, the audit's row map still holds
