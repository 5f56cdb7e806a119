"""Test that reading a table in batches gives the same table as reading it at once."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kohort.errors import RequestError
from kohort.tables import tables
from kohort.tables.files import arrow_file as arrow_ipc
from kohort.tables.files import csv_structure as csv_rows
from kohort.tables.tables import FORMATS
from tests.tables.files.sample_files import RARE, TYPES
from tests.tables.streamed import drained, read, require_same, together, written

ROWS = 5000
WRITERS: dict[str, Callable[..., object]] = {"file": pa.ipc.new_file, "stream": pa.ipc.new_stream}


# --- types


def repeated(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        indices = pa.concat_arrays([column.indices] * (ROWS // 4))
        return pa.DictionaryArray.from_arrays(indices, column.dictionary, ordered=column.type.ordered)
    return pa.concat_arrays([column] * (ROWS // 4))


TEXTS = pa.array([f"té{number % 97}" if number % 11 else None for number in range(ROWS)])
OFFSETS = pa.array(range(ROWS + 1), pa.int32())
COLUMNS = {
    **{name: repeated(column) for name, column in TYPES.items()},
    "text": TEXTS,
    "struct": pa.StructArray.from_arrays([TEXTS, pa.array(range(ROWS))], ["x", "y"]),
    "list of text": pa.ListArray.from_arrays(OFFSETS, TEXTS),
    "map": pa.array([[("a", 1)], None, [], [("b", None), ("c", 2)]] * (ROWS // 4), pa.map_(pa.string(), pa.int32())),
    "half float": pa.array(np.arange(ROWS, dtype=np.float16)),
    "text view": TEXTS.cast(pa.string_view()),
    "nothing": pa.nulls(ROWS),
    "dictionary of numbers": pa.array([5, None, 7, 9] * (ROWS // 4)).dictionary_encode(),
    "a time": pa.array([dt.time(1, 2), None] * (ROWS // 2)),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_stream_of_parquet_matches_read_for_every_type(tmp_path, kind):
    pq.write_table(
        pa.table({"q": pa.array(range(ROWS), pa.int16()), "s": COLUMNS[kind]}), tmp_path / "in.pq", row_group_size=1700
    )
    assert require_same(tmp_path / "in.pq").rows == ROWS


@pytest.mark.parametrize("packed", [None, "zstd"])
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("kind", [*COLUMNS, "list of dictionary"])
def test_stream_of_arrow_matches_read_for_every_type(tmp_path, kind, writer, packed):
    column = COLUMNS.get(kind, pa.ListArray.from_arrays(OFFSETS, TEXTS.dictionary_encode()))
    table = pa.table({"q": pa.array(range(ROWS), pa.int16()), "s": column})
    options = pa.ipc.IpcWriteOptions(compression=packed, unify_dictionaries=True)
    with WRITERS[writer](tmp_path / "in.arrow", table.schema, options=options) as sink:  # type: ignore[attr-defined]
        sink.write_table(table, max_chunksize=1999)
    require_same(tmp_path / "in.arrow")


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_stream_of_file_without_rows_is_empty(tmp_path, suffix):
    path = tmp_path / f"in.{suffix}"
    path.touch()
    schema = pa.schema({"q": pa.string(), "s": pa.string()})
    tables.batches_to_file([], schema, path, FORMATS[suffix]())
    assert list(require_same(path).batches()) == []


def test_metadata_are_dropped(tmp_path):
    field = pa.field("q", pa.list_(pa.field("item", pa.int32(), metadata={"why": RARE})), metadata={"why": RARE})
    table = pa.table([[[1], [2]]], pa.schema([field], {"note": RARE}))
    pq.write_table(table, tmp_path / "in.parquet")
    for source in (table, tmp_path / "in.parquet"):
        stream = require_same(source)
        assert RARE not in stream.schema.to_string(show_field_metadata=True, show_schema_metadata=True)


def test_column_names_with_dots(tmp_path):
    """The Parquet reader also returns `a.b` if the column `a` is selected."""
    columns = {"a": [1, 2], "a.b": ["x", "y"], "c": [{"d": 1}, {"d": 2}], "c.d": [3, 4]}
    pq.write_table(pa.table(columns), tmp_path / "in.parquet")
    stream = require_same(tmp_path / "in.parquet")
    for name, cells in columns.items():
        assert together(stream, [name]).to_pydict() == {name: cells}


@pytest.mark.parametrize("source", [17, None, [1, 2], b"a,b", "none.csv", "none.parquet", "none*.csv"])
def test_stream_raises_same_error_as_read(source):
    message = read(source)
    assert isinstance(message, str)
    assert drained(source) == message


# --- folders and patterns


@pytest.mark.parametrize("suffix", ["csv", "tsv.gz", "csv.zst", "parquet", "feather"])
def test_stream_of_several_files_matches_read(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(csv_rows, "PIECE", 1000)
    (tmp_path / "in" / "city=02139").mkdir(parents=True)
    (tmp_path / "in" / "city=__HIVE_DEFAULT_PARTITION__").mkdir()
    for number, folder in enumerate(sorted((tmp_path / "in").iterdir())):
        for part in range(2):
            path = folder / f"part-{part}.{suffix}"
            path.touch()
            rows = range(1000 * (2 * number + part), 1000 * (2 * number + part + 1))
            table = pa.table({"q": [f"{row}" for row in rows], "s": [f"s{row % 7}" for row in rows]})
            table = table.select(["s", "q"]) if part else table
            tables.batches_to_file(table.to_batches(max_chunksize=300), table.schema, path, tables.format_of(path))
    for source in (tmp_path / "in", tmp_path / "in" / "*" / f"part-?.{suffix}"):
        stream = require_same(source)
        assert stream.schema.names == ["q", "s", "city"]
        assert stream.rows == (None if "sv" in suffix else 4000)
        assert together(stream, ["q"]).column("q").to_pylist() == [f"{row}" for row in range(4000)]
        assert together(stream, ["city", "s"]).column("city").to_pylist() == ["02139"] * 2000 + [None] * 2000
    (tmp_path / "in" / "city=02139" / f"part-1.{suffix}").unlink()
    with pytest.raises(RequestError, match=r"File 2 of .* \('part-1.*changed while kohort read it") as caught:
        list(stream.batches())
    assert "02139" not in str(caught.value)


# --- data frames

SMALL = {"q": [1, 2, None], "s": ["a", None, ""]}


@pytest.mark.parametrize(
    "make",
    [
        pa.table,
        pa.record_batch,
        pd.DataFrame,
        lambda columns: pd.DataFrame(columns).astype({"s": "category"}),
        pl.DataFrame,
        pl.LazyFrame,
        lambda columns: duckdb.from_arrow(pa.table(columns)),
    ],
)
def test_stream_of_data_frame_matches_read(make):
    assert require_same(make(SMALL)).rows == 3


def test_index_levels_with_a_role_are_read():
    frame = pd.DataFrame(SMALL).set_index("s")
    assert tables.open_stream(frame).schema.names == ["q"]
    assert tables.open_stream(frame, role_columns=["s"]).schema.names == ["s", "q"]


def test_record_batch_reader_can_be_streamed_twice():
    stream = tables.open_stream(pa.table(SMALL).to_reader())
    assert together(stream).to_pydict() == together(stream).to_pydict() == SMALL
    assert not stream.origin.readable_again  # type: ignore[union-attr]


@pytest.mark.parametrize("large", [100, 1 << 27])
def test_batches_do_not_depend_on_the_file_after_reading(tmp_path, monkeypatch, large):
    monkeypatch.setattr(arrow_ipc, "LARGE", large)
    path = written(tmp_path / "in.arrow", 5000)
    whole = tables.read(path)[0]
    kept = list(tables.open_stream(path).batches())
    path.write_bytes(bytes(path.stat().st_size))
    assert pa.Table.from_batches(kept).equals(whole)


def test_stream_of_table_in_memory_copies_nothing():
    table = pa.table({"q": np.arange(300_000), "s": np.arange(300_000, dtype=np.int16)})
    before = pa.total_allocated_bytes()
    batches = list(tables.open_stream(table).batches(["s"]))
    assert pa.total_allocated_bytes() - before < 1000
    assert {batch.column(0).buffers()[1].address for batch in batches} == {table.column("s").chunk(0).buffers()[1].address}


def test_stream_of_unknown_column_raises_key_error():
    with pytest.raises(KeyError):
        tables.open_stream(pa.table(SMALL)).batches(["q", "t"])


# --- memory

PEAK = """
import re, sys
from pathlib import Path
from kohort.tables import tables
stream = tables.open_stream(sys.argv[1])
rows = sum(batch.num_rows for batch in stream.batches())
print(rows, int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) // 1024)
"""  # the usage that `resource` reports includes that of the parent process at the start


def peak(path: Path) -> tuple[int, int]:
    """Read a file in a new process. Return the number of rows and the peak memory in MiB."""
    ran = subprocess.run([sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True)
    rows, most = map(int, ran.stdout.split())
    return rows, most


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "csv.zst", "parquet", "folder"])
def test_memory_does_not_grow_with_rows(tmp_path, kind):
    """Five times the rows are 360 MB in memory. There is one row group, so reading row groups would read it all."""
    if not Path("/proc/self/status").exists():
        pytest.skip("needs /proc/self/status for the peak memory of a process")
    random, most = np.random.default_rng(0), {}
    for rows in (1_000_000, 5_000_000):
        texts = pa.array([f"text number {number}" for number in range(50_000)])
        table = pa.table(
            {
                "q": random.integers(0, 30_000, rows, dtype=np.int16),
                "r": random.random(rows),
                "s": texts.take(pa.array(random.integers(0, len(texts), rows))),
                "t": pa.array(random.integers(0, 2**60, rows)).cast(pa.string()),
            }
        )
        path = tmp_path / f"{rows}.{'parquet' if kind == 'folder' else kind}"
        if kind == "parquet":
            pq.write_table(table, path, row_group_size=rows)
        elif kind == "folder":
            path.mkdir()
            for start in range(0, rows, 500_000):
                pq.write_table(table.slice(start, 500_000), path / f"{start:09}.parquet")
        else:
            path.touch()
            tables.batches_to_file(table.to_batches(max_chunksize=100_000), table.schema, path, tables.format_of(path))
        found, most[rows] = peak(path)
        assert found == rows
    assert most[5_000_000] - most[1_000_000] < 100, (
        most
    )  # allocators keep some 10 MiB more or less; four fifths of the table are 290 MiB
