"""Formats, encodings, folders and odd names: what goes in by any of them comes out by any other."""

from __future__ import annotations

import codecs
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kohort as kh
from kohort.errors import AuditError, MachineError, RequestError
from kohort.tables import tables
from kohort.tables.files.arrow_file import ArrowFormat
from kohort.tables.files.parquet_file import ParquetFormat
from kohort.tables.tables import CsvFormat

RARE = "Xanthippe-4711"
FORMATS = ["csv", "tsv", "tab.gz", "txt.zst", "csv.gz", "parquet", "pq", "arrow", "feather", "ipc"]
TEXT = "name,sex\nRenée,f\n東京 💉,m\nŁódź,f\n"
CELLS = {"name": ["Renée", "東京 💉", "Łódź"], "sex": ["f", "m", "f"]}

# --- formats


@pytest.mark.parametrize(
    ("name", "source", "form"),
    [
        ("a.csv", ",", CsvFormat()),
        ("a.CSV", "\t", CsvFormat()),
        ("a.csv", ";", CsvFormat(";")),
        ("a.csv.gz", "|", CsvFormat("|", "gzip")),
        ("a.tsv", ";", CsvFormat("\t")),
        ("a.tab.zst", ",", CsvFormat("\t", "zstd")),
        ("a.txt", "\t", CsvFormat("\t")),
        ("a.b.parquet", ",", ParquetFormat()),
        ("a.feather", ",", ArrowFormat()),
    ],
)
def test_a_name_asks_for_a_format(name, source, form):
    assert tables.format_of(Path(name), CsvFormat(source)) == form


@pytest.mark.parametrize("name", ["a", "a.gz", "a.xlsx", "a.parquet.gz", "a.arrow.zst", "csv", ".csv.gz.gz"])
def test_a_name_that_asks_for_none(name):
    with pytest.raises(RequestError, match="does not say a format"):
        tables.format_of(Path(name))


@pytest.mark.parametrize(
    ("text", "delimiter"), [("a\tb;c\n1\t2\n", "\t"), ("a;b\n1;2\n", ";"), ('"a\tb",c\n1,2\n', ","), ("a,b\tc\n1,2\n", "\t")]
)
def test_the_delimiter_of_a_tsv(tmp_path, text, delimiter):
    (tmp_path / "a.tsv").write_text(text, encoding="utf-8")
    form = tables.format_in(tmp_path / "a.tsv")
    assert isinstance(form, CsvFormat)
    assert form.delimiter == delimiter


def test_a_header_of_many_lines_shows_the_delimiter(tmp_path):
    names = [f"a\n{number}" for number in range(30)]
    text = ";".join(f'"{name}"' for name in names) + "\n" + ";".join("1" * 30) + "\n"
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    assert tables.read(tmp_path / "a.csv")[0].column_names == names
    (tmp_path / "b.csv").write_text(text.rpartition("\n1;")[0], encoding="utf-8")
    assert tables.read(tmp_path / "b.csv")[0].num_rows == 0


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
    """Arrays whose second cell is missing and holds the secret all the same."""
    texts, valid = pa.array(["a", SECRET.decode(), "b", "c"]), pa.py_buffer(b"\x0d")
    eight = pa.py_buffer(b"AAAAAAAA" + SECRET + b"BBBBBBBBCCCCCCCC")
    indices = pa.array([0, 1, 2, 3, 4], pa.int32())
    inner = pa.StructArray.from_arrays([texts], ["x"], mask=HIDDEN)
    return {
        "number": pa.Array.from_buffers(pa.int64(), 4, [valid, eight]),
        "bytes": pa.Array.from_buffers(pa.binary(8), 4, [valid, eight]),
        "text": pa.Array.from_buffers(
            pa.string(), 4, [valid, pa.py_buffer(struct.pack("<5i", 0, 1, 9, 10, 11)), pa.py_buffer(b"a" + SECRET + b"bc")]
        ),
        "list": pa.ListArray.from_arrays(indices, texts, mask=HIDDEN),
        "struct": inner,
        "list of structs": pa.ListArray.from_arrays(indices, inner),
        "struct of structs": pa.StructArray.from_arrays([inner], ["y"], mask=HIDDEN),
        "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, None, 2, 3]), texts),
    }


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("kind", hiding())
def test_what_lies_under_a_missing_cell_is_not_in_the_file(tmp_path, kind, suffix):
    """Arrow writes memory as it stands."""
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
        told = tables.read(target)[0].column("s")
        assert (told.type, told.to_pylist()) == (column.type, column.to_pylist())


