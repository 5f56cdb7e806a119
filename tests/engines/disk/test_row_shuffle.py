"""Rows are shuffled in buckets on disk, and no row is lost."""

from __future__ import annotations

import pyarrow as pa

from kohort.engines.disk.row_shuffle import Shuffle


def test_buckets_have_similar_sizes_and_hold_every_row_once(tmp_path):
    shuffle = Shuffle(tmp_path, pa.schema([("n", pa.int64())]), 8)
    for first in range(0, 8_000, 1_000):
        shuffle.add(pa.record_batch({"n": pa.array(range(first, first + 1_000))}))
    shuffle.close()
    buckets = [table.take(pa.array(order)).column("n").to_pylist() for table, order in shuffle.buckets()]
    assert sorted(number for bucket in buckets for number in bucket) == list(range(8_000))
    assert all(800 < len(bucket) < 1_200 for bucket in buckets)
    assert all(bucket != sorted(bucket) for bucket in buckets)
    again = [table.take(pa.array(order)).column("n").to_pylist() for table, order in shuffle.buckets()]
    assert again == buckets  # the same order for a second write, so that the originals of the audit still match
