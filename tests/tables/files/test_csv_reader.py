"""CSV text survives reading and writing."""

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
    """(names, rows): cells of any text, None for an empty one."""
    names = draw(st.lists(st.text("ab .'é*[]", min_size=1, max_size=4), min_size=2, max_size=4, unique_by=str.casefold))
    names = names[: draw(columns)]
    return names, draw(st.lists(st.lists(CELLS, min_size=len(names), max_size=len(names)), min_size=2, max_size=8))


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
