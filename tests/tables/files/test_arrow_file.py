"""Test Arrow files: both formats are read, and no value is hidden under a missing cell."""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kohort as kh
from kohort.errors import RequestError
from kohort.tables import tables


@pytest.mark.parametrize("writer", [pa.ipc.new_file, pa.ipc.new_stream])
def test_both_arrow_formats_are_read(tmp_path, writer):
    table = pa.table({"q": [1, 1, None], "s": ["a", "b", "c"]})
    with writer(tmp_path / "in.arrow", table.schema) as sink:
        sink.write_table(table, max_chunksize=2)
    assert tables.read(tmp_path / "in.arrow")[0].equals(table)
    assert kh.audit(tmp_path / "in.arrow", quasi="q", sensitive="s", k=1 + 1).k == 1


SECRET = b"SECRETSX"
HIDDEN = pa.array([False, True, False, False])


def hiding() -> dict[str, pa.Array]:
    """Return arrays whose second cell is missing, but whose memory contains the secret."""
    texts, valid = pa.array(["a", SECRET.decode(), "b", "c"]), pa.py_buffer(b"\x0d")
    eight = pa.py_buffer(b"AAAAAAAA" + SECRET + b"BBBBBBBBCCCCCCCC")
    offsets = pa.array([0, 1, 2, 3, 4], pa.int32())
    inner = pa.StructArray.from_arrays([texts], ["x"], mask=HIDDEN)
    return {
        "number": pa.Array.from_buffers(pa.int64(), 4, [valid, eight]),
        "bytes": pa.Array.from_buffers(pa.binary(8), 4, [valid, eight]),
        "text": pa.Array.from_buffers(
            pa.string(), 4, [valid, pa.py_buffer(struct.pack("<5i", 0, 1, 9, 10, 11)), pa.py_buffer(b"a" + SECRET + b"bc")]
        ),
        "list": pa.ListArray.from_arrays(offsets, texts, mask=HIDDEN),
        "struct": inner,
        "list of structs": pa.ListArray.from_arrays(offsets, inner),
        "struct of structs": pa.StructArray.from_arrays([inner], ["y"], mask=HIDDEN),
        "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, None, 2, 3]), texts),
    }


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("kind", hiding())
def test_values_under_missing_cells_are_not_in_the_file(tmp_path, kind, suffix):
    """Arrow writes its memory to the file unchanged."""
    column = hiding()[kind]
    source = pa.table({"q": [1, 1, 2, 2], "s": column})
    target = tmp_path / f"out.{suffix}"
    if suffix == "csv" and pa.types.is_nested(column.type):
        with pytest.raises(RequestError):
            kh.anonymize(source, quasi="q", sensitive="s", k=2, output=target)
        return
    kh.anonymize(source, quasi="q", sensitive="s", k=2, keep_order=True, output=target)
    assert SECRET not in target.read_bytes()
    if suffix == "arrow":
        published = tables.read(target)[0].column("s")
        assert (published.type, published.to_pylist()) == (column.type, column.to_pylist())


@pytest.mark.parametrize("kind", ["dictionary", "list of dictionary", "struct of dictionary", "text"])
def test_arrow_release_of_several_batches(tmp_path, monkeypatch, kind):
    """The file format has one dictionary for each column."""
    monkeypatch.setattr("kohort.publishing.published_rows.ROWS_AT_ONCE", 3)
    texts = pa.array(list("abcabcd"))
    column = {
        "text": texts,
        "dictionary": texts.dictionary_encode(),
        "list of dictionary": pa.ListArray.from_arrays(pa.array(range(8), pa.int32()), texts.dictionary_encode()),
        "struct of dictionary": pa.StructArray.from_arrays([texts.dictionary_encode()], ["x"]),
    }[kind]
    table = pa.table({"q": [1, 1, 2, 2, 3, 3, 4], "s": column})
    kh.anonymize(table, quasi="q", sensitive="s", k=2, keep_order=True, output=tmp_path / "out.arrow")
    published = tables.read(tmp_path / "out.arrow")[0].column("s")
    assert (published.type, published.to_pylist()) == (column.type, column.to_pylist())


@pytest.mark.parametrize("rows", [1, 3, 1000])
def test_batches_may_have_different_dictionaries(tmp_path, rows):
    """The disk engine writes batches. A file has one dictionary for each column, and batches can only add values to it."""
    cells = [None if number % 7 == 3 else f"v{number * 5 % 11}" for number in range(40)]
    schema = pa.schema([("a", pa.dictionary(pa.int32(), pa.string())), ("n", pa.int64())])
    batches = []
    for start in range(0, len(cells), rows):
        part = pa.array(cells[start : start + rows], pa.string()).dictionary_encode()
        batches.append(pa.record_batch([part, pa.array(range(start, start + len(part)))], schema=schema))
    path = tmp_path / "out.arrow"
    path.touch()
    tables.batches_to_file(batches, schema, path, tables.format_of(path))
    read = tables.read(path)[0]
    assert read.column("a").cast(pa.string()).to_pylist() == cells
    assert read.column("n").to_pylist() == list(range(40))


def test_disk_engine_keeps_order_of_rows_in_arrow_file(tmp_path):
    ages = sorted(number * 7919 % 500 for number in range(4_000))
    table = pa.table({"age": ages, "s": [f"s{number % 5}" for number in range(4_000)]})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=300)
    settings: dict[str, Any] = {"quasi": "age", "sensitive": "s", "k": 5, "method": "mondrian", "keep_order": True, "seed": 1}
    release = kh.anonymize(tmp_path / "in.parquet", engine="disk", output=tmp_path / "out.arrow", **settings)
    assert release.evidence.passed
    memory = kh.anonymize(tmp_path / "in.parquet", engine="memory", output=tmp_path / "memory.arrow", **settings)
    assert memory.evidence.passed
    both = [tables.read(tmp_path / name)[0].column("age").cast(pa.string()).to_pylist() for name in ("out.arrow", "memory.arrow")]
    assert both[0] == both[1]
