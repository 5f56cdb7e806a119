"""Many files of one kind as one table: those of a folder, or those whose names match a pattern.

A folder named `key=value` gives its files a column, so its name holds a cell: messages tell files by number and bare name.
"""

from __future__ import annotations

import fnmatch
import glob
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa

from kohort.errors import RequestError, listed
from kohort.tables.files import registry as formats
from kohort.tables.files.read_errors import reading
from kohort.tables.files.registry import FileKind
from kohort.tables.files.source_file import SourceFile

WILDCARDS = "*?["
NOTES = ".txt"
TITLES: dict[FileKind, str] = {"csv": "CSV", "parquet": "Parquet", "arrow": "Arrow"}
MISSING = "__HIVE_DEFAULT_PARTITION__"  # how Hive and Spark write a missing value into a folder's name


def is_many(path: Path) -> bool:
    """Whether a path stands for several files: a folder, or a pattern where no file has exactly that name."""
    try:
        return path.is_dir() or (_has_wildcard(str(path)) and not path.exists())
    except OSError:  # a name that no file can have; whoever opens it will say so
        return False


def source_files_of(source: Path, encoding: str | None = None) -> list[SourceFile]:
    """The file that a path names, or those of a folder or pattern in the order of their names."""
    if not is_many(source):
        return [SourceFile.at(source, str(source), encoding, {})]
    with reading(str(source), lambda: "cannot be read."):
        files = _files_of(source)
    return [
        SourceFile.at(file, f"File {number} of {source} ({file.name})", encoding, _keys(parts[:-1]))
        for number, (file, parts) in enumerate(files.items(), start=1)
    ]


def _files_of(source: Path) -> dict[Path, tuple[str, ...]]:
    """The files with their places below the source; what begins with a dot or underscore is no data."""
    base = base_of(source)
    matched = glob.glob(str(source), recursive=True)  # noqa: PTH207 - pathlib's takes no absolute pattern
    found = [source] if source.is_dir() else [Path(match) for match in matched]
    every = {file: file.relative_to(base).parts for match in found for file in _files_below(match)}
    files = [file for file, parts in every.items() if formats.kind_of(file) and not any(map(_is_hidden, parts))]
    # A README.txt beside the data is none of them.
    files = [file for file in files if formats.suffix_of(file)[0] != NOTES] or files
    files.sort(key=lambda file: every[file])
    _require_one_kind(source, files)
    files = list({os.path.realpath(file): file for file in reversed(files)}.values())[::-1]  # links may lead to a file twice
    return {file: every[file] for file in files}


def base_of(source: Path) -> Path:
    """The folder below which folders named `key=value` give columns."""
    return source if source.is_dir() else Path(*takewhile(lambda part: not _has_wildcard(part), source.parts))


def _require_one_kind(source: Path, files: Sequence[Path]) -> None:
    is_folder = source.is_dir()
    if not files:
        what = f"The folder {source} holds" if is_folder else f"There is no file {source}, and as a pattern it matches"
        known = ", ".join(suffix for suffixes in formats.KINDS.values() for suffix in suffixes)
        raise RequestError(f"{what} no table. Several files are read only if their names end in one of {known}.")
    times = Counter(formats.kind_of(file) for file in files)
    if len(times) > 1:
        held = " and ".join(f"{count} {TITLES[kind]}" for kind, count in times.most_common() if kind)
        suffix = next(file.suffix for file in files if formats.kind_of(file) == times.most_common(1)[0][0])
        pattern = f"{glob.escape(str(source))}/**/*{suffix}" if is_folder else f"*{suffix}"
        what = f"The folder {source} holds" if is_folder else f"The pattern {source} matches"
        raise RequestError(f"{what} files of several kinds ({held}). Choose one kind by a pattern such as {pattern!r}.")


def _has_wildcard(text: str) -> bool:
    return any(mark in text for mark in WILDCARDS)


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def _files_below(place: Path) -> Iterator[Path]:
    if not place.is_dir():
        yield place
        return

    def refuse(error: OSError) -> None:  # else a folder that may not be listed would be left out in silence
        raise error

    seen = set()
    for folder, folders, names in os.walk(place, onerror=refuse, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:  # links may go in circles
            folders.clear()
            continue
        seen.add(real)
        yield from (Path(folder, name) for name in names)


def _keys(folders: Sequence[str]) -> dict[str, str | None]:
    pairs = (folder.partition("=") for folder in folders)
    return {unquote(key): None if value == MISSING else unquote(value) for key, equals, value in pairs if key and equals}


def read(source_files: Sequence[SourceFile]) -> pa.Table:
    """The rows of all files, one file after the other. Their columns must agree before any row is read."""
    if len(source_files) == 1:
        return source_files[0].read()
    require_alike(source_files, [source_file.schema() for source_file in source_files])
    tables = [source_file.read() for source_file in source_files]
    names = tables[0].column_names
    return pa.concat_tables(pa.table([table.column(name) for name in names], names) for table in tables)  # without notes


def require_alike(source_files: Sequence[SourceFile], schemas: Sequence[pa.Schema]) -> None:
    """Refuse files whose columns differ from those of the first, in name or type. Their order may differ."""
    for source_file, schema in zip(source_files, schemas, strict=True):
        if len(set(schema.names)) < len(schema.names):
            raise RequestError(
                f"{source_file.title} has several columns of one name, or one that its folder names too. Rename them."
            )
    first = schemas[0]
    for source_file, schema in zip(source_files, schemas, strict=True):
        problems = _unlike(first, schema) if source_file.form.kind != "csv" else _unlike_text(first, schema)
        if problems:
            told = "; ".join(problems)
            raise RequestError(f"{source_file.title} differs from the first file: {told}. Give all files the same columns.")


def _unlike(first: pa.Schema, here: pa.Schema) -> list[str]:
    before, after = ({field.name: str(field.type) for field in schema} for schema in (first, here))
    lacking = [name for name in before if name not in after]
    added = [name for name in after if name not in before]
    changed = [name for name in after if name in before and after[name] != before[name]]
    return [
        *([f"it lacks {listed(lacking)}"] if lacking else ()),
        *([f"it also has {listed(added)}"] if added else ()),
        *(f"{name!r} is {after[name]}, not {before[name]}" for name in changed[:8]),
    ]


def _unlike_text(first: pa.Schema, here: pa.Schema) -> list[str]:
    """By number: without a header the names would be somebody's record."""
    lacking = _numbers(first.names, but=here.names)
    added = _numbers(here.names, but=first.names)
    return [
        *([f"it lacks what is column {lacking} of the first"] if lacking else ()),
        *([f"its column {added} is not in the first"] if added else ()),
    ]


def _numbers(names: Sequence[str], but: Sequence[str]) -> str:
    known = set(but)
    return ", ".join([str(number) for number, name in enumerate(names, start=1) if name not in known][:8])


def would_hold(source: Path, target: Path) -> bool:
    """Whether a file written to `target` would be one of those that `source` stands for."""
    place = target.parent.resolve() / target.name  # a link there would be replaced, not followed
    if source.is_dir():
        return place.is_relative_to(source.resolve())
    folder, last = (source, "*") if source.name == "**" else (source.parent, source.name)
    matches = glob.glob(str(folder), recursive=True) if _has_wildcard(str(folder)) else [folder]  # noqa: PTH207
    folders = {Path(os.path.realpath(match)) for match in matches}  # resolve() fails on links that go in circles
    return any(one.parent in folders and fnmatch.fnmatch(one.name, last) for one in (place, *place.parents))
