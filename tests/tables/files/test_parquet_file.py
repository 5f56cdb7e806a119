"""Test that Parquet files keep types, and contain no values that occur in no row."""

from __future__ import annotations

import base64

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kohort as kh
from tests.tables.files.sample_files import RARE, TYPES


@pytest.mark.parametrize("kind", TYPES)
def test_parquet_types_are_kept(tmp_path, kind):
    table = pa.table({"q": [1, 1, 2, 2], "s": TYPES[kind]})
    pq.write_table(table, tmp_path / "in.parquet")
    release = kh.anonymize(
        tmp_path / "in.parquet", quasi="q", sensitive="s", k=2, keep_order=True, output=tmp_path / "out.parquet"
    )
    published = pq.read_table(tmp_path / "out.parquet").column("s")
    assert published.type == release.table.schema.field("s").type == table.schema.field("s").type
    assert str(published.to_pylist()) == str(table.column("s").to_pylist())


def test_values_of_no_row_are_not_in_the_file(tmp_path):
    frame = pd.DataFrame({"q": [1, 1, 2, 2], "s": pd.Categorical(["a", "b", "a", "b"], ["a", "b", RARE]), "id": [RARE] * 4})
    frame.attrs["note"] = RARE
    table = pa.Table.from_pandas(frame)
    fields = [field.with_metadata({"why": RARE}) for field in table.schema]
    table = table.cast(pa.schema(fields, {**table.schema.metadata, b"note": RARE.encode()}))
    for source in (frame, table):
        kh.anonymize(source, quasi="q", sensitive="s", drop="id", k=2, output=tmp_path / "o.parquet", force=True)
        assert RARE.encode() not in (tmp_path / "o.parquet").read_bytes()
        file = pq.ParquetFile(tmp_path / "o.parquet")
        assert sorted(file.read().column("s").chunk(0).dictionary.to_pylist()) == ["a", "b"]
        assert set(file.metadata.metadata or {}) <= {b"ARROW:schema"}
        stored = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(file.metadata.metadata[b"ARROW:schema"])))
        assert not stored.metadata
        assert not any(field.metadata for field in stored)
