"""Files in and out: text stays text, types stay types, nothing half-written is left, no message holds a cell."""

from __future__ import annotations

import base64
import csv
import datetime as dt
import gzip
import io
import re
import tempfile
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import kohort as kh
from kohort.errors import RequestError
from kohort.tables import tables
from kohort.tables.files import csv_dialect as csv_text
from kohort.tables.files import csv_structure as csv_rows

RARE = "Xanthippe-4711"  # planted; must not turn up where it does not belong
ODD = [
    "02139",
    "1.50",
    "",
    " lead",
    'a"b',
    '"',
    "a,b",
    "a;b",
    "a\tb",
    "a|b",
    "x\ny",
    "x\r\ny",
    "\r",
    "NULL",
    "NA",
    "nan",
    "*",
    "é💉",
]
PACKED = {".gz": "gzip", ".zst": "zstd"}
CELLS = st.none() | st.sampled_from(ODD) | st.text(max_size=6)


@st.composite
def text_tables(draw, columns: st.SearchStrategy[int]):
    """(names, rows): cells of any text, None for an empty one."""
    names = draw(st.lists(st.text("ab .'é*[]", min_size=1, max_size=4), min_size=2, max_size=4, unique_by=str.casefold))
    names = names[: draw(columns)]
    return names, draw(st.lists(st.lists(CELLS, min_size=len(names), max_size=len(names)), min_size=2, max_size=8))


def write_csv(path: Path, names, rows, delimiter=",", newline="\n"):
    """By hand, so that an empty cell and a quoted empty one differ."""

    def cell(value):
        if value is None:
            return ""
        return '"' + value.replace('"', '""') + '"' if value == "" or any(mark in value for mark in '"\r\n,;\t|') else value

    text = "".join(delimiter.join(map(cell, row)) + newline for row in (names, *rows))
    path.write_bytes(pa.compress(text.encode(), PACKED[path.suffix], asbytes=True) if path.suffix in PACKED else text.encode())


def read_csv(path: Path, delimiter=","):
    with pa.input_stream(str(path), compression=PACKED.get(path.suffix)) as file:
        text = file.read().decode()
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))


@settings(max_examples=150, deadline=None)
@given(text_tables(st.integers(1, 4)), st.sampled_from(",;\t|"), st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", *PACKED]))
@example((["a"], [[None], [""], ["x"]]), ";", "\n", "")
def test_csv_text_survives_reading_and_writing(made, delimiter, newline, suffix):
    names, rows = made
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / f"in.csv{suffix}", Path(folder) / f"out.csv{suffix}"
        write_csv(source, names, rows, delimiter, newline)
        table, form = tables.read(source)
        assert table.column_names == names
        lone = len(names) == 1  # there "" is how a missing cell must be written, or its line would be skipped
        assert [list(row.values()) for row in table.to_pylist()] == ([[cell or None] for (cell,) in rows] if lone else rows)
        target.touch()
        assert isinstance(form, tables.CsvFormat)
        tables.batches_to_file(table.to_batches(max_chunksize=3), table.schema, target, form)
        assert read_csv(target, form.delimiter) == [names, *([cell or "" for cell in row] for row in rows)]
        assert tables.read(target)[0].equals(table)
        assert lone or form.delimiter == delimiter


@settings(max_examples=300, deadline=None)
@given(st.text('aé,"\n\r', max_size=16))
@example('x,"y\n1,2\n')
@example('x,"y"z\n')
@example('x,5" disk\n"a""b",\r\n')
def test_any_text_is_read_as_pythons_strict_reader_does_or_refused(body):
    text = f"h1,h2\n{body}"
    try:
        told = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error:
        told = []
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "in.csv").write_bytes(text.encode())
        try:
            table, _form = tables.read(Path(folder) / "in.csv")
        except RequestError:
            lone_return = re.search("\r(?!\n)", text) is not None  # readers disagree on it, so it is refused
            assert lone_return or not told or {len(row) for row in told} != {2}, "refused although nothing is wrong with it"
            return
    assert [[cell or "" for cell in row.values()] for row in table.to_pylist()] == told[1:]