@pytest.mark.parametrize("kind", ["dictionary", "list of dictionary", "struct of dictionary", "text"])
def test_an_arrow_release_of_several_batches(tmp_path, monkeypatch, kind):
    """The file format takes one dictionary a column."""
    monkeypatch.setattr("kohort.publishing.publish.ROWS_AT_ONCE", 3)
    texts = pa.array(list("abcabcd"))
    column = {
        "text": texts,
        "dictionary": texts.dictionary_encode(),
        "list of dictionary": pa.ListArray.from_arrays(pa.array(range(8), pa.int32()), texts.dictionary_encode()),
        "struct of dictionary": pa.StructArray.from_arrays([texts.dictionary_encode()], ["x"]),
    }[kind]
    table = pa.table({"q": [1, 1, 2, 2, 3, 3, 4], "s": column})
    kh.anonymize(table, quasi="q", sensitive="s", k=2, keep_order=True, output=tmp_path / "out.arrow")
    told = tables.read(tmp_path / "out.arrow")[0].column("s")
    assert (told.type, told.to_pylist()) == (column.type, column.to_pylist())


# --- encodings

ENCODED = {
    "utf-8": TEXT.encode(),
    "utf-8 with mark": codecs.BOM_UTF8 + TEXT.encode(),
    "utf-8 with mark and quotes": codecs.BOM_UTF8 + TEXT.replace("name", '"name"', 1).encode(),
    "utf-16-le with mark": codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"),
    "utf-16-be with mark": codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
    "utf-16-le": TEXT.encode("utf-16-le"),
    "utf-16-be": TEXT.encode("utf-16-be"),
    "utf-16 with CRLF": TEXT.replace("\n", "\r\n").encode("utf-16"),
    "utf-32 with mark": TEXT.encode("utf-32"),
}


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("declared", [None, "latin-1", "UTF8"])
@pytest.mark.parametrize("name", ENCODED)
def test_unicode_shows_itself(tmp_path, name, declared, suffix):
    """A byte order mark decides, whatever was declared."""
    if declared and "mark" not in name and "CRLF" not in name:
        declared = None if name.startswith("utf-16") else "utf_8"
    data = ENCODED[name]
    path = tmp_path / f"in.csv{suffix}"
    path.write_bytes(pa.compress(data, tables.COMPRESSIONS[suffix], asbytes=True) if suffix else data)
    assert tables.read(path, encoding=declared)[0].to_pydict() == CELLS


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "ISO-8859-15", "utf-16-be", "shift_jis", "utf-7"])
def test_a_declared_encoding(tmp_path, encoding):
    cells = {"name": ["東京", "x"] if encoding == "shift_jis" else ["Renée", "Zoë"], "sex": ["f", "m"]}
    rows = "".join(f"{name};{sex}\n" for name, sex in zip(*cells.values(), strict=True))
    (tmp_path / "in.csv").write_bytes(f"name;sex\n{rows}".encode(encoding))
    table, form = tables.read(tmp_path / "in.csv", encoding)
    assert table.to_pydict() == cells
    assert form == CsvFormat(";", encoding=codecs.lookup(encoding).name)
    assert isinstance(form, CsvFormat)
    written = tables.format_of(Path("out.csv"), form)
    assert isinstance(written, CsvFormat)
    assert written.encoding == "utf-8"


@pytest.mark.parametrize(
    ("encoding", "told"),
    [
        ("latin1x", "Did you mean"),
        ("klingon", "such as latin-1"),
        ("base64", "no text encoding"),
        ("", "such as"),
        ("a\0b", "no"),
    ],
)
def test_an_encoding_that_does_not_exist(tmp_path, encoding, told):
    (tmp_path / "in.csv").write_text(TEXT, encoding="utf-8")
    with pytest.raises(RequestError, match=told):
        tables.read(tmp_path / "in.csv", encoding)


