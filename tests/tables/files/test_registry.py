"""Test that a new file format needs only one class: a toy format, JSON lines, is registered here and used everywhere."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kohort as kh
from kohort.errors import AuditError, MachineError, RequestError
from kohort.tables import tables
from kohort.tables.files.file_format import COMPRESSIONS, FileFormat
from kohort.tables.files.registry import FORMATS, detected_format, format_beginning, format_named
from kohort.tables.files.whole_table import WholeTable

RARE = "Xanthippe-4711"
ROWS = 60
TABLE = pa.table(
    {
        "age": [20 + number * 7 % 40 for number in range(ROWS)],
        "city": [("Łódź", 'the "new" one', "a\nb")[number % 3] for number in range(ROWS)],
        "disease": [("flu", "gout", None)[number % 3] for number in range(ROWS)],
        "visits": [number % 5 for number in range(ROWS)],
        "weight": [None if number == 7 else number / 8 for number in range(ROWS)],
    }
)
REQUEST: dict[str, Any] = {
    "quasi": ["age", "city"], "sensitive": "disease", "other": ["visits", "weight"], "allow": "weight", "k": 3, "seed": 7,
}  # fmt: skip
KNOWN = dict(FORMATS)


class JsonLines(FileFormat):
    """Each line is one JSON object."""

    name = "jsonl"
    title = "JSON lines"
    suffixes = (".jsonl",)

    def open(self, path: Path, title: str) -> WholeTable:
        del title
        return WholeTable(partial(_load, path), "cannot be read as JSON lines: it is damaged.")

    def write(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: Path) -> None:
        del schema
        with path.open("w", encoding="utf-8") as file:
            for batch in batches:
                file.writelines(json.dumps(row) + "\n" for row in batch.to_pylist())


def _load(path: Path) -> pa.Table:
    return pa.Table.from_pylist([json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()])


@pytest.fixture
def source(tmp_path, monkeypatch) -> Path:
    """A file of the toy format. The format is registered while the test runs."""
    monkeypatch.setitem(FORMATS, JsonLines.name, JsonLines)
    return put(tmp_path / "in.jsonl", TABLE)


def put(path: Path, table: pa.Table) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    tables.batches_to_file(table.to_batches(max_chunksize=7), table.schema, path, tables.format_of(path))
    return path


# --- the toy format


@pytest.mark.parametrize("engine", ["memory", "disk", "auto"])
def test_release_in_new_format_equals_release_in_parquet(source, tmp_path, engine):
    settings = {**REQUEST, "engine": engine, "keep_order": True}
    release = kh.anonymize(source, output=tmp_path / "out.jsonl", **settings)
    assert release.evidence.passed
    kh.anonymize(put(tmp_path / "in.parquet", TABLE), output=tmp_path / "out.parquet", **settings)
    expected = pq.read_table(tmp_path / "out.parquet")
    assert _load(tmp_path / "out.jsonl").to_pylist() == expected.to_pylist()
    assert release.summary()["loss"] == kh.anonymize(TABLE, **{**settings, "engine": "memory"}).summary()["loss"]


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize("pair", ["jsonl to csv", "csv to jsonl", "parquet to jsonl"])
def test_conversion_from_and_to_other_formats(source, tmp_path, engine, pair):
    first, _, last = pair.partition(" to ")
    given = put(tmp_path / f"in.{first}", TABLE)
    assert given.parent == source.parent
    assert kh.anonymize(given, output=tmp_path / f"out.{last}", engine=engine, **REQUEST).evidence.rows == ROWS


def test_audit_and_inspect_of_new_format(source, tmp_path):
    kh.anonymize(source, output=tmp_path / "out.jsonl", **REQUEST)
    settings: dict[str, Any] = {"quasi": ["age", "city"], "sensitive": "disease", "k": 3}
    assert not kh.audit(source, **settings).passed
    found = kh.audit(tmp_path / "out.jsonl", **settings)
    assert (found.passed, found.k >= 3, found.rows) == (True, True, ROWS)
    inspection = kh.inspect(source)
    assert [one.name for one in inspection.profiles] == TABLE.column_names
    assert inspection.rows == ROWS


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_folder_of_new_format(source, tmp_path, engine):
    for number in range(3):
        put(tmp_path / "visits" / f"year={2020 + number}" / "part.jsonl", TABLE.slice(20 * number, 20))
    (tmp_path / "visits" / "README.txt").write_text("notes", encoding="utf-8")
    (tmp_path / "visits" / "a.csv").write_text("a,b", encoding="utf-8")
    with pytest.raises(RequestError, match=r"several formats \(3 JSON lines and 1 CSV\)"):
        tables.read(tmp_path / "visits")
    (tmp_path / "visits" / "a.csv").unlink()
    table, origin = tables.read(tmp_path / "visits")
    assert origin == JsonLines()
    assert table.column("year").to_pylist() == [str(2020 + number // 20) for number in range(ROWS)]
    assert table.drop_columns("year").to_pylist() == TABLE.to_pylist()
    release = kh.anonymize(
        tmp_path / "visits", output=tmp_path / "out.jsonl", engine=engine, **{**REQUEST, "quasi": ["age", "city", "year"]}
    )
    assert release.evidence.rows == ROWS
    assert source.exists()


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_audit_finds_changed_cell_in_written_file(source, tmp_path, monkeypatch, engine):
    original = JsonLines.write

    def write(self: JsonLines, batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: Path) -> None:
        original(self, batches, schema, path)
        first, _, rest = path.read_text(encoding="utf-8").partition("\n")
        path.write_text(json.dumps({**json.loads(first), "disease": RARE}) + "\n" + rest, encoding="utf-8")

    monkeypatch.setattr(JsonLines, "write", write)
    with pytest.raises(AuditError, match="nothing was published") as caught:
        kh.anonymize(source, output=tmp_path / "out.jsonl", engine=engine, **REQUEST)
    assert RARE not in str(caught.value)
    assert not (tmp_path / "out.jsonl").exists()


def test_written_file_that_cannot_be_read_is_not_published(source, tmp_path, monkeypatch):
    original = JsonLines.write

    def write(self: JsonLines, batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: Path) -> None:
        original(self, batches, schema, path)
        path.write_bytes(path.read_bytes()[:-3])

    monkeypatch.setattr(JsonLines, "write", write)
    with pytest.raises(MachineError, match="nothing was published"):
        kh.anonymize(source, output=tmp_path / "out.jsonl", **REQUEST)
    assert not (tmp_path / "out.jsonl").exists()


def test_errors_contain_no_cells(source):
    source.write_text('{"age": 1, "city": "' + RARE, encoding="utf-8")
    for call in (
        tables.read,
        lambda given: list(tables.open_stream(given).batches()),
        lambda given: kh.audit(given, quasi="age"),
    ):
        with pytest.raises(RequestError, match="cannot be read as JSON lines") as caught:
            call(source)
        assert RARE not in str(caught.value)


def test_spark_error_names_formats_that_spark_can_write(source, tmp_path):
    with pytest.raises(
        RequestError, match=r"writes folders of Parquet or CSV files\. Choose a name that ends with \.parquet or \.csv\."
    ):
        kh.anonymize(source, output=tmp_path / "out.jsonl", engine="spark", **REQUEST)


def test_messages_name_every_format(source, tmp_path):
    with pytest.raises(RequestError, match=r"\.csv.*\.parquet.*\.arrow.*\.jsonl"):
        tables.format_of(Path("release.unknown"))
    (tmp_path / "in.csv").write_bytes(b"\0\1\2\3")
    with pytest.raises(RequestError, match="kohort can read text, Parquet, Arrow and JSON lines files"):
        tables.read(tmp_path / "in.csv")
    assert source.exists()


# --- formats are detected once


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet", "arrow", "jsonl", "folder"])
@pytest.mark.parametrize("call", ["memory", "disk", "auto", "inspect", "audit", "table"])
def test_format_of_a_file_is_detected_once(source, tmp_path, monkeypatch, suffix, call):
    if suffix == "folder":
        given = tmp_path / "in"
        for number in range(3):
            put(given / f"{number}.csv", TABLE.slice(20 * number, 20))
    else:
        given = put(tmp_path / f"in.{suffix}", TABLE)
    assert source.exists()
    times = Counter[str]()

    def counted(path: Path, title: str, encoding: str | None) -> FileFormat:
        times[path.name] += 1
        return detected_format(path, title, encoding)

    monkeypatch.setattr("kohort.tables.files.source_file.detected_format", counted)
    if call == "inspect":
        kh.inspect(given)
    elif call == "audit":
        kh.audit(given, quasi="age", sensitive="disease")
    elif call == "table":
        kh.anonymize(given, **REQUEST)
    else:
        kh.anonymize(given, output=tmp_path / "out.csv", engine=call, **REQUEST)
    assert set(times.values()) == {1}
    assert len(times) == (3 if suffix == "folder" else 1)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow", "jsonl"])
def test_file_that_changes_after_detection_is_rejected(source, tmp_path, suffix):
    path = put(tmp_path / f"changing.{suffix}", TABLE)
    assert source.exists()
    opened = tables.open_source(path)
    assert opened.read().num_rows == ROWS
    put(path, TABLE.slice(3))
    for call in (opened.read, lambda: list(opened.stream().batches())):
        with pytest.raises(RequestError, match="was changed while kohort read it"):
            call()
    assert tables.open_source(path).read().num_rows == ROWS - 3


# --- the registry


def test_formats_have_distinct_suffixes():
    suffixes = [suffix for file_format in KNOWN.values() for suffix in file_format.suffixes]
    assert len(set(suffixes)) == len(suffixes)
    for name, file_format in KNOWN.items():
        assert file_format.name == name
        assert file_format() == file_format()
        assert hash(file_format()) == hash(file_format())
        assert {*file_format.compressions} <= {*COMPRESSIONS}
        assert {*file_format.note_suffixes} <= {*file_format.suffixes}
        assert format_named(Path(f"a{file_format.suffixes[0].upper()}")) is file_format
        assert not file_format.first_bytes or format_beginning(file_format.first_bytes + b"more") is file_format
    assert len({file_format() for file_format in KNOWN.values()}) == len(KNOWN)


def test_repr_of_source_contains_no_cells():
    assert repr(tables.open_source(pa.table({"q": [RARE]}))) == "Source(Table)"
    assert repr(tables.open_source("a.csv")) == "Source('a.csv')"
