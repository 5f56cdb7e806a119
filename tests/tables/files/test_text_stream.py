"""Test reading CSV text in batches."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kohort.errors import RequestError
from kohort.tables import tables
from kohort.tables.files import csv_dialect as csv_text
from kohort.tables.files import csv_reader as csv_table
from kohort.tables.files import csv_structure as csv_rows
from tests.tables.streamed import drained, read, require_same

ROWS = 5000
MIB = 1 << 20


# --- CSV

CELLS = ["a", "", '""', '"x\ny"', '"say ""hi"""', '5" disk', "Renée", '"u\r\nv;,\t"', '"\n\n"', "02139"]


def text_of(columns: int, delimiter: str = ",", newline: str = "\n") -> str:
    """Return CSV text in which every cell of CELLS is next to every other."""
    rows = ([CELLS[(number // len(CELLS) ** place + place) % len(CELLS)] for place in range(columns)] for number in range(1000))
    header = delimiter.join(f"column {number}" for number in range(columns))
    return newline.join([header, *(delimiter.join(row) for row in rows)]) + newline


CSV: dict[str, tuple[str, str, str | None]] = {  # name: text, encoding, declared encoding
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
def test_stream_of_csv_matches_read(tmp_path, monkeypatch, name, piece):
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
        assert len(list(stream.batches())) > 5, "the file was not read in parts"


@settings(max_examples=200, deadline=None)
@given(st.text('aé,"\n\r', max_size=24), st.integers(1, 9), st.sampled_from(["h1,h2", "h"]))
@example('x,"y\n1,2\n', 3, "h1,h2")
@example('"a\nb","c\nd"\n"e\n\n","f"\n', 4, "h1,h2")
@example("1,2,3\n" + "1,2\n" * 30 + '1,"\n', 2, "h1,h2")
@example('"a",', 3, "h1,h2")
@example("\n\n", 1, "h")
def test_result_does_not_depend_on_the_size_of_pieces(body, piece, header):
    """The table is the same, or the error message is the same."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "in.csv"
        path.write_bytes(f"{header}\n{body}".encode())
        whole = read(path)
        patch.setattr(csv_rows, "PIECE", piece)
        found = drained(path)
    assert isinstance(whole, str) == isinstance(found, str)
    assert whole == found if isinstance(whole, str) else whole.equals(found)


def test_empty_cell_at_the_end_of_the_file_is_missing(tmp_path):
    """Arrow reads it as empty text if the cell before is quoted."""
    (tmp_path / "in.csv").write_bytes(b'a,b\n"x",')
    assert tables.read(tmp_path / "in.csv")[0].to_pylist() == [{"a": "x", "b": None}]
    (tmp_path / "in.csv").write_bytes(b'a,b\n"x",""')
    assert tables.read(tmp_path / "in.csv")[0].to_pylist() == [{"a": "x", "b": ""}]


def test_damage_in_a_column_that_is_not_read_is_found(tmp_path):
    (tmp_path / "in.csv").write_bytes(b"a,b\n1,x\n2,\xe9\n")
    with pytest.raises(RequestError, match="line 3 is not UTF-8"):
        list(tables.open_stream(tmp_path / "in.csv").batches(["a"]))


@pytest.mark.parametrize(("columns", "cell"), [(["q", "s"], "x"), (["q"], "\n")])
def test_very_long_rows_are_rejected(tmp_path, columns, cell):
    rows = ["1,a", f'1,"{cell * (7 * MIB)}"', "2,b", f'2,"{cell * (9 * MIB)}"', "3,c"]
    (tmp_path / "in.csv").write_text("\n".join(["q,s", *rows[:3]]), encoding="utf-8")
    whole = tables.read(tmp_path / "in.csv")[0]
    stream = tables.open_stream(tmp_path / "in.csv")
    assert pa.Table.from_batches(stream.batches(columns)).equals(whole.select(columns))
    (tmp_path / "in.csv").write_text("\n".join(["q,s", *rows]), encoding="utf-8")
    for call in (tables.read, lambda source: list(tables.open_stream(source).batches(columns))):
        with pytest.raises(RequestError, match=r"row 4 \(not counting the header\) is longer than 8 MiB"):
            call(tmp_path / "in.csv")
    (tmp_path / "in.csv").write_text(f"q,s\n1,{'x' * (2 * csv_text.BLOCK + csv_rows.PIECE)}", encoding="utf-8")
    with pytest.raises(RequestError, match=r"a row is longer than 16 MiB|row 1 is longer than 8 MiB"):
        list(tables.open_stream(tmp_path / "in.csv").batches(columns))


def test_closing_a_stream_ends_its_threads(tmp_path, monkeypatch):
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


def test_only_few_parts_of_a_file_are_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_rows, "PIECE", 200)
    (tmp_path / "in.csv").write_text(text_of(3), encoding="utf-8")
    original, parts = csv_rows.whole_rows, []

    def counted(*arguments: object) -> Iterator[tuple[bytes, bool]]:
        for part in original(*arguments):  # type: ignore[arg-type]
            parts.append(part)
            yield part

    monkeypatch.setattr(csv_rows, "whole_rows", counted)
    for taken, _batch in enumerate(tables.open_stream(tmp_path / "in.csv").batches(), start=1):
        assert len(parts) <= taken + csv_table.PARSED_AT_ONCE
    assert len(parts) > 50