@pytest.mark.parametrize("shift", range(8))
def test_a_quote_at_the_border_of_a_block(tmp_path, monkeypatch, shift):
    """An inch mark inside a cell is no opening quote, wherever the reader's blocks begin."""
    monkeypatch.setattr(csv_text, "BLOCK", 32)
    monkeypatch.setattr(csv_rows, "PIECE", 32)
    (tmp_path / "in.csv").write_text("a,b\n" + "1,xxxx\n" * 3 + "x" * shift + ',5" disk\n1,"q,""r"""\n2,z\n', encoding="utf-8")
    assert tables.read(tmp_path / "in.csv")[0].column("b").to_pylist() == ["xxxx"] * 3 + ['5" disk', 'q,"r"', "z"]


@settings(max_examples=25, deadline=None)
@given(
    text_tables(st.integers(2, 4)), st.sampled_from([",", ";", "\t"]), st.sampled_from(["csv", "tsv", "txt", "csv.gz", "csv.zst"])
)
@example((["q", "s"], [["1", cell] for cell in (None, "", *ODD)]), ",", "csv")
@example((["q", "s"], [["1", "a\0b"], ["2", "\ufeff"]]), ";", "csv.gz")
@example((["\ufeffq", "s"], [["1", "a"], ["2", "b"]]), ",", "tsv.zst")
def test_a_release_carries_csv_text_byte_for_byte(made, delimiter, suffix):
    names, rows = made
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.csv", Path(folder) / f"out.{suffix}"
        write_csv(source, names, rows, delimiter)
        if names[0].startswith("\ufeff"):
            source.write_bytes(b"\xef\xbb\xbf" + source.read_bytes())  # else it would be the file's own mark
        kh.anonymize(source, quasi=names[:1], sensitive=names[1:], k=2, keep_order=True, output=target)
        asked = "\t" if suffix.startswith("tsv") else "," if suffix.startswith("csv") and delimiter == "\t" else delimiter
        told = read_csv(target, asked)
        assert told[0] == names
        assert [row[1:] for row in told[1:]] == [[cell or "" for cell in row[1:]] for row in rows]


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
def test_missing_values_in_a_table_of_one_column(tmp_path, suffix):
    source = tmp_path / "in.csv"
    write_csv(source, ["q"], [["1"], ["1"], [None], [""]])
    assert kh.anonymize(source, quasi="q", k=2, output=tmp_path / f"out.{suffix}").evidence.k == 2


def test_column_names_that_differ_in_case_only(tmp_path):
    write_csv(tmp_path / "in.csv", ["Age", "age", "AGE"], [["1", "2", "3"], ["1", "4", "5"]])
    kh.anonymize(tmp_path / "in.csv", quasi="age", sensitive=["Age", "AGE"], k=2, keep_order=True, output=tmp_path / "o.csv")
    assert read_csv(tmp_path / "o.csv") == [["Age", "age", "AGE"], ["1", "[2 - 4]", "3"], ["1", "[2 - 4]", "5"]]


# --- Parquet and data frames

TYPES = {
    "int8": pa.array([1, None, 3, 4], pa.int8()),
    "uint64": pa.array([2**64 - 1, 0, 1, None], pa.uint64()),
    "float": pa.array([float("nan"), None, -0.5, 1e300]),
    "float32": pa.array([0.1, 0.2, None, 3.5], pa.float32()),
    "date": pa.array([dt.date(1999, 12, 31), None, dt.date(2020, 2, 29), dt.date(1, 1, 1)]),
    "timestamp": pa.array([dt.datetime(2020, 1, 2, 3, 4, 5, 6, dt.UTC)] * 3 + [None], pa.timestamp("us", "Europe/Berlin")),
    "nanoseconds": pa.array([1, 2, None, 3], pa.timestamp("ns")),
    "decimal": pa.array([Decimal("1.50"), None, Decimal("-0.01"), Decimal("9999.99")]),
    "bool": pa.array([True, None, False, True]),
    "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0], pa.int8()), ["a", "b", RARE]),
    "ordered": pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0], pa.int16()), ["lo", "hi", RARE], ordered=True),
    "large text": pa.array(["02139", "", None, "x"], pa.large_string()),
    "binary": pa.array([b"\xff\x00", None, b"", b"x"]),
    "duration": pa.array([1, None, 3, 4], pa.duration("us")),
    "list": pa.array([[1, 2], None, [], [3]]),
}


