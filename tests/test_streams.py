"""Tables batch by batch: the rows, types and refusals of reading them whole, in memory that does not grow with them."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kohort.errors import KohortError, RequestError
from kohort.tables import tables
from kohort.tables.files import arrow_file as arrow_ipc
from kohort.tables.files import csv_dialect as csv_text
from kohort.tables.files import csv_reader as csv_table
from kohort.tables.files import csv_structure as csv_rows
from kohort.tables.files import table_size as shapes
from kohort.tables.tables import FORMATS, FileFormat, Stream
from tests.test_tables import BAD, RARE, TYPES

ROWS = 5000
MIB = 1 << 20
WRITERS: dict[str, Callable[..., object]] = {"file": pa.ipc.new_file, "stream": pa.ipc.new_stream}


def together(stream: Stream, columns: list[str] | None = None) -> pa.Table:
    """One pass as a table; no batch of it is too large."""
    schema = stream.schema if columns is None else pa.schema([stream.schema.field(name) for name in columns])
    batches = list(stream.batches(columns))
    for batch in batches:
        batch.validate(full=True)
        assert batch.schema.equals(schema, check_metadata=True)
        assert 0 < batch.num_rows <= shapes.ROWS_AT_ONCE
        assert shapes.growing_bytes(batch) <= shapes.BYTES_AT_ONCE or batch.num_rows == 1
    return pa.Table.from_batches(batches, schema)


def require_equal(found: pa.Table, told: pa.Table) -> None:
    """In types and values; the dictionaries of batches may differ, and NaN is NaN."""
    assert found.schema.equals(told.schema, check_metadata=True)
    assert found.equals(told) or str(found.to_pylist()) == str(told.to_pylist())


def require_same(source: object, encoding: str | None = None) -> Stream:
    """A stream is what reading says, twice, and in any choice of columns."""
    whole, origin = tables.read(source, encoding)
    stream = tables.open_stream(source, encoding)
    assert stream.schema.equals(whole.schema, check_metadata=True)
    assert stream.origin == origin or (not isinstance(origin, FileFormat) and repr(stream.origin) == repr(origin))
    assert stream.rows in (None, whole.num_rows)
    assert stream.size_in_memory >= 0.9 * whole.nbytes
    for _ in range(2):
        require_equal(together(stream), whole)
    names = whole.column_names
    for some in (names[::-1], names[-1:], names[:1]):
        require_equal(together(stream, some), whole.select(some))
    assert sum(batch.num_rows for batch in stream.batches([])) == whole.num_rows
    return stream


def drained(source: object, encoding: str | None = None) -> pa.Table | str:
    """The table of a pass, or how it was refused."""
    try:
        return together(tables.open_stream(source, encoding))
    except KohortError as error:
        return f"{type(error).__name__} {error}"


def read(source: object, encoding: str | None = None) -> pa.Table | str:
    try:
        return tables.read(source, encoding)[0]
    except KohortError as error:
        return f"{type(error).__name__} {error}"


# --- CSV

CELLS = ["a", "", '""', '"x\ny"', '"say ""hi"""', '5" disk', "Renée", '"u\r\nv;,\t"', '"\n\n"', "02139"]


