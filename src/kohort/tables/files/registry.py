"""The list of all file formats. To add a format, write its module and list it here."""

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
    """Return the suffixes of all formats, for messages."""
    return ", ".join(suffix for file_format in FORMATS.values() for suffix in file_format.suffixes)


def suffix_of(path: Path) -> tuple[str, Compression]:
    """Return the suffix of the format, in lower case, and the compression given by a second suffix."""
    *_, before, last = ("", "", *(suffix.lower() for suffix in path.suffixes))
    compression = COMPRESSIONS.get(last)
    return (before if compression else last), compression


def format_named(path: Path) -> type[FileFormat] | None:
    """Return the format of a file name, by its suffix; None if no format has this suffix."""
    suffix, compression = suffix_of(path)
    found = next((file_format for file_format in FORMATS.values() if suffix in file_format.suffixes), None)
    if found is None or (compression is not None and path.suffix.lower() not in found.compressions):
        return None
    return found


def format_of(path: Path, source: FileFormat | None = None) -> FileFormat:
    """Return the format to write a file in, by its name. Settings of the `source` format are kept if they suit the name."""
    suffix, compression = suffix_of(path)
    found = format_named(path)
    if found is None:
        raise RequestError(_unknown_format(path, "write"))
    return found.for_name(suffix, compression, source)


def detected_format(path: Path, title: str, encoding: str | None = None) -> FileFormat:
    """Return the format of an existing file, with the settings found in its content. `title` is its name in messages."""
    if format_named(path) is None:
        raise RequestError(_unknown_format(path, "read"))
    named = format_of(path)
    with reading(title, lambda: "cannot be opened. Check its name.", path):
        if not path.exists():
            raise RequestError(f"There is no file {title}. Check the name and the folder.")
        if not path.is_file():
            raise RequestError(f"{title} is not a regular file, but for example a pipe or a device. Give the name of a file.")
    with reading(title, named.open(path, title).read_error, path):
        return named.detect(path, title, encoding)


def _unknown_format(path: Path, verb: str) -> str:
    """Return the message for a file name that no format has. `verb` says what the user wants: read or write."""
    suffix, compression = suffix_of(path)
    ending = f"{suffix}{path.suffix.lower()}" if compression else suffix
    formats = [f"{file_format.title} ({', '.join(file_format.suffixes)})" for file_format in FORMATS.values()]
    known = f"It can {verb} {', '.join(formats[:-1])} and {formats[-1]} files."
    if not ending or ending in COMPRESSIONS:
        advice = f"Add the ending of its format to the file name, for example .csv{ending}."
        return f"kohort cannot find the format of {path.name!r}, because its name has no ending such as .csv. {known} {advice}"
    if compression and any(suffix in file_format.suffixes for file_format in FORMATS.values()):
        advice = "Decompress the file first." if verb == "read" else f"Write a {suffix} file."
    elif verb == "write":
        advice = "Change the end of the file name, for example to .csv."
    else:
        advice = "Save the sheet as CSV." if suffix in SPREADSHEETS else "Export the table as CSV."
    return f"kohort cannot {verb} {ending} files ({path.name!r}). {known} {advice}"


def format_beginning(content: bytes) -> type[FileFormat] | None:
    """Return the format whose files begin with these bytes; None if there is none."""
    marked = (file_format for file_format in FORMATS.values() if file_format.first_bytes)
    return next((file_format for file_format in marked if content.startswith(file_format.first_bytes)), None)
