"""Test that CSV text is unchanged by reading and writing."""

from __future__ import annotations

import csv
import io
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import kohort as kh
from kohort.errors import RequestError
from kohort.tables import tables
from tests.tables.files.sample_files import PACKED, read_csv, write_csv

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
CELLS = st.none() | st.sampled_from(ODD) | st.text(max_size=6)


@st.composite
def text_tables(draw, columns: st.SearchStrategy[int]):
    """Draw (names, rows). Cells are any text; None is an empty cell."""
    names = draw(st.lists(st.text("ab .'é*[]", min_size=1, max_size=4), min_size=2, max_size=4, unique_by=str.casefold))
    names = names[: draw(columns)]
    return names, draw(st.lists(st.lists(CELLS, min_size=len(names), max_size=len(names)), min_size=2, max_size=8))


@settings(max_examples=150, deadline=None)
@given(text_tables(st.integers(1, 4)), st.sampled_from(",;\t|"), st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", *PACKED]))
@example((["a"], [[None], [""], ["x"]]), ";", "\n", "")
def test_csv_text_is_unchanged_by_reading_and_writing(made, delimiter, newline, suffix):
    names, rows = made
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / f"in.csv{suffix}", Path(folder) / f"out.csv{suffix}"
        write_csv(source, names, rows, delimiter, newline)
        table, file_format = tables.read(source)
        assert table.column_names == names
        is_only = len(names) == 1  # in a single column, a missing value is written as "", because readers skip empty lines
        assert [list(row.values()) for row in table.to_pylist()] == ([[cell or None] for (cell,) in rows] if is_only else rows)
        target.touch()
        assert isinstance(file_format, tables.CsvFormat)
        tables.batches_to_file(table.to_batches(max_chunksize=3), table.schema, target, file_format)
        assert read_csv(target, file_format.delimiter) == [names, *([cell or "" for cell in row] for row in rows)]
        assert tables.read(target)[0].equals(table)
        assert is_only or file_format.delimiter == delimiter


@settings(max_examples=300, deadline=None)
@given(st.text('aé,"\n\r', max_size=16))
@example('x,"y\n1,2\n')
@example('x,"y"z\n')
@example('x,5" disk\n"a""b",\r\n')
def test_any_text_is_read_like_pythons_strict_reader_or_rejected(body):
    text = f"h1,h2\n{body}"
    try:
        expected = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error:
        expected = []
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "in.csv").write_bytes(text.encode())
        try:
            table, _format = tables.read(Path(folder) / "in.csv")
        except RequestError:
            lone_return = re.search("\r(?!\n)", text) is not None  # readers treat it differently, so kohort rejects it
            assert lone_return or not expected or {len(row) for row in expected} != {2}, "a valid file was rejected"
            return
    assert [[cell or "" for cell in row.values()] for row in table.to_pylist()] == expected[1:]


@settings(max_examples=25, deadline=None)
@given(
    text_tables(st.integers(2, 4)), st.sampled_from([",", ";", "\t"]), st.sampled_from(["csv", "tsv", "txt", "csv.gz", "csv.zst"])
)
@example((["q", "s"], [["1", cell] for cell in (None, "", *ODD)]), ",", "csv")
@example((["q", "s"], [["1", "a\0b"], ["2", "\ufeff"]]), ";", "csv.gz")
@example((["\ufeffq", "s"], [["1", "a"], ["2", "b"]]), ",", "tsv.zst")
def test_release_keeps_csv_text_byte_for_byte(made, delimiter, suffix):
    names, rows = made
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.csv", Path(folder) / f"out.{suffix}"
        write_csv(source, names, rows, delimiter)
        if names[0].startswith("\ufeff"):
            source.write_bytes(b"\xef\xbb\xbf" + source.read_bytes())  # else it would be read as the file's byte order mark
        kh.anonymize(source, quasi=names[:1], sensitive=names[1:], k=2, keep_order=True, output=target)
        expected = "\t" if suffix.startswith("tsv") else "," if suffix.startswith("csv") and delimiter == "\t" else delimiter
        published = read_csv(target, expected)
        assert published[0] == names
        assert [row[1:] for row in published[1:]] == [[cell or "" for cell in row[1:]] for row in rows]


@pytest.mark.parametrize("text", ["a,b\n", "a,b", "a,b\r\n"])
def test_file_with_only_a_header_has_no_rows(tmp_path, text):
    (tmp_path / "in.csv").write_text(text, encoding="utf-8")
    assert tables.read(tmp_path / "in.csv")[0].num_rows == 0
    with pytest.raises(RequestError, match="no rows"):
        kh.anonymize(tmp_path / "in.csv", quasi="a", drop="b")


@pytest.mark.parametrize("line", [2, 40])
def test_long_cell_is_read_in_any_line(tmp_path, line):
    rows = [["1", "x"]] * (line - 2) + [["1", "y" * 200_000]]
    write_csv(tmp_path / "in.csv", ["a", "b"], rows)
    assert tables.read(tmp_path / "in.csv")[0].num_rows == line - 1
