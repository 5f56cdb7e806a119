"""Test the sizes of batches and dictionaries."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kohort.tables import tables
from kohort.tables.files import arrow_file as arrow_ipc
from kohort.tables.files import table_size as shapes
from tests.tables.streamed import together, wide

MIB = 1 << 20


# --- sizes


@pytest.mark.parametrize(("group", "large"), [(1 << 16, 1 << 27), (1 << 20, 1 << 10)])
def test_batches_of_a_long_table_have_the_largest_size(tmp_path, monkeypatch, group, large):
    monkeypatch.setattr(arrow_ipc, "LARGE", large)
    rows = 2 * shapes.ROWS_AT_ONCE + 5
    table = pa.table({"q": pa.array(np.arange(rows) % 997, pa.int16()), "s": pa.array(np.arange(rows))})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=group)
    with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as sink:
        sink.write_table(table)
    for source in (tmp_path / "in.parquet", tmp_path / "in.arrow", table):
        stream = tables.open_stream(source)
        assert together(stream, ["s", "q"]).equals(table.select(["s", "q"]))
        assert [batch.num_rows for batch in stream.batches(["q"])] == [shapes.ROWS_AT_ONCE] * 2 + [5]
        assert 0.99 < stream.size_in_memory / table.nbytes < 1.2


WIDE = {
    "same length": [3000] * 15_000,
    "the last are long": [2] * 60_000 + [40_000] * 1200,
    "one is long": [2] * 5000 + [40 * MIB],
}


@pytest.mark.parametrize("lengths", WIDE)
@pytest.mark.parametrize("kind", ["parquet", "arrow", "table"])
def test_batches_of_long_text_are_small(tmp_path, monkeypatch, kind, lengths):
    monkeypatch.setattr(arrow_ipc, "LARGE", MIB)
    table = wide(WIDE[lengths])
    if kind == "parquet":
        pq.write_table(table, tmp_path / "in.parquet")
    elif kind == "arrow":
        with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as sink:
            sink.write_table(table)
    stream = tables.open_stream(table if kind == "table" else tmp_path / f"in.{kind}")
    assert together(stream).equals(table)
    assert lengths != "same length" or stream.size_in_memory >= table.nbytes
    assert [batch.num_rows for batch in stream.batches(["q"])] == [table.num_rows], (
        "columns that are not read must not make batches smaller"
    )


def test_dictionary_larger_than_a_batch():
    texts = pa.array([f"{number:0400}" for number in range(100_000)])
    table = pa.table({"s": pa.DictionaryArray.from_arrays(pa.array(np.arange(300_000) % 100_000, pa.int32()), texts)})
    assert len(list(tables.open_stream(table).batches())) == 2
