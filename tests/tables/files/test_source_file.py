"""Test that files are rejected if they are damaged, or change while they are read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kohort.errors import RequestError
from kohort.tables import tables
from kohort.tables.files import arrow_file as arrow_ipc
from kohort.tables.files import csv_structure as csv_rows
from tests.tables.files.sample_files import BAD, RARE
from tests.tables.streamed import drained, read, require_same, wide, written

MIB = 1 << 20


# --- files that are damaged, or change


@pytest.mark.parametrize("name", BAD)
def test_stream_of_damaged_file_raises_same_error_as_read(tmp_path, name):
    (tmp_path / name).write_bytes(BAD[name][0])
    message = read(tmp_path / name)
    assert isinstance(message, str)
    assert drained(tmp_path / name) == message


@pytest.mark.parametrize("suffix", ["csv.gz", "csv.zst", "parquet"])
def test_damage_in_the_middle_of_a_file_is_found(tmp_path, suffix):
    path = written(tmp_path / f"in.{suffix}", 30_000)
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 200] = bytes(200)
    path.write_bytes(data)
    message = read(path)
    assert isinstance(message, str)
    assert RARE not in message
    assert drained(path) == message


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_text_that_is_not_utf8_is_rejected(tmp_path, suffix):
    bad = pa.array([b"a", b"\xff" + RARE.encode(), b"c"]).view(pa.string())
    table = pa.table({"q": [1, 2, 3], "s": bad, "n": pa.array([[text] for text in "xyz"])})
    if suffix == "parquet":
        pq.write_table(table, tmp_path / "in.parquet")
    else:
        with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as sink:
            sink.write_table(table)
    message = read(tmp_path / f"in.{suffix}")
    expected = "is damaged, or some of its text is not UTF-8. Export it again from the program that made it."
    assert message == f"RequestError '{tmp_path / f'in.{suffix}'}' {expected}"
    assert drained(tmp_path / f"in.{suffix}") == message
    assert drained(table) == f"RequestError The table {expected}"


@pytest.mark.parametrize("large", [100, 1 << 27])
def test_wrong_offsets_are_rejected(tmp_path, monkeypatch, large):
    """Offsets are checked before they are used."""
    monkeypatch.setattr(arrow_ipc, "LARGE", large)
    table = pa.table({"s": ["abcd"] * 1000, "n": [["abcd"]] * 1000})
    with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as sink:
        sink.write_table(table)
    data = (tmp_path / "in.arrow").read_bytes()
    offsets = np.array([400, 404, 408], np.int32).tobytes()
    assert data.count(offsets) == 2
    for bad in (-5, 2**31 - 1):
        (tmp_path / "in.arrow").write_bytes(data.replace(offsets, np.array([400, bad, 408], np.int32).tobytes()))
        message = drained(tmp_path / "in.arrow")
        assert isinstance(message, str)
        assert message == read(tmp_path / "in.arrow")


CHANGES: dict[str, Callable[[Path], object]] = {
    "longer": lambda path: written(path, 6000),
    "shorter": lambda path: written(path, 2000),
    "of the same size": lambda path: os.utime(
        written(path, 5000, RARE[::-1]), ns=(1, 1)
    ),  # another time than that of the first file
    "gone": lambda path: path.unlink(),
    "cut": lambda path: os.truncate(path, 300),
    "replaced": lambda path: written(path.with_name(f"new {path.name}"), 5000).replace(path),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "mapped arrow"])
def test_file_that_changes_is_rejected(tmp_path, monkeypatch, kind, change):
    """Rows that are read twice must be the same."""
    monkeypatch.setattr(csv_rows, "PIECE", 5000)
    if kind == "mapped arrow":
        monkeypatch.setattr(arrow_ipc, "LARGE", 100)
    path = written(tmp_path / f"in.{kind.rpartition(' ')[2]}", 5000)
    stream = tables.open_stream(path)
    batches = stream.batches()
    assert next(batches).num_rows
    CHANGES[change](path)
    for rest in (batches, stream.batches(), stream.batches(["q"])):
        with pytest.raises(RequestError, match="changed while kohort read it"):
            list(rest)
    if path.exists() and change != "cut":
        require_same(path)


def test_mapped_file_that_becomes_shorter_within_a_batch(tmp_path, monkeypatch):
    """Reading memory beyond the end of the file would end the process."""
    monkeypatch.setattr(arrow_ipc, "LARGE", MIB)
    monkeypatch.setattr("kohort.tables.streams.BYTES_AT_ONCE", MIB)
    table = wide([1000] * 10_000)
    with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as sink:
        sink.write_table(table)
    batches = tables.open_stream(tmp_path / "in.arrow").batches()
    assert next(batches).num_rows < 10_000
    os.truncate(tmp_path / "in.arrow", 300)
    with pytest.raises(RequestError, match="changed while kohort read it"):
        next(batches)
