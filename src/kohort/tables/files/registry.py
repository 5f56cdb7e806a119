"""Which format a file's name asks for, and which a file that is there has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from kohort.errors import RequestError
from kohort.tables.files import csv_dialect as csv_text
from kohort.tables.files import text_stream as text_files
from kohort.tables.files.csv_reader import CsvTable
from kohort.tables.files.read_errors import reading
from kohort.tables.files.text_stream import Compression, TextFile

FileKind = Literal["csv", "parquet", "arrow"]

KINDS: dict[FileKind, tuple[str, ...]] = {
    "csv": (".csv", ".tsv", ".tab", ".txt"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
}
TABBED = (".tsv", ".tab")
COMPRESSIONS: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd"}


@dataclass(frozen=True)
class Format:
    """How a table lies in a file. The delimiter, the compression and the encoding are those of text."""

    kind: FileKind
    delimiter: str = ","
    compression: Compression = None
    encoding: str = "utf-8"

    def text(self, path: Path, title: str | None = None) -> TextFile:
        return TextFile(path, self.compression, self.encoding, title)


def suffix_of(path: Path) -> tuple[str, Compression]:
    """The ending of a name that says a format, and how the file is packed."""
    *_, before, last = ("", "", *(suffix.lower() for suffix in path.suffixes))
    compression = COMPRESSIONS.get(last)
    return (before if compression else last), compression


def kind_of(path: Path) -> FileKind | None:
    """The kind of file that a name asks for; None if it asks for none."""
    suffix, compression = suffix_of(path)
    kind = next((kind for kind, suffixes in KINDS.items() if suffix in suffixes), None)
    return kind if kind == "csv" or compression is None else None


def format_of(path: Path, delimiter: str = ",") -> Format:
    """The format that a file's name asks for; `delimiter` is the source's, kept where the name does not ask for another."""
    suffix, compression = suffix_of(path)
    kind = kind_of(path)
    if kind is None:
        known = ", ".join(suffix for suffixes in KINDS.values() for suffix in suffixes)
        sheet = " Save the sheet as CSV." if suffix in (".xlsx", ".xls", ".ods") else ""
        raise RequestError(f"The name {path.name!r} does not say a format.{sheet} Use one of {known}; text may add .gz or .zst.")
    if suffix in TABBED:
        delimiter = "\t"
    elif suffix == ".csv" and delimiter == "\t":
        delimiter = ","
    return Format(kind, delimiter, compression)


def format_in(path: Path, title: str, encoding: str | None = None) -> Format:
    """The format of a file that is there: by its name; the encoding and the delimiter of text by its first lines."""
    form = format_of(path)
    with reading(title, lambda: "cannot be read.", path):
        if not path.exists():
            raise RequestError(f"There is no file {title}. Check its name and folder.")
        if not path.is_file():
            raise RequestError(f"{title} is not a file (a pipe, a device). Give a file.")
    if form.kind != "csv":
        return form
    text = form.text(path, title)
    with reading(title, CsvTable(text, form.delimiter).refused, path):
        form = replace(form, encoding=text_files.find_encoding(path, form.compression, encoding))
    text = form.text(path, title)
    with reading(title, CsvTable(text, form.delimiter).refused, path):
        preferred = form.delimiter if form.delimiter == "\t" else None
        return replace(form, delimiter=csv_text.sniff_delimiter(text, preferred))