@pytest.mark.parametrize("line", [1, 2, 3, 70_000])
@pytest.mark.parametrize(("encoding", "bad"), [(None, b"\xe9"), ("ascii", b"\xe9"), ("cp1252", b"\x81"), ("utf-16", b"\x00\xd8")])
def test_the_line_that_is_not_text(tmp_path, line, encoding, bad):
    told = "It is damaged" if encoding == "utf-16" else "Say its encoding.*--encoding latin-1"
    codec = {"utf-16": "utf-16-le"}.get(encoding or "utf-8", encoding or "utf-8")
    lines = ["a,b", *[f"{RARE},1234567"] * 80_000]
    data = [f"{text}\n".encode(codec) for text in lines]
    data[line - 1] = bad + "x".encode(codec) + data[line - 1]
    (tmp_path / "in.csv").write_bytes((codecs.BOM_UTF16_LE if encoding == "utf-16" else b"") + b"".join(data))
    with pytest.raises(RequestError, match=rf"line {line} is not .* text\. {told}") as caught:
        tables.read(tmp_path / "in.csv", encoding)
    assert RARE not in str(caught.value)


def test_a_nul_in_a_cell_is_text(tmp_path):
    (tmp_path / "in.csv").write_bytes(b"a,b\n1,x\0y\n")
    assert tables.read(tmp_path / "in.csv")[0].to_pydict() == {"a": ["1"], "b": ["x\0y"]}


# --- folders and patterns


