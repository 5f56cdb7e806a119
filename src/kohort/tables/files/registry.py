"""The one registry of file formats. To add a format, write its file and list it here."""

from __future__ import annotations

from pathlib import Path

from kohort.errors import RequestError
from kohort.tables.files import arrow_file, csv_file, parquet_file
from kohort.tables.files.file_format import COMPRESSIONS, Compression, FileFormat
from kohort.tables.files.read_errors import reading

_FILES = (csv_file, parquet_file, arrow_file)
FORMATS: dict[str, type[FileFormat]] = {file.FORMAT.name: file.FORMAT for file in _FILES}

SPREADSHEETS = (".xlsx", ".xls", ".ods")


def known_suffixes() -> str:
    """The suffixes of all formats, for messages."""
    return ", ".join(suffix for file_format in FORMATS.values() for suffix in file_format.suffixes)


def suffix_of(path: Path) -> tuple[str, Compression]:
    """The suffix that names the format, in lower case, and the compression that a second suffix names."""
    *_, before, last = ("", "", *(suffix.lower() for suffix in path.suffixes))
    compression = COMPRESSIONS.get(last)
    return (before if compression else last), compression


def format_named(path: Path) -> type[FileFormat] | None:
    """The format that a file name asks for; None if no format has its suffix."""
    suffix, compression = suffix_of(path)
    found = next((file_format for file_format in FORMATS.values() if suffix in file_format.suffixes), None)
    if found is None or (compression is not None and path.suffix.lower() not in found.compressions):
        return None
    return found


def format_of(path: Path, source: FileFormat | None = None) -> FileFormat:
    """The format that a file name asks for. Settings of the `source` format are kept unless the name asks for others."""
    suffix, compression = suffix_of(path)
    found = format_named(path)
    if found is None:
        sheet = " Save the sheet as CSV." if suffix in SPREADSHEETS else ""
        raise RequestError(
            f"The name {path.name!r} does not say a format.{sheet} Use one of {known_suffixes()}; text may add .gz or .zst."
        )
    return found.for_name(suffix, compression, source)


def detected_format(path: Path, title: str, encoding: str | None = None) -> FileFormat:
    """The format of an existing file, with the settings that its content shows. `title` is its name in messages."""
    named = format_of(path)
    with reading(title, lambda: "cannot be read.", path):
        if not path.exists():
            raise RequestError(f"There is no file {title}. Check its name and folder.")
        if not path.is_file():
            raise RequestError(f"{title} is not a file (a pipe, a device). Give a file.")
    with reading(title, named.open(path, title).read_error, path):
        return named.detect(path, title, encoding)


def format_beginning(content: bytes) -> type[FileFormat] | None:
    """The format whose files begin with these bytes, if one has such a mark."""
    marked = (file_format for file_format in FORMATS.values() if file_format.first_bytes)
    return next((file_format for file_format in marked if content.startswith(file_format.first_bytes)), None)
