"""Test reading and writing tables in every file format."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest

import kohort as kh
from kohort.errors import AuditError, MachineError, RequestError
from kohort.tables import tables
from tests.tables.files.sample_files import RARE, read_csv, write_csv

FORMATS = ["csv", "tsv", "tab.gz", "txt.zst", "csv.gz", "parquet", "pq", "arrow", "feather", "ipc"]


# --- unusual column names, many columns

NAMES = [
    "a,b", 'say "hi"', '"', "two\nlines", "cr\r\nlf", "tab\there", "semi;colon", "pipe|", "💉", "東京", " lead", "trail ", "  ",
    "select", "FROM", "c0", "file", "q1", "s1", "'; DROP TABLE release; --", "{x}", "%s", "*", "Age", "age", "=1+1", "\\", "",
    "a.mean", "é", "e\u0301",
]  # fmt: skip


@pytest.mark.parametrize("suffix", FORMATS)
def test_unusual_column_names_are_kept_in_every_format(tmp_path, suffix):
    rows = 8
    columns = {name: [f"{number}-{row % 2}" for row in range(rows)] for number, name in enumerate(NAMES)}
    source, again = tmp_path / f"in.{suffix}", tmp_path / f"again.{suffix}"
    source.touch()
    tables.batches_to_file(pa.table(columns).to_batches(), pa.table(columns).schema, source, tables.format_of(source))
    assert tables.read(source)[0].to_pydict() == columns
    quasi, sensitive = NAMES[:6], NAMES[6:]
    release = kh.anonymize(source, quasi=quasi, sensitive=sensitive, k=4, keep_order=True, output=again)
    table, _format = tables.read(again)
    assert table.column_names == NAMES
    assert table.select(sensitive).to_pydict() == {name: columns[name] for name in sensitive}
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


# --- disk errors

SMALL_FILES = """
import resource, sys
import kohort as kh
import pyarrow as pa
table = pa.table({"q": [1, 1] * 5000, "s": [f"{n * 7919 % 10007}" for n in range(10000)]})
kh.anonymize(table, quasi="q", sensitive="s", k=2)  # compile and cache the kernels before the limit is set
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    kh.anonymize(table, quasi="q", sensitive="s", k=2, output=sys.argv[1])
except kh.KohortError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["csv.zst", "arrow"])  # the other formats: test_cli.py
def test_file_size_limit_raises_machine_error(tmp_path, suffix):
    command = [sys.executable, "-c", SMALL_FILES, str(tmp_path / f"out.{suffix}")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.stdout.startswith(MachineError.__name__), ran.stderr
    assert "could not be written: File too large" in ran.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "csv.zst", "parquet", "arrow"])
def test_damaged_staged_file_is_not_published(tmp_path, monkeypatch, suffix):
    original = tables.batches_to_file

    def damage(batches, schema, path, file_format):
        original(batches, schema, path, file_format)
        path.write_bytes(path.read_bytes()[:-3])

    monkeypatch.setattr(tables, "batches_to_file", damage)
    source = pa.table({"q": ["1", "1"] * 50, "s": [f"{RARE}{number}" for number in range(100)]})
    with pytest.raises((MachineError, AuditError), match="nothing was published") as caught:
        kh.anonymize(source, quasi="q", sensitive="s", k=2, output=tmp_path / f"out.{suffix}")
    assert RARE not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", FORMATS)
def test_folder_as_output_is_rejected(tmp_path, suffix):
    (tmp_path / f"out.{suffix}").mkdir()
    with pytest.raises(RequestError, match="is a folder"):
        kh.anonymize(pa.table({"q": [1, 1]}), quasi="q", k=2, output=tmp_path / f"out.{suffix}", force=True)
    assert not list((tmp_path / f"out.{suffix}").iterdir())


@pytest.mark.parametrize("suffix", FORMATS)
def test_table_without_rows_is_rejected(tmp_path, suffix):
    source = tmp_path / f"in.{suffix}"
    source.touch()
    schema = pa.schema({"q": pa.string(), "s": pa.string()})
    tables.batches_to_file([], schema, source, tables.format_of(source))
    assert tables.read(source)[0].schema == schema
    with pytest.raises(RequestError, match="no rows"):
        kh.anonymize(source, quasi="q", sensitive="s", k=2, output=tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == [source]


def test_too_long_file_name_raises_machine_error(tmp_path):
    for call in (tables.read, lambda source: kh.audit(source, quasi="q")):
        with pytest.raises(MachineError, match="File name too long"):
            call(tmp_path / f"{'x' * 300}*.csv")


def test_csv_release_is_utf8_without_byte_order_mark(tmp_path):
    (tmp_path / "in.csv").write_bytes("q,s\n1,é\n1,é\n".encode("utf-16"))
    kh.anonymize(tmp_path / "in.csv", quasi="q", sensitive="s", k=2, output=tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == "q,s\n1,é\n1,é\n".encode()


def test_very_long_row_is_rejected(tmp_path):
    (tmp_path / "long.csv").write_text(f"q,s\n1,a\n1,{'x' * (9 << 20)}\n", encoding="utf-8")
    with pytest.raises(RequestError, match=r"row 2 \(not counting the header\) is longer than 8 MiB"):
        tables.read(tmp_path / "long.csv")


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
def test_missing_values_in_table_with_one_column(tmp_path, suffix):
    source = tmp_path / "in.csv"
    write_csv(source, ["q"], [["1"], ["1"], [None], [""]])
    assert kh.anonymize(source, quasi="q", k=2, output=tmp_path / f"out.{suffix}").evidence.k == 2


def test_column_names_that_differ_only_in_case(tmp_path):
    write_csv(tmp_path / "in.csv", ["Age", "age", "AGE"], [["1", "2", "3"], ["1", "4", "5"]])
    kh.anonymize(tmp_path / "in.csv", quasi="age", sensitive=["Age", "AGE"], k=2, keep_order=True, output=tmp_path / "o.csv")
    assert read_csv(tmp_path / "o.csv") == [["Age", "age", "AGE"], ["1", "[2 - 4]", "3"], ["1", "[2 - 4]", "5"]]


def test_gzip_header_has_no_name_and_no_time(tmp_path):
    kh.anonymize(pa.table({"q": [1, 1]}), quasi="q", k=2, output=tmp_path / f"{RARE}.csv.gz")
    head = (tmp_path / f"{RARE}.csv.gz").read_bytes()[:10]
    assert head[:2] == b"\x1f\x8b"
    assert head[3] == 0  # no name, no comment
    assert head[4:8] == bytes(4)  # no time


@pytest.mark.parametrize("source", [17, None, [1, 2], {"a": [1]}, b"a,b"])
def test_object_that_is_not_a_table_is_rejected(source):
    with pytest.raises(RequestError, match="cannot read a table"):
        tables.read(source)
