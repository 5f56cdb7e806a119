"""Test the detection of delimiters and encodings of text files."""

from __future__ import annotations

import codecs
from pathlib import Path

import pyarrow as pa
import pytest

from kohort.errors import RequestError
from kohort.tables import tables
from kohort.tables.tables import CsvFormat

RARE = "Xanthippe-4711"
TEXT = "name,sex\nRenée,f\n東京 💉,m\nŁódź,f\n"
CELLS = {"name": ["Renée", "東京 💉", "Łódź"], "sex": ["f", "m", "f"]}


@pytest.mark.parametrize(
    ("text", "delimiter"), [("a\tb;c\n1\t2\n", "\t"), ("a;b\n1;2\n", ";"), ('"a\tb",c\n1,2\n', ","), ("a,b\tc\n1,2\n", "\t")]
)
def test_delimiter_of_tsv_file(tmp_path, text, delimiter):
    (tmp_path / "a.tsv").write_text(text, encoding="utf-8")
    file_format = tables.format_in(tmp_path / "a.tsv")
    assert isinstance(file_format, CsvFormat)
    assert file_format.delimiter == delimiter


def test_delimiter_is_found_in_header_of_many_lines(tmp_path):
    names = [f"a\n{number}" for number in range(30)]
    text = ";".join(f'"{name}"' for name in names) + "\n" + ";".join("1" * 30) + "\n"
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    assert tables.read(tmp_path / "a.csv")[0].column_names == names
    (tmp_path / "b.csv").write_text(text.rpartition("\n1;")[0], encoding="utf-8")
    assert tables.read(tmp_path / "b.csv")[0].num_rows == 0


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
def test_unicode_encodings_are_detected(tmp_path, name, declared, suffix):
    """A byte order mark overrides the declared encoding."""
    if declared and "mark" not in name and "CRLF" not in name:
        declared = None if name.startswith("utf-16") else "utf_8"
    data = ENCODED[name]
    path = tmp_path / f"in.csv{suffix}"
    path.write_bytes(pa.compress(data, tables.COMPRESSIONS[suffix], asbytes=True) if suffix else data)
    assert tables.read(path, encoding=declared)[0].to_pydict() == CELLS


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "ISO-8859-15", "utf-16-be", "shift_jis", "utf-7"])
def test_declared_encoding_is_used(tmp_path, encoding):
    cells = {"name": ["東京", "x"] if encoding == "shift_jis" else ["Renée", "Zoë"], "sex": ["f", "m"]}
    rows = "".join(f"{name};{sex}\n" for name, sex in zip(*cells.values(), strict=True))
    (tmp_path / "in.csv").write_bytes(f"name;sex\n{rows}".encode(encoding))
    table, file_format = tables.read(tmp_path / "in.csv", encoding)
    assert table.to_pydict() == cells
    assert file_format == CsvFormat(";", encoding=codecs.lookup(encoding).name)
    assert isinstance(file_format, CsvFormat)
    written = tables.format_of(Path("out.csv"), file_format)
    assert isinstance(written, CsvFormat)
    assert written.encoding == "utf-8"


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        ("latin1x", "Did you mean"),
        ("klingon", "for example latin-1"),
        ("base64", "no text encoding"),
        ("", "for example"),
        ("a\0b", "no"),
    ],
)
def test_unknown_encoding_is_rejected(tmp_path, encoding, message):
    (tmp_path / "in.csv").write_text(TEXT, encoding="utf-8")
    with pytest.raises(RequestError, match=message):
        tables.read(tmp_path / "in.csv", encoding)


@pytest.mark.parametrize("line", [1, 2, 3, 70_000])
@pytest.mark.parametrize(("encoding", "bad"), [(None, b"\xe9"), ("ascii", b"\xe9"), ("cp1252", b"\x81"), ("utf-16", b"\x00\xd8")])
def test_error_names_the_line_that_is_not_text(tmp_path, line, encoding, bad):
    message = (
        "The file is damaged"
        if encoding == "utf-16"
        else "(From Excel on Windows: --encoding cp1252.*try|Set encoding to that of the file).*--encoding latin-1"
    )
    codec = {"utf-16": "utf-16-le"}.get(encoding or "utf-8", encoding or "utf-8")
    lines = ["a,b", *[f"{RARE},1234567"] * 80_000]
    data = [f"{text}\n".encode(codec) for text in lines]
    data[line - 1] = bad + "x".encode(codec) + data[line - 1]
    (tmp_path / "in.csv").write_bytes((codecs.BOM_UTF16_LE if encoding == "utf-16" else b"") + b"".join(data))
    with pytest.raises(RequestError, match=rf"line {line} is not .* text\. {message}") as caught:
        tables.read(tmp_path / "in.csv", encoding)
    assert RARE not in str(caught.value)


def test_nul_character_in_a_cell_is_kept(tmp_path):
    (tmp_path / "in.csv").write_bytes(b"a,b\n1,x\0y\n")
    assert tables.read(tmp_path / "in.csv")[0].to_pydict() == {"a": ["1"], "b": ["x\0y"]}
