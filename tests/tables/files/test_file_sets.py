"""Test folders and patterns of file names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kohort as kh
from kohort.errors import RequestError
from kohort.tables import tables
from kohort.tables.files.arrow_file import ArrowFormat
from kohort.tables.files.parquet_file import ParquetFormat
from kohort.tables.tables import CsvFormat

RARE = "Xanthippe-4711"
TEXT = "name,sex\nRenée,f\n東京 💉,m\nŁódź,f\n"


# --- folders and patterns


def put(path: Path, **columns: list[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture
def folder(tmp_path) -> Path:
    path: Path = tmp_path / "in [1]"
    put(path / "b.parquet", q=[3, 4], s=["c", "d"])
    put(path / "a" / "x.PARQUET", s=["a"], q=[1])
    put(path / "a" / "y.pq", q=[2], s=["b"])
    put(path / "_old.parquet", other=[1])
    put(path / "_delta_log" / "x.parquet", other=[1])
    put(path / ".hidden" / "x.parquet", other=[1])
    (path / "README.txt").write_text("no data", encoding="utf-8")
    return path


def test_folder_of_parquet_files(folder, tmp_path):
    table, file_format = tables.read(folder)
    assert table.to_pydict() == {"s": ["a", "b", "c", "d"], "q": [1, 2, 3, 4]}
    assert file_format == ParquetFormat()
    release = kh.anonymize(str(folder), quasi="q", sensitive="s", k=2, output=tmp_path / "out.csv")
    assert release.evidence.rows == 4
    assert kh.audit(folder, quasi="q", sensitive="s", k=2).k == 1


@pytest.mark.parametrize(
    ("pattern", "rows"),
    [("in*/**", 4), ("in*", 4), ("in*/*.parquet", 2), ("in*/a/?.pq", 1), ("*/[a-z]/*", 2), ("in [[]1]/**/*.p*", 3)],
)
@pytest.mark.parametrize("absolute", [True, False])
def test_pattern_selects_files(folder, tmp_path, monkeypatch, pattern, rows, absolute):
    monkeypatch.chdir(tmp_path)
    source = str(tmp_path / pattern) if absolute else pattern
    assert folder.exists()
    assert tables.read(source)[0].num_rows == rows
    assert kh.audit(source, quasi="q", sensitive="s", k=2).rows == rows


def test_existing_file_name_is_not_a_pattern(tmp_path):
    put(tmp_path / "a[1].parquet", q=[1, 1])
    put(tmp_path / "a1.parquet", q=[2, 2, 2])
    assert tables.is_one_file(tmp_path / "a[1].parquet")
    assert tables.read(tmp_path / "a[1].parquet")[0].num_rows == 2
    assert kh.audit(tmp_path / "a[1].parquet", quasi="q", k=2).rows == 2


def test_key_value_folders_become_columns(tmp_path):
    put(tmp_path / "in" / "zip=02139" / "sex=f" / "1.parquet", q=[1])
    put(tmp_path / "in" / "zip=02140" / "sex=__HIVE_DEFAULT_PARTITION__" / "1.parquet", q=[2])
    put(tmp_path / "in" / "zip=a%2Fb %C3%A9" / "sex=" / "1.parquet", q=[3])
    expected = {"q": [1, 2, 3], "zip": ["02139", "02140", "a/b é"], "sex": ["f", None, ""]}
    assert tables.read(tmp_path / "in")[0].to_pydict() == expected
    assert tables.read(tmp_path / "in" / "zip=*")[0].to_pydict() == expected
    assert tables.read(tmp_path / "in" / "zip=02139")[0].to_pydict() == {"q": [1], "sex": ["f"]}


def test_parquet_files_with_different_columns_are_rejected(tmp_path):
    place = tmp_path / "in"
    put(place / f"city={RARE}" / "a.parquet", q=[1], s=["a"])
    put(place / f"city={RARE}" / "b.parquet", q=["1"], t=["a"])
    with pytest.raises(
        RequestError,
        match=r"File 2 of .*in' \('b.parquet'\).* not have 's'; it has in addition 't'; 'q' has the type string instead of int64",
    ) as caught:
        tables.read(place)
    assert RARE not in str(caught.value)
    (place / f"city={RARE}" / "b.parquet").write_bytes(b"PAR1")
    with pytest.raises(RequestError, match=r"File 2 of .*in' \('b.parquet'\) cannot be read as Parquet") as caught:
        tables.read(place)
    assert RARE not in str(caught.value)
    put(place / f"city={RARE}" / "b.parquet", q=[1], s=["a"], city=["x"])
    with pytest.raises(RequestError, match=r"File 2 of .*in' \('b.parquet'\) has two columns with the same name"):
        tables.read(place)


def test_folder_or_pattern_without_tables_is_rejected(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.xlsx").write_text(TEXT, encoding="utf-8")
    (tmp_path / "in" / "_a.csv").write_text(TEXT, encoding="utf-8")
    for source, message in (
        ("in", "contains no file that kohort can read"),
        ("*.parquet", "matches no file that kohort can read"),
        ("in/*.xlsx", "matches no file.*end in .csv"),
    ):
        for call in (tables.read, lambda source: kh.audit(source, quasi="q"), tables.format_in, tables.open_stream):
            with pytest.raises(RequestError, match=message):
                call(tmp_path / source)


def put_text(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with pa.output_stream(path, compression=tables.COMPRESSIONS.get(path.suffix)) as file:
        file.write(text.encode(encoding))
    return path


def test_folder_of_text_files(tmp_path):
    """Each file has its own delimiter, compression and encoding. The columns have the order of the first file."""
    put_text(tmp_path / "in" / "b.csv", "name;sex\nRenée;f\n")
    put_text(tmp_path / "in" / "c.tsv.gz", "sex\tname\nm\t東京\n")
    put_text(tmp_path / "in" / "d.csv.zst", "name,sex\n", "utf-16")
    put_text(tmp_path / "in" / "e.TXT", "no,data")
    put_text(tmp_path / "in" / "year=1999" / "a.csv", "name,sex\nŁódź,f\n")
    with pytest.raises(RequestError, match=r"File 4 of .*in' \('a.csv'\) differs from the first file: its column 3 is not"):
        tables.read(tmp_path / "in")
    table, file_format = tables.read(tmp_path / "in" / "*.*")
    assert table.to_pydict() == {"name": ["Renée", "東京"], "sex": ["f", "m"]}
    assert file_format == tables.format_in(tmp_path / "in" / "*.*") == CsvFormat(";")
    assert not tables.is_one_file(tmp_path / "in" / "*.*")
    assert tables.read(tmp_path / "in" / "*" / "*.csv")[0].to_pydict() == {"name": ["Łódź"], "sex": ["f"], "year": ["1999"]}
    release = kh.anonymize(tmp_path / "in" / "?.*", quasi="sex", sensitive="name", k=2, output=tmp_path / "out.csv")
    assert release.evidence.rows == 2
    assert (tmp_path / "out.csv").read_text().startswith("name;sex\n"), "the release must have the delimiter of the first file"


def test_txt_files_are_read_only_if_there_are_no_other_tables(tmp_path):
    put_text(tmp_path / "in" / "a.txt", "q\n1\n")
    put_text(tmp_path / "in" / "b.txt.gz", "q\n2\n")
    assert tables.read(tmp_path / "in")[0].to_pydict() == {"q": ["1", "2"]}
    put_text(tmp_path / "in" / "c.csv", "q\n3\n")
    assert tables.read(tmp_path / "in")[0].to_pydict() == {"q": ["3"]}
    assert tables.read(tmp_path / "in" / "*.txt")[0].to_pydict() == {"q": ["1"]}


def test_folder_of_arrow_files(tmp_path):
    (tmp_path / "in").mkdir()
    for name, writer in (("a.arrow", pa.ipc.new_stream), ("b.feather", pa.ipc.new_file)):
        table = pa.table({"q": pa.array([1, None], pa.int8()), "s": pa.array(["x", "y"]).dictionary_encode()})
        with writer(tmp_path / "in" / name, table.schema) as sink:
            sink.write_table(table)
    table, file_format = tables.read(tmp_path / "in")
    assert file_format == ArrowFormat()
    assert table.schema.field("q").type == pa.int8()
    assert table.to_pydict() == {"q": [1, None] * 2, "s": ["x", "y"] * 2}
    put_text(tmp_path / "in" / "b.feather", "q,s")
    with pytest.raises(RequestError, match=r"File 2 of .*in' \('b.feather'\) cannot be read as Arrow"):
        tables.read(tmp_path / "in")


def test_files_of_several_formats_are_rejected(tmp_path):
    """The pattern in the message works."""
    place = tmp_path / "in [1]"
    put(place / "a.parquet", q=[1])
    put(place / "deep" / "b.parquet", q=[2])
    put_text(place / "c.csv", "q\n3\n")
    for call in (tables.read, tables.open_stream, tables.format_in):
        with pytest.raises(RequestError, match=r"The folder .* several formats \(2 Parquet and 1 CSV\)") as caught:
            call(place)
    assert tables.read(str(caught.value).split("'")[-2])[0].to_pydict() == {"q": [1, 2]}
    with pytest.raises(RequestError, match=r"The pattern .* several formats \(1 .* and 1 .*\).* such as '\*\.(parquet|csv)'"):
        tables.read(tmp_path / "in*" / "*.*")
    with pytest.raises(RequestError, match="among the files"):
        tables.require_other(place / "out.csv", [place])


def test_text_files_with_different_columns_are_rejected(tmp_path):
    """The message gives column numbers: in a file without a header, the names are cells of a row."""
    put_text(tmp_path / "in" / f"city={RARE}" / "a.csv", f"{RARE},1,2\n")
    put_text(tmp_path / "in" / f"city={RARE}" / "b.csv", f"1,{RARE}x,y,2\n")
    calls: list[Callable[[Path], object]] = [tables.read, lambda source: list(tables.open_stream(source).batches())]
    message = r"File 2 of .*in' \('b.csv'\) differs .*: it does not have column 1 of the first file; its column 2, 3 is not"
    for call in calls:
        with pytest.raises(RequestError, match=message) as caught:
            call(tmp_path / "in")
        assert RARE not in str(caught.value)
    for text, message in (
        ("", "is empty"),
        ("\n1,2\n", "the first line is empty"),
        ('x,y\n1,"z\n', "the quote opened in line 2"),
        ("x,y\n1,2\n\r1,2\n", "line 3 contains a carriage return"),
        ("x,y\n1\n", "line 2 has 1 cell,"),
        ("x,x\n1,2\n", "two columns with the same name"),
        ("x,city\n1,2\n", "two columns with the same name, or a column with the same name as a key=value folder"),
    ):
        put_text(tmp_path / "in" / f"city={RARE}" / "a.csv", "x,y\n1,2\n")
        put_text(tmp_path / "in" / f"city={RARE}" / "b.csv", text)
        for call in calls:
            with pytest.raises(RequestError, match=rf"File 2 of .*in' \('b.csv'\).*{message}") as caught:
                call(tmp_path / "in")
            assert RARE not in str(caught.value)


def test_parquet_files_may_differ_in_nullable_columns(tmp_path):
    (tmp_path / "in").mkdir()
    for number, nullable in enumerate([True, False]):
        field = pa.field("q", pa.int64(), nullable=nullable, metadata={"number": str(number)})
        pq.write_table(pa.table([[number]], pa.schema([field])), tmp_path / "in" / f"{number}.parquet")
    assert tables.read(tmp_path / "in")[0].to_pydict() == {"q": [0, 1]}


def test_release_is_not_written_among_source_text_files(tmp_path, monkeypatch):
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


def test_release_is_not_written_among_source_files(folder, tmp_path, monkeypatch):
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


def test_release_may_be_written_below_the_folder_of_trees(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "q.csv").write_text("1;*\n2;*\n", encoding="utf-8")
    kh.anonymize(pa.table({"q": ["1", "2"]}), quasi="q", hierarchies=".", k=2, output="out/r.csv")


def test_linked_file_is_read_once(tmp_path):
    """If rows were read twice, every group would look larger than it is."""
    (tmp_path / "parts").mkdir()
    pq.write_table(pa.table({"q": [1, 2, 3], "s": ["a", "b", "c"]}), tmp_path / "parts" / "p.parquet")
    (tmp_path / "parts" / "again").symlink_to(tmp_path / "parts")
    (tmp_path / "parts" / "same.parquet").symlink_to(tmp_path / "parts" / "p.parquet")
    for source in (tmp_path / "parts", tmp_path / "parts" / "**" / "*.parquet"):
        assert tables.read(source)[0].num_rows == 3


def test_linked_folder_is_read(tmp_path):
    for name in ("in", "elsewhere"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.csv").write_text("q,s\n1,a\n", encoding="utf-8")
    (tmp_path / "in" / "more").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "back").symlink_to(tmp_path / "in")
    assert tables.read(tmp_path / "in")[0].num_rows == 2