@pytest.mark.parametrize("kind", TYPES)
def test_parquet_types_are_kept(tmp_path, kind):
    table = pa.table({"q": [1, 1, 2, 2], "s": TYPES[kind]})
    pq.write_table(table, tmp_path / "in.parquet")
    release = kh.anonymize(
        tmp_path / "in.parquet", quasi="q", sensitive="s", k=2, keep_order=True, output=tmp_path / "out.parquet"
    )
    told = pq.read_table(tmp_path / "out.parquet").column("s")
    assert told.type == release.table.schema.field("s").type == table.schema.field("s").type
    assert str(told.to_pylist()) == str(table.column("s").to_pylist())


def test_values_that_no_row_holds_are_not_in_the_file(tmp_path):
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


def test_gzip_header_tells_nothing(tmp_path):
    kh.anonymize(pa.table({"q": [1, 1]}), quasi="q", k=2, output=tmp_path / f"{RARE}.csv.gz")
    head = (tmp_path / f"{RARE}.csv.gz").read_bytes()[:10]
    assert head[:2] == b"\x1f\x8b"
    assert head[3] == 0  # no name, no comment
    assert head[4:8] == bytes(4)  # no time


# --- files that cannot be read


def arrow(table: pa.Table, writer) -> bytes:
    sink = io.BytesIO()
    with writer(sink, table.schema) as open_writer:
        open_writer.write_table(table)
    return sink.getvalue()