def put(path: Path, **columns: list[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture
def folder(tmp_path) -> Path:
    place: Path = tmp_path / "in [1]"
    put(place / "b.parquet", q=[3, 4], s=["c", "d"])
    put(place / "a" / "x.PARQUET", s=["a"], q=[1])
    put(place / "a" / "y.pq", q=[2], s=["b"])
    put(place / "_old.parquet", other=[1])
    put(place / "_delta_log" / "x.parquet", other=[1])
    put(place / ".hidden" / "x.parquet", other=[1])
    (place / "README.txt").write_text("no data", encoding="utf-8")
    return place


def test_a_folder_of_parquet(folder, tmp_path):
    table, form = tables.read(folder)
    assert table.to_pydict() == {"s": ["a", "b", "c", "d"], "q": [1, 2, 3, 4]}
    assert form == ParquetFormat()
    release = kh.anonymize(str(folder), quasi="q", sensitive="s", k=2, output=tmp_path / "out.csv")
    assert release.evidence.rows == 4
    assert kh.audit(folder, quasi="q", sensitive="s", k=2).k == 1


@pytest.mark.parametrize(
    ("pattern", "rows"),
    [("in*/**", 4), ("in*", 4), ("in*/*.parquet", 2), ("in*/a/?.pq", 1), ("*/[a-z]/*", 2), ("in [[]1]/**/*.p*", 3)],
)
@pytest.mark.parametrize("absolute", [True, False])
def test_patterns(folder, tmp_path, monkeypatch, pattern, rows, absolute):
    monkeypatch.chdir(tmp_path)
    source = str(tmp_path / pattern) if absolute else pattern
    assert folder.exists()
    assert tables.read(source)[0].num_rows == rows
    assert kh.audit(source, quasi="q", sensitive="s", k=2).rows == rows


def test_a_file_of_exactly_that_name_is_no_pattern(tmp_path):
    put(tmp_path / "a[1].parquet", q=[1, 1])
    put(tmp_path / "a1.parquet", q=[2, 2, 2])
    assert tables.is_one_file(tmp_path / "a[1].parquet")
    assert tables.read(tmp_path / "a[1].parquet")[0].num_rows == 2
    assert kh.audit(tmp_path / "a[1].parquet", quasi="q", k=2).rows == 2


def test_hive_folders_are_columns(tmp_path):
    put(tmp_path / "in" / "zip=02139" / "sex=f" / "1.parquet", q=[1])
    put(tmp_path / "in" / "zip=02140" / "sex=__HIVE_DEFAULT_PARTITION__" / "1.parquet", q=[2])
    put(tmp_path / "in" / "zip=a%2Fb %C3%A9" / "sex=" / "1.parquet", q=[3])
    told = {"q": [1, 2, 3], "zip": ["02139", "02140", "a/b é"], "sex": ["f", None, ""]}
    assert tables.read(tmp_path / "in")[0].to_pydict() == told
    assert tables.read(tmp_path / "in" / "zip=*")[0].to_pydict() == told
    assert tables.read(tmp_path / "in" / "zip=02139")[0].to_pydict() == {"q": [1], "sex": ["f"]}


def test_files_that_differ(tmp_path):
    place = tmp_path / "in"
    put(place / f"city={RARE}" / "a.parquet", q=[1], s=["a"])
    put(place / f"city={RARE}" / "b.parquet", q=["1"], t=["a"])
    with pytest.raises(
        RequestError, match=r"File 2 of .*in \(b.parquet\).* lacks 's'; it also has 't'; 'q' is string, not int64"
    ) as caught:
        tables.read(place)
    assert RARE not in str(caught.value)
    (place / f"city={RARE}" / "b.parquet").write_bytes(b"PAR1")
    with pytest.raises(RequestError, match=r"File 2 of .*in \(b.parquet\) cannot be read as parquet") as caught:
        tables.read(place)
    assert RARE not in str(caught.value)
    put(place / f"city={RARE}" / "b.parquet", q=[1], s=["a"], city=["x"])
    with pytest.raises(RequestError, match=r"File 2 of .*in \(b.parquet\) has several columns of one name"):
        tables.read(place)


def test_nothing_to_read(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.xlsx").write_text(TEXT, encoding="utf-8")
    (tmp_path / "in" / "_a.csv").write_text(TEXT, encoding="utf-8")
    for source, told in (
        ("in", "holds no table"),
        ("*.parquet", "matches no table"),
        ("in/*.xlsx", "no table.*end in one of .csv"),
    ):
        for call in (tables.read, lambda source: kh.audit(source, quasi="q"), tables.format_in, tables.open_stream):
            with pytest.raises(RequestError, match=told):
                call(tmp_path / source)


def put_text(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with pa.output_stream(path, compression=tables.COMPRESSIONS.get(path.suffix)) as file:
        file.write(text.encode(encoding))
    return path


def test_a_folder_of_text(tmp_path):
    """Each file with its own delimiter, packing and encoding; the columns of all in the order of the first."""
    put_text(tmp_path / "in" / "b.csv", "name;sex\nRenée;f\n")
    put_text(tmp_path / "in" / "c.tsv.gz", "sex\tname\nm\t東京\n")
    put_text(tmp_path / "in" / "d.csv.zst", "name,sex\n", "utf-16")
    put_text(tmp_path / "in" / "e.TXT", "no,data")
    put_text(tmp_path / "in" / "year=1999" / "a.csv", "name,sex\nŁódź,f\n")
    with pytest.raises(RequestError, match=r"File 4 of .*in \(a.csv\) differs from the first file: its column 3 is not"):
        tables.read(tmp_path / "in")
    table, form = tables.read(tmp_path / "in" / "*.*")
    assert table.to_pydict() == {"name": ["Renée", "東京"], "sex": ["f", "m"]}
    assert form == tables.format_in(tmp_path / "in" / "*.*") == CsvFormat(";")
    assert not tables.is_one_file(tmp_path / "in" / "*.*")
    assert tables.read(tmp_path / "in" / "*" / "*.csv")[0].to_pydict() == {"name": ["Łódź"], "sex": ["f"], "year": ["1999"]}
    release = kh.anonymize(tmp_path / "in" / "?.*", quasi="sex", sensitive="name", k=2, output=tmp_path / "out.csv")
    assert release.evidence.rows == 2
    assert (tmp_path / "out.csv").read_text().startswith("name;sex\n"), "the delimiter is not that of the first file"


def test_notes_are_data_only_where_there_is_nothing_else(tmp_path):
    put_text(tmp_path / "in" / "a.txt", "q\n1\n")
    put_text(tmp_path / "in" / "b.txt.gz", "q\n2\n")
    assert tables.read(tmp_path / "in")[0].to_pydict() == {"q": ["1", "2"]}
    put_text(tmp_path / "in" / "c.csv", "q\n3\n")
    assert tables.read(tmp_path / "in")[0].to_pydict() == {"q": ["3"]}
    assert tables.read(tmp_path / "in" / "*.txt")[0].to_pydict() == {"q": ["1"]}


def test_folders_of_arrow(tmp_path):
    (tmp_path / "in").mkdir()
    for name, writer in (("a.arrow", pa.ipc.new_stream), ("b.feather", pa.ipc.new_file)):
        table = pa.table({"q": pa.array([1, None], pa.int8()), "s": pa.array(["x", "y"]).dictionary_encode()})
        with writer(tmp_path / "in" / name, table.schema) as sink:
            sink.write_table(table)
    table, form = tables.read(tmp_path / "in")
    assert form == ArrowFormat()
    assert table.schema.field("q").type == pa.int8()
    assert table.to_pydict() == {"q": [1, None] * 2, "s": ["x", "y"] * 2}
    put_text(tmp_path / "in" / "b.feather", "q,s")
    with pytest.raises(RequestError, match=r"File 2 of .*in \(b.feather\) cannot be read as arrow"):
        tables.read(tmp_path / "in")


def test_files_of_several_kinds(tmp_path):
    """The way out that the message names leads out."""
    place = tmp_path / "in [1]"
    put(place / "a.parquet", q=[1])
    put(place / "deep" / "b.parquet", q=[2])
    put_text(place / "c.csv", "q\n3\n")
    for call in (tables.read, tables.open_stream, tables.format_in):
        with pytest.raises(RequestError, match=r"The folder .* several kinds \(2 Parquet and 1 CSV\)") as caught:
            call(place)
    assert tables.read(str(caught.value).split("'")[1])[0].to_pydict() == {"q": [1, 2]}
    with pytest.raises(RequestError, match=r"The pattern .* several kinds \(1 .* and 1 .*\).* such as '\*\.(parquet|csv)'"):
        tables.read(tmp_path / "in*" / "*.*")
    with pytest.raises(RequestError, match="among the files"):
        tables.require_other(place / "out.csv", [place])


def test_text_files_that_differ(tmp_path):
    """Told by number: without a header, names are somebody's record."""
    put_text(tmp_path / "in" / f"city={RARE}" / "a.csv", f"{RARE},1,2\n")
    put_text(tmp_path / "in" / f"city={RARE}" / "b.csv", f"1,{RARE}x,y,2\n")
    calls: list[Callable[[Path], object]] = [tables.read, lambda source: list(tables.open_stream(source).batches())]
    told = r"File 2 of .*in \(b.csv\) differs .*: it lacks what is column 1 of the first; its column 2, 3 is not in the first"
    for call in calls:
        with pytest.raises(RequestError, match=told) as caught:
            call(tmp_path / "in")
        assert RARE not in str(caught.value)
    for text, told in (
        ("", "is empty"),
        ("\n1,2\n", "does not begin with a header"),
        ('x,y\n1,"z\n', "the quote opened in line 2"),
        ("x,y\n1,2\n\r1,2\n", "line 3 holds a carriage return"),
        ("x,y\n1\n", "line 2 has 1 fields"),
        ("x,x\n1,2\n", "several columns of one name"),
        ("x,city\n1,2\n", "several columns of one name, or one that its folder names too"),
    ):
        put_text(tmp_path / "in" / f"city={RARE}" / "a.csv", "x,y\n1,2\n")
        put_text(tmp_path / "in" / f"city={RARE}" / "b.csv", text)
        for call in calls:
            with pytest.raises(RequestError, match=rf"File 2 of .*in \(b.csv\).*{told}") as caught:
                call(tmp_path / "in")
            assert RARE not in str(caught.value)


def test_parquet_files_that_differ_in_what_may_be_missing(tmp_path):
    (tmp_path / "in").mkdir()
    for number, nullable in enumerate([True, False]):
        field = pa.field("q", pa.int64(), nullable=nullable, metadata={"number": str(number)})
        pq.write_table(pa.table([[number]], pa.schema([field])), tmp_path / "in" / f"{number}.parquet")
    assert tables.read(tmp_path / "in")[0].to_pydict() == {"q": [0, 1]}


def test_a_release_does_not_land_among_texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number in range(2):
        put_text(tmp_path / "in" / f"part-{number}.csv.gz", "q,s\n1,a\n")
    refused = {
        "in": ["in/out.csv", "in/out.parquet"],
        "in/*.csv.gz": ["in/out.csv.gz"],
        "in/part-*": ["in/part-9.csv", "in/../in/part-2.parquet"],
        f"{tmp_path}/**/*.gz": ["out.csv.gz"],
    }
    for source, targets in refused.items():
        for target in targets:
            with pytest.raises(RequestError, match="among the files"):
                kh.anonymize(source, quasi="q", sensitive="s", k=2, output=target)
    kh.anonymize("in/*.csv.gz", quasi="q", sensitive="s", k=2, output="in/out.csv")
    assert tables.read("in/*.csv.gz")[0].num_rows == 2


def test_a_release_does_not_land_among_its_sources(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(folder)
    (folder / "deep").mkdir()
    refused = {
        str(folder): ["link/out.csv", "in [1]/deep/out.parquet"],
        "link": [str(folder / "out.parquet"), "link/deep/../out.csv"],
        "in*/*.parquet": ["in [1]/out.parquet", "link/out.parquet"],
        "in*": ["in [1]/deep/out.csv"],
        f"{tmp_path}/**/*.pq": ["out.pq", "in [1]/deep/out.pq"],
    }
    for source, targets in refused.items():
        for target in targets:
            with pytest.raises(RequestError, match="among the files"):
                kh.anonymize(source, quasi="q", sensitive="s", k=2, output=target)
    for source, target in {str(folder): "a.csv", "in*": "out.parquet", "in*/*.parquet": "in [1]/out.csv"}.items():
        kh.anonymize(source, quasi="q", sensitive="s", k=2, output=target)


def test_a_folder_beside_the_trees_takes_the_release(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "q.csv").write_text("1;*\n2;*\n", encoding="utf-8")
    kh.anonymize(pa.table({"q": ["1", "2"]}), quasi="q", hierarchies=".", k=2, output="out/r.csv")


# --- odd and many columns

NAMES = [
    "a,b", 'say "hi"', '"', "two\nlines", "cr\r\nlf", "tab\there", "semi;colon", "pipe|", "💉", "東京", " lead", "trail ", "  ",
    "select", "FROM", "c0", "file", "q1", "s1", "'; DROP TABLE release; --", "{x}", "%s", "*", "Age", "age", "=1+1", "\\", "",
    "a.mean", "é", "e\u0301",
]  # fmt: skip


@pytest.mark.parametrize("suffix", FORMATS)
def test_odd_column_names_survive_every_format(tmp_path, suffix):
    rows = 8
    columns = {name: [f"{number}-{row % 2}" for row in range(rows)] for number, name in enumerate(NAMES)}
    source, again = tmp_path / f"in.{suffix}", tmp_path / f"again.{suffix}"
    source.touch()
    tables.batches_to_file(pa.table(columns).to_batches(), pa.table(columns).schema, source, tables.format_of(source))
    assert tables.read(source)[0].to_pydict() == columns
    quasi, sensitive = NAMES[:6], NAMES[6:]
    release = kh.anonymize(source, quasi=quasi, sensitive=sensitive, k=4, keep_order=True, output=again)
    told, _form = tables.read(again)
    assert told.column_names == NAMES
    assert told.select(sensitive).to_pydict() == {name: columns[name] for name in sensitive}
    assert kh.audit(again, quasi=quasi, sensitive=sensitive, k=4).k == release.evidence.k == 4


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["csv", "tsv.zst", "parquet", "arrow"])
def test_two_thousand_columns(tmp_path, suffix):
    names = [f"{NAMES[number % len(NAMES)]}{number}" for number in range(2000)]
    table = pa.table({name: ["x", "y", "x", "y"] for name in names})
    source, target = tmp_path / f"in.{suffix}", tmp_path / f"out.{suffix}"
    source.touch()
    tables.batches_to_file(table.to_batches(), table.schema, source, tables.format_of(source))
    kh.anonymize(source, quasi=names[:2], sensitive=names[2:], k=2, output=target)
    assert tables.read(target)[0].column_names == names


# --- a machine that fails

SMALL_FILES = """
import resource, sys
import kohort as kh
import pyarrow as pa
table = pa.table({"q": [1, 1] * 5000, "s": [f"{n * 7919 % 10007}" for n in range(10000)]})
kh.anonymize(table, quasi="q", sensitive="s", k=2)  # what is compiled is kept while there is room
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    kh.anonymize(table, quasi="q", sensitive="s", k=2, output=sys.argv[1])
except kh.KohortError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("suffix", ["csv.zst", "arrow"])  # the other formats: test_cli.py
def test_a_disk_that_is_full(tmp_path, suffix):
    command = [sys.executable, "-c", SMALL_FILES, str(tmp_path / f"out.{suffix}")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.stdout.startswith(MachineError.__name__), ran.stderr
    assert "could not be written: File too large" in ran.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "csv.zst", "parquet", "arrow"])
def test_a_staged_file_that_the_disk_damaged(tmp_path, monkeypatch, suffix):
    honest = tables.batches_to_file

    def damage(batches, schema, path, form):
        honest(batches, schema, path, form)
        path.write_bytes(path.read_bytes()[:-3])

    monkeypatch.setattr(tables, "batches_to_file", damage)
    source = pa.table({"q": ["1", "1"] * 50, "s": [f"{RARE}{number}" for number in range(100)]})
    with pytest.raises((MachineError, AuditError), match="nothing was published") as caught:
        kh.anonymize(source, quasi="q", sensitive="s", k=2, output=tmp_path / f"out.{suffix}")
    assert RARE not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_folder_as_output(tmp_path, suffix):
    (tmp_path / f"out.{suffix}").mkdir()
    with pytest.raises(RequestError, match="is a folder"):
        kh.anonymize(pa.table({"q": [1, 1]}), quasi="q", k=2, output=tmp_path / f"out.{suffix}", force=True)
    assert not list((tmp_path / f"out.{suffix}").iterdir())


@pytest.mark.parametrize("suffix", FORMATS)
def test_no_rows(tmp_path, suffix):
    source = tmp_path / f"in.{suffix}"
    source.touch()
    schema = pa.schema({"q": pa.string(), "s": pa.string()})
    tables.batches_to_file([], schema, source, tables.format_of(source))
    assert tables.read(source)[0].schema == schema
    with pytest.raises(RequestError, match="no rows"):
        kh.anonymize(source, quasi="q", sensitive="s", k=2, output=tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == [source]


def test_a_name_that_is_too_long(tmp_path):
    for call in (tables.read, lambda source: kh.audit(source, quasi="q")):
        with pytest.raises(MachineError, match="File name too long"):
            call(tmp_path / f"{'x' * 300}*.csv")


def test_bytes_of_a_release_are_utf8_without_a_mark(tmp_path):
    (tmp_path / "in.csv").write_bytes("q,s\n1,é\n1,é\n".encode("utf-16"))
    kh.anonymize(tmp_path / "in.csv", quasi="q", sensitive="s", k=2, output=tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == "q,s\n1,é\n1,é\n".encode()


def test_a_link_does_not_count_rows_twice(tmp_path):
    """Else everybody would hide among copies of themselves."""
    (tmp_path / "parts").mkdir()
    pq.write_table(pa.table({"q": [1, 2, 3], "s": ["a", "b", "c"]}), tmp_path / "parts" / "p.parquet")
    (tmp_path / "parts" / "again").symlink_to(tmp_path / "parts")
    (tmp_path / "parts" / "same.parquet").symlink_to(tmp_path / "parts" / "p.parquet")
    for source in (tmp_path / "parts", tmp_path / "parts" / "**" / "*.parquet"):
        assert tables.read(source)[0].num_rows == 3


def test_a_folder_that_is_a_link_is_read_too(tmp_path):
    for name in ("in", "elsewhere"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.csv").write_text("q,s\n1,a\n", encoding="utf-8")
    (tmp_path / "in" / "more").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "back").symlink_to(tmp_path / "in")
    assert tables.read(tmp_path / "in")[0].num_rows == 2


def test_a_row_that_readers_of_the_release_could_not_take(tmp_path):
    (tmp_path / "long.csv").write_text(f"q,s\n1,a\n1,{'x' * (9 << 20)}\n", encoding="utf-8")
    with pytest.raises(RequestError, match="row 2 has more than 8 MiB"):
        tables.read(tmp_path / "long.csv")