def text_of(columns: int, delimiter: str = ",", newline: str = "\n") -> str:
    """Rows of all kinds of cells, each beside each other one."""
    rows = ([CELLS[(number // len(CELLS) ** place + place) % len(CELLS)] for place in range(columns)] for number in range(1000))
    header = delimiter.join(f"column {number}" for number in range(columns))
    return newline.join([header, *(delimiter.join(row) for row in rows)]) + newline


CSV: dict[str, tuple[str, str, str | None]] = {  # name: text, encoding, what is declared
    "plain.csv": (text_of(3), "utf-8", None),
    "gzip.csv.gz": (text_of(3), "utf-8", None),
    "zstd.csv.zst": (text_of(3), "utf-8", None),
    "latin.csv": (text_of(3), "latin-1", "latin-1"),
    "utf16.txt": (text_of(3), "utf-16", None),
    "mark.csv": ("\ufeff" + text_of(3), "utf-8", None),
    "semicolons.csv": (text_of(3, ";"), "utf-8", None),
    "tabs.tsv.gz": (text_of(3, "\t"), "utf-8", None),
    "crlf.csv": (text_of(3, newline="\r\n"), "utf-8", None),
    "one column.csv": (text_of(1), "utf-8", None),
    "without quotes.csv": ("a,b\n" + "1,x\n2,\n\n" * ROWS, "utf-8", None),
    "quotes late.csv": ("a,b\n" + "1,x\n2,\n\n" * ROWS + '"3","\n"\n' + "1,x\n" * ROWS, "utf-8", None),
    "no line end.csv": (text_of(3)[:-1], "utf-8", None),
    "missing at the end.csv": (text_of(2) + '"x",', "utf-8", None),
    "return at the end.csv": (text_of(3)[:-1] + "\r", "utf-8", None),
    "a header.csv": ("a,b\n", "utf-8", None),
    "only a header.csv": ("a,b", "utf-8", None),
    "blank lines.csv": ("a,b\n\n\n", "utf-8", None),
    "blank cells.csv": ("a\n\n\n", "utf-8", None),
}


@pytest.mark.parametrize("piece", [777, 1 << 22])
@pytest.mark.parametrize("name", CSV)
def test_csv(tmp_path, monkeypatch, name, piece):
    monkeypatch.setattr(csv_rows, "PIECE", piece)
    text, encoding, declared = CSV[name]
    suffix = Path(name).suffix
    with pa.output_stream(tmp_path / name, compression=tables.COMPRESSIONS.get(suffix)) as file:
        file.write(text.encode(encoding))
    stream = require_same(tmp_path / name, declared)
    assert stream.rows is None
    if suffix not in tables.COMPRESSIONS and len(text) > 1000:
        assert stream.size_in_memory < 4 * tables.read(tmp_path / name, declared)[0].nbytes
    if piece == 777 and len(text) > 1000:
        assert len(list(stream.batches())) > 5, "nothing was cut"


@settings(max_examples=200, deadline=None)
@given(st.text('aé,"\n\r', max_size=24), st.integers(1, 9), st.sampled_from(["h1,h2", "h"]))
@example('x,"y\n1,2\n', 3, "h1,h2")
@example('"a\nb","c\nd"\n"e\n\n","f"\n', 4, "h1,h2")
@example("1,2,3\n" + "1,2\n" * 30 + '1,"\n', 2, "h1,h2")
@example('"a",', 3, "h1,h2")
@example("\n\n", 1, "h")
def test_any_text_however_it_is_cut(body, piece, header):
    """The same table, or the same refusal in the same words."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "in.csv"
        path.write_bytes(f"{header}\n{body}".encode())
        whole = read(path)
        patch.setattr(csv_rows, "PIECE", piece)
        found = drained(path)
    assert isinstance(whole, str) == isinstance(found, str)
    assert whole == found if isinstance(whole, str) else whole.equals(found)


def test_a_missing_cell_that_ends_the_file_is_missing(tmp_path):
    """Arrow takes it for empty text if the cell before was quoted."""
    (tmp_path / "in.csv").write_bytes(b'a,b\n"x",')
    assert tables.read(tmp_path / "in.csv")[0].to_pylist() == [{"a": "x", "b": None}]
    (tmp_path / "in.csv").write_bytes(b'a,b\n"x",""')
    assert tables.read(tmp_path / "in.csv")[0].to_pylist() == [{"a": "x", "b": ""}]


def test_a_column_that_is_not_asked_for_hides_no_damage(tmp_path):
    (tmp_path / "in.csv").write_bytes(b"a,b\n1,x\n2,\xe9\n")
    with pytest.raises(RequestError, match="line 3 is not UTF-8"):
        list(tables.open_stream(tmp_path / "in.csv").batches(["a"]))


@pytest.mark.parametrize(("columns", "cell"), [(["q", "s"], "x"), (["q"], "\n")])
def test_long_rows(tmp_path, columns, cell):
    rows = ["1,a", f'1,"{cell * (7 * MIB)}"', "2,b", f'2,"{cell * (9 * MIB)}"', "3,c"]
    (tmp_path / "in.csv").write_text("\n".join(["q,s", *rows[:3]]), encoding="utf-8")
    whole = tables.read(tmp_path / "in.csv")[0]
    stream = tables.open_stream(tmp_path / "in.csv")
    assert pa.Table.from_batches(stream.batches(columns)).equals(whole.select(columns))
    (tmp_path / "in.csv").write_text("\n".join(["q,s", *rows]), encoding="utf-8")
    for call in (tables.read, lambda source: list(tables.open_stream(source).batches(columns))):
        with pytest.raises(RequestError, match="row 4 has more than 8 MiB"):
            call(tmp_path / "in.csv")
    (tmp_path / "in.csv").write_text(f"q,s\n1,{'x' * (2 * csv_text.BLOCK + csv_rows.PIECE)}", encoding="utf-8")
    with pytest.raises(RequestError, match=r"a row is longer than 16 MiB|row 1 has more than 8 MiB"):
        list(tables.open_stream(tmp_path / "in.csv").batches(columns))


def test_a_pass_that_is_left_leaves_nothing_running(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_rows, "PIECE", 1000)
    (tmp_path / "in.csv").write_text(text_of(3), encoding="utf-8")
    open_files = Path("/proc/self/fd")
    before, files = threading.active_count(), len([*open_files.iterdir()]) if open_files.exists() else 0
    batches = tables.open_stream(tmp_path / "in.csv").batches()
    assert next(batches).num_rows
    assert threading.active_count() > before
    batches.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before
    assert not files or len([*open_files.iterdir()]) == files


def test_few_parts_of_a_file_are_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_rows, "PIECE", 200)
    (tmp_path / "in.csv").write_text(text_of(3), encoding="utf-8")
    honest, cut = csv_rows.whole_rows, []

    def counted(*arguments: object) -> Iterator[tuple[bytes, bool]]:
        for part in honest(*arguments):  # type: ignore[arg-type]
            cut.append(part)
            yield part

    monkeypatch.setattr(csv_rows, "whole_rows", counted)
    for taken, _batch in enumerate(tables.open_stream(tmp_path / "in.csv").batches(), start=1):
        assert len(cut) <= taken + csv_table.PARSED_AT_ONCE
    assert len(cut) > 50


# --- types


def repeated(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        indices = pa.concat_arrays([column.indices] * (ROWS // 4))
        return pa.DictionaryArray.from_arrays(indices, column.dictionary, ordered=column.type.ordered)
    return pa.concat_arrays([column] * (ROWS // 4))


TEXTS = pa.array([f"té{number % 97}" if number % 11 else None for number in range(ROWS)])
PLACES = pa.array(range(ROWS + 1), pa.int32())
COLUMNS = {
    **{name: repeated(column) for name, column in TYPES.items()},
    "text": TEXTS,
    "struct": pa.StructArray.from_arrays([TEXTS, pa.array(range(ROWS))], ["x", "y"]),
    "list of text": pa.ListArray.from_arrays(PLACES, TEXTS),
    "map": pa.array([[("a", 1)], None, [], [("b", None), ("c", 2)]] * (ROWS // 4), pa.map_(pa.string(), pa.int32())),
    "half float": pa.array(np.arange(ROWS, dtype=np.float16)),
    "text view": TEXTS.cast(pa.string_view()),
    "nothing": pa.nulls(ROWS),
    "dictionary of numbers": pa.array([5, None, 7, 9] * (ROWS // 4)).dictionary_encode(),
    "a time": pa.array([dt.time(1, 2), None] * (ROWS // 2)),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_types_in_parquet(tmp_path, kind):
    pq.write_table(
        pa.table({"q": pa.array(range(ROWS), pa.int16()), "s": COLUMNS[kind]}), tmp_path / "in.pq", row_group_size=1700
    )
    assert require_same(tmp_path / "in.pq").rows == ROWS


@pytest.mark.parametrize("packed", [None, "zstd"])
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("kind", [*COLUMNS, "list of dictionary"])
def test_types_in_arrow(tmp_path, kind, writer, packed):
    column = COLUMNS.get(kind, pa.ListArray.from_arrays(PLACES, TEXTS.dictionary_encode()))
    table = pa.table({"q": pa.array(range(ROWS), pa.int16()), "s": column})
    options = pa.ipc.IpcWriteOptions(compression=packed, unify_dictionaries=True)
    with WRITERS[writer](tmp_path / "in.arrow", table.schema, options=options) as sink:  # type: ignore[attr-defined]
        sink.write_table(table, max_chunksize=1999)
    require_same(tmp_path / "in.arrow")


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_no_rows(tmp_path, suffix):
    path = tmp_path / f"in.{suffix}"
    path.touch()
    schema = pa.schema({"q": pa.string(), "s": pa.string()})
    tables.batches_to_file([], schema, path, FORMATS[suffix]())
    assert list(require_same(path).batches()) == []


def test_notes_are_left_behind(tmp_path):
    field = pa.field("q", pa.list_(pa.field("item", pa.int32(), metadata={"why": RARE})), metadata={"why": RARE})
    table = pa.table([[[1], [2]]], pa.schema([field], {"note": RARE}))
    pq.write_table(table, tmp_path / "in.parquet")
    for source in (table, tmp_path / "in.parquet"):
        stream = require_same(source)
        assert RARE not in stream.schema.to_string(show_field_metadata=True, show_schema_metadata=True)


def test_names_that_look_like_fields_of_others(tmp_path):
    """A reader that is asked for `a` also gives `a.b`."""
    columns = {"a": [1, 2], "a.b": ["x", "y"], "c": [{"d": 1}, {"d": 2}], "c.d": [3, 4]}
    pq.write_table(pa.table(columns), tmp_path / "in.parquet")
    stream = require_same(tmp_path / "in.parquet")
    for name, cells in columns.items():
        assert together(stream, [name]).to_pydict() == {name: cells}


# --- sizes


@pytest.mark.parametrize(("group", "large"), [(1 << 16, 1 << 27), (1 << 20, 1 << 10)])
def test_many_rows(tmp_path, monkeypatch, group, large):
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


def wide(lengths: list[int]) -> pa.Table:
    """Some megabytes of text that a Parquet file holds in some kilobytes."""
    return pa.table({"q": range(len(lengths)), "s": ["x" * length for length in lengths]})


WIDE = {"alike": [3000] * 15_000, "the last are long": [2] * 60_000 + [40_000] * 1200, "one is long": [2] * 5000 + [40 * MIB]}


@pytest.mark.parametrize("lengths", WIDE)
@pytest.mark.parametrize("kind", ["parquet", "arrow", "table"])
def test_wide_text(tmp_path, monkeypatch, kind, lengths):
    monkeypatch.setattr(arrow_ipc, "LARGE", MIB)
    table = wide(WIDE[lengths])
    if kind == "parquet":
        pq.write_table(table, tmp_path / "in.parquet")
    elif kind == "arrow":
        with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as sink:
            sink.write_table(table)
    stream = tables.open_stream(table if kind == "table" else tmp_path / f"in.{kind}")
    assert together(stream).equals(table)
    assert lengths != "alike" or stream.size_in_memory >= table.nbytes
    assert [batch.num_rows for batch in stream.batches(["q"])] == [table.num_rows], "what is not asked for counts"


def test_a_dictionary_that_is_larger_than_a_batch():
    texts = pa.array([f"{number:0400}" for number in range(100_000)])
    table = pa.table({"s": pa.DictionaryArray.from_arrays(pa.array(np.arange(300_000) % 100_000, pa.int32()), texts)})
    assert len(list(tables.open_stream(table).batches())) == 2


# --- files that are damaged, or change


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_as_reading_refuses_it(tmp_path, name):
    (tmp_path / name).write_bytes(BAD[name][0])
    told = read(tmp_path / name)
    assert isinstance(told, str)
    assert drained(tmp_path / name) == told


@pytest.mark.parametrize("source", [17, None, [1, 2], b"a,b", "none.csv", "none.parquet", "none*.csv"])
def test_what_is_not_there(source):
    told = read(source)
    assert isinstance(told, str)
    assert drained(source) == told


def written(path: Path, rows: int, cell: str = RARE) -> Path:
    table = pa.table({"q": [f"{number * 7919 % 10007}" for number in range(rows)], "s": [cell] * rows})
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=1000, compression="zstd", use_dictionary=["s"])
    else:
        path.touch()
        tables.batches_to_file(table.to_batches(max_chunksize=1000), table.schema, path, tables.format_of(path))
    return path


@pytest.mark.parametrize("suffix", ["csv.gz", "csv.zst", "parquet"])
def test_damage_in_the_middle(tmp_path, suffix):
    path = written(tmp_path / f"in.{suffix}", 30_000)
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 200] = bytes(200)
    path.write_bytes(data)
    told = read(path)
    assert isinstance(told, str)
    assert RARE not in told
    assert drained(path) == told


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_text_that_is_not_utf8(tmp_path, suffix):
    bad = pa.array([b"a", b"\xff" + RARE.encode(), b"c"]).view(pa.string())
    table = pa.table({"q": [1, 2, 3], "s": bad, "n": pa.array([[text] for text in "xyz"])})
    if suffix == "parquet":
        pq.write_table(table, tmp_path / "in.parquet")
    else:
        with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as sink:
            sink.write_table(table)
    told = read(tmp_path / f"in.{suffix}")
    assert told == "RequestError The table holds text that is not UTF-8, or is damaged. Mend it where it was made."
    assert drained(tmp_path / f"in.{suffix}") == told
    assert drained(table) == told


@pytest.mark.parametrize("large", [100, 1 << 27])
def test_offsets_that_point_nowhere(tmp_path, monkeypatch, large):
    """They are looked at before anything follows them."""
    monkeypatch.setattr(arrow_ipc, "LARGE", large)
    table = pa.table({"s": ["abcd"] * 1000, "n": [["abcd"]] * 1000})
    with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as sink:
        sink.write_table(table)
    data = (tmp_path / "in.arrow").read_bytes()
    place = np.array([400, 404, 408], np.int32).tobytes()
    assert data.count(place) == 2
    for bad in (-5, 2**31 - 1):
        (tmp_path / "in.arrow").write_bytes(data.replace(place, np.array([400, bad, 408], np.int32).tobytes()))
        told = drained(tmp_path / "in.arrow")
        assert isinstance(told, str)
        assert told == read(tmp_path / "in.arrow")


CHANGES: dict[str, Callable[[Path], object]] = {
    "longer": lambda path: written(path, 6000),
    "shorter": lambda path: written(path, 2000),
    "of the same size": lambda path: os.utime(written(path, 5000, RARE[::-1]), ns=(1, 1)),  # no clock is that coarse
    "gone": lambda path: path.unlink(),
    "cut": lambda path: os.truncate(path, 300),
    "replaced": lambda path: written(path.with_name(f"new {path.name}"), 5000).replace(path),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "mapped arrow"])
def test_a_file_that_changes_is_refused(tmp_path, monkeypatch, kind, change):
    """Rows that are read twice must be the same rows."""
    monkeypatch.setattr(csv_rows, "PIECE", 5000)
    if kind == "mapped arrow":
        monkeypatch.setattr(arrow_ipc, "LARGE", 100)
    path = written(tmp_path / f"in.{kind.rpartition(' ')[2]}", 5000)
    stream = tables.open_stream(path)
    batches = stream.batches()
    assert next(batches).num_rows
    CHANGES[change](path)
    for rest in (batches, stream.batches(), stream.batches(["q"])):
        with pytest.raises(RequestError, match="changed while it was read"):
            list(rest)
    if path.exists() and change != "cut":
        require_same(path)


def test_a_mapped_file_that_shrinks_within_a_batch(tmp_path, monkeypatch):
    """To look at what is no longer there would end the process."""
    monkeypatch.setattr(arrow_ipc, "LARGE", MIB)
    monkeypatch.setattr("kohort.tables.streams.BYTES_AT_ONCE", MIB)
    table = wide([1000] * 10_000)
    with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as sink:
        sink.write_table(table)
    batches = tables.open_stream(tmp_path / "in.arrow").batches()
    assert next(batches).num_rows < 10_000
    os.truncate(tmp_path / "in.arrow", 300)
    with pytest.raises(RequestError, match="changed while it was read"):
        next(batches)


# --- folders and patterns


@pytest.mark.parametrize("suffix", ["csv", "tsv.gz", "csv.zst", "parquet", "feather"])
def test_many_files(tmp_path, monkeypatch, suffix):
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
    with pytest.raises(RequestError, match=r"File 2 of .* \(part-1.*changed while it was read") as caught:
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
def test_data_frames(make):
    assert require_same(make(SMALL)).rows == 3


def test_levels_of_an_index_that_are_wanted():
    frame = pd.DataFrame(SMALL).set_index("s")
    assert tables.open_stream(frame).schema.names == ["q"]
    assert tables.open_stream(frame, wanted=["s"]).schema.names == ["s", "q"]


def test_a_stream_that_can_be_read_once_is_taken_in():
    stream = tables.open_stream(pa.table(SMALL).to_reader())
    assert together(stream).to_pydict() == together(stream).to_pydict() == SMALL
    assert not stream.origin.readable_again  # type: ignore[union-attr]


@pytest.mark.parametrize("large", [100, 1 << 27])
def test_rows_of_a_file_are_copied_out_of_it(tmp_path, monkeypatch, large):
    monkeypatch.setattr(arrow_ipc, "LARGE", large)
    path = written(tmp_path / "in.arrow", 5000)
    whole = tables.read(path)[0]
    kept = list(tables.open_stream(path).batches())
    path.write_bytes(bytes(path.stat().st_size))
    assert pa.Table.from_batches(kept).equals(whole)


def test_nothing_in_memory_is_copied():
    table = pa.table({"q": np.arange(300_000), "s": np.arange(300_000, dtype=np.int16)})
    before = pa.total_allocated_bytes()
    batches = list(tables.open_stream(table).batches(["s"]))
    assert pa.total_allocated_bytes() - before < 1000
    assert {batch.column(0).buffers()[1].address for batch in batches} == {table.column("s").chunk(0).buffers()[1].address}


def test_a_column_that_is_not_there():
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
"""  # the usage that `resource` tells of begins with that of the process that started it


def peak(path: Path) -> tuple[int, int]:
    """Rows of a pass and the most MiB that a process of its own had."""
    ran = subprocess.run([sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True)
    rows, most = map(int, ran.stdout.split())
    return rows, most


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "csv.zst", "parquet", "folder"])
def test_memory_does_not_grow_with_rows(tmp_path, kind):
    """Five times the rows: 360 MB in memory. One row group, so that it would be read whole by who reads row groups."""
    if not Path("/proc/self/status").exists():
        pytest.skip("needs to be told the most memory that a process had")
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
    assert most[5_000_000] - most[1_000_000] < 100, most  # what allocators keep differs by tens; four fifths of the table are 290