GOOD = "a,b\n" + "".join(f"{number},{RARE}{number}\n" for number in range(3000))
ZIPPED = gzip.compress(GOOD.encode())
ZSTD = pa.compress(GOOD.encode(), codec="zstd", asbytes=True)
ARROW_FILE, ARROW_STREAM = (arrow(pa.table({"a": [RARE]}), writer) for writer in (pa.ipc.new_file, pa.ipc.new_stream))
PARQUET = io.BytesIO()
pq.write_table(pa.table({"a": [RARE]}), PARQUET)
BAD = {
    "empty.csv": (b"", "empty"),
    "bom.csv": (b"\xef\xbb\xbf", "empty"),
    "blank.csv": (b"\n\n\n", "header"),
    "long row.csv": (f"a,b\n1,2\n3,{RARE},5\n".encode(), "line 3 has 3 fields where the header has 2"),
    "short row.csv": (f"a;b;c\n1;2;3\n\n{RARE};5\n".encode(), "line 4 has 2 fields where the header has 3"),
    "late row.csv": ((GOOD + f"{RARE}\n").encode(), "line 3002 has 1 fields where the header has 2"),
    "open quote.csv": (f'a,b\n1,"x\n{RARE},2\n'.encode(), "quote"),
    "stray quote.csv": (f'a,b\n1,"x\n{RARE},"y"\n3,z\n'.encode(), "quote"),
    "latin.csv": (GOOD.encode() + b"1,\xe9\n", "line 3002 is not UTF-8 text.*--encoding latin-1"),
    "latin header.csv": (b"caf\xe9,b\n1,2\n", "line 1 is not UTF-8 text"),
    "binary.csv": (bytes(range(256)) * 9, "not a text file"),
    "zeros.txt": (bytes(999), "not a text file"),
    "numbers.csv": (bytes(range(1, 9)) * 2 + bytes([0, 10]) * 9, "not a text file"),
    "gzipped.csv": (ZIPPED, "gzip data. End its name in .gz"),
    "sheet.csv": (b"PK\x03\x04" + bytes(99), "spreadsheet"),
    "half a letter.csv": (b"\xff\xfe" + GOOD.encode("utf-16-le")[:-1], "line 3001 is not UTF-16 text"),
    "twice.csv": (b"a,b,a\n1,2,3\n", r"same name \(columns 1, 3\)"),
    "twice without rows.csv": (b"a,b,a\n", r"same name \(columns 1, 3\)"),
    "twice, and nothing else.csv": (b"a,b,a", r"same name \(columns 1, 3\)"),
    "cut.csv.gz": (ZIPPED[:-9], "gzip"),
    "harmed.csv.gz": (ZIPPED[:10] + b"\x07" + ZIPPED[11:], "gzip"),  # no such kind of block
    "wrong sum.csv.gz": (ZIPPED[:-8] + bytes(4) + ZIPPED[-4:], "gzip"),
    "plain.csv.gz": (GOOD.encode(), "gzip"),
    "cut.csv.zst": (ZSTD[:-9], "zstd"),
    "harmed.tsv.zst": (ZSTD[:6] + b"\xff" + ZSTD[7:], "zstd"),
    "plain.csv.zst": (GOOD.encode(), "zstd"),
    "cut.parquet": (PARQUET.getvalue()[:-9], "Parquet"),
    "headless.parquet": (PARQUET.getvalue()[9:], "Parquet"),
    "empty.parquet": (b"", "Parquet"),
    "text.parquet": (GOOD.encode(), "Parquet"),
    "cut.arrow": (ARROW_FILE[:-9], "Arrow"),
    "headless.feather": (ARROW_FILE[9:], "Arrow"),
    "empty.ipc": (b"", "Arrow"),
    "text.arrow": (GOOD.encode(), "Arrow"),
    "cut stream.arrow": (ARROW_STREAM[:-9], "Arrow"),
    "stream cut between messages.arrow": (ARROW_STREAM[:-8], "Arrow"),
    "twice.arrow": (arrow(pa.table([["x"], ["y"]], ["a", "a"]), pa.ipc.new_file), r"same name \(columns 1, 2\)"),
    "packed.parquet.gz": (GOOD.encode(), "format"),
    "table.xlsx": (GOOD.encode(), "format"),
    "table": (GOOD.encode(), "format"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_without_its_cells(tmp_path, name):
    data, told = BAD[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(RequestError, match=told) as caught:
        tables.read(tmp_path / name)
    assert RARE not in str(caught.value)
    assert name in str(caught.value) or "same name" in told
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(("name", "told"), [("none.csv", "no file"), ("none.parquet", "no file"), (".", "format|folder")])
def test_a_file_that_is_not_there(tmp_path, name, told):
    with pytest.raises(RequestError, match=told):
        tables.read(tmp_path / name)


@pytest.mark.parametrize("text", ["a,b\n", "a,b", "a,b\r\n"])
def test_a_header_alone_is_a_table_without_rows(tmp_path, text):
    (tmp_path / "in.csv").write_text(text, encoding="utf-8")
    assert tables.read(tmp_path / "in.csv")[0].num_rows == 0
    with pytest.raises(RequestError, match="no rows"):
        kh.anonymize(tmp_path / "in.csv", quasi="a", drop="b")


@pytest.mark.parametrize("line", [2, 40])
def test_a_long_cell_is_read_wherever_it_stands(tmp_path, line):
    rows = [["1", "x"]] * (line - 2) + [["1", "y" * 200_000]]
    write_csv(tmp_path / "in.csv", ["a", "b"], rows)
    assert tables.read(tmp_path / "in.csv")[0].num_rows == line - 1


@pytest.mark.parametrize("source", [17, None, [1, 2], {"a": [1]}, b"a,b"])
def test_what_is_not_a_table_is_refused(source):
    with pytest.raises(RequestError, match="Cannot read a table"):
        tables.read(source)
