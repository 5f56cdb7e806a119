"""Read several files of one format as one table: the files of a folder, or the files whose names match a pattern.

A folder named `key=value` adds a column to its files, so its name contains a cell value. Therefore messages name a file only by
its number and file name.
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
from kohort.tables.files.read_errors import reading
from kohort.tables.files.registry import format_named, known_suffixes, suffix_of
from kohort.tables.files.source_file import SourceFile
from kohort.wording import quoted

WILDCARDS = "*?["
MISSING = "__HIVE_DEFAULT_PARTITION__"  # a missing value in a folder name of Hive and Spark


def is_many(path: Path) -> bool:
    """Whether a path names several files. It does if it is a folder, or a pattern and no file has exactly this name."""
    try:
        return path.is_dir() or (_has_wildcard(str(path)) and not path.exists())
    except OSError:  # the name is not valid; opening it will raise the error again
        return False


def source_files_of(source: Path, encoding: str | None = None) -> list[SourceFile]:
    """Return the file at a path, or the files of a folder or pattern in the order of their names, each with its format."""
    if not is_many(source):
        return [SourceFile.detected(source, quoted(source), encoding, {})]
    with reading(quoted(source), lambda: "cannot be opened. Check its name."):
        files = _files_of(source)
    return [
        SourceFile.detected(file, f"File {number} of {quoted(source)} ({quoted(file.name)})", encoding, _keys(parts[:-1]))
        for number, (file, parts) in enumerate(files.items(), start=1)
    ]


def _files_of(source: Path) -> dict[Path, tuple[str, ...]]:
    """Return the files with their path parts below the source. Names that begin with a dot or underscore are ignored."""
    base = base_of(source)
    matched = glob.glob(str(source), recursive=True)  # noqa: PTH207 - pathlib's takes no absolute pattern
    found = [source] if source.is_dir() else [Path(match) for match in matched]
    every = {file: file.relative_to(base).parts for match in found for file in _files_below(match)}
    files = [file for file, parts in every.items() if format_named(file) and not any(map(_is_hidden, parts))]
    files = [file for file in files if not _may_be_a_note(file)] or files
    files.sort(key=lambda file: every[file])
    _require_one_format(source, files)
    files = list({os.path.realpath(file): file for file in reversed(files)}.values())[::-1]  # two links may point to one file
    return {file: every[file] for file in files}


def _may_be_a_note(file: Path) -> bool:
    """Whether a file may contain no table although it has a known suffix, such as README.txt."""
    found = format_named(file)
    return found is not None and suffix_of(file)[0] in found.note_suffixes


def base_of(source: Path) -> Path:
    """Return the folder below which folders named `key=value` add columns."""
    return source if source.is_dir() else Path(*takewhile(lambda part: not _has_wildcard(part), source.parts))


def _require_one_format(source: Path, files: Sequence[Path]) -> None:
    is_folder = source.is_dir()
    if not files:
        what = f"The folder {quoted(source)} contains" if is_folder else f"The pattern {quoted(source)} matches"
        raise RequestError(
            f"{what} no file that kohort can read. Check the name. kohort reads files whose names end in {known_suffixes()}."
        )
    times = Counter(found.title for file in files if (found := format_named(file)))
    if len(times) > 1:
        counts = " and ".join(f"{count} {title}" for title, count in times.most_common())
        most = times.most_common(1)[0][0]
        suffix = next(file.suffix for file in files if (found := format_named(file)) and found.title == most)
        pattern = f"{glob.escape(str(source))}/**/*{suffix}" if is_folder else f"*{suffix}"
        what = f"The folder {quoted(source)} contains" if is_folder else f"The pattern {quoted(source)} matches"
        raise RequestError(
            f"{what} files of several formats ({counts}). kohort reads one format at a time. "
            f"Select the files of one format with a pattern such as {pattern!r}."
        )


def _has_wildcard(text: str) -> bool:
    return any(mark in text for mark in WILDCARDS)


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def _files_below(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return

    def refuse(error: OSError) -> None:  # by default, os.walk skips folders that it cannot list
        raise error

    seen = set()
    for folder, folders, names in os.walk(path, onerror=refuse, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:  # links may form a circle
            folders.clear()
            continue
        seen.add(real)
        yield from (Path(folder, name) for name in names)


def _keys(folders: Sequence[str]) -> dict[str, str | None]:
    pairs = (folder.partition("=") for folder in folders)
    return {unquote(key): None if value == MISSING else unquote(value) for key, equals, value in pairs if key and equals}


def read(source_files: Sequence[SourceFile]) -> pa.Table:
    """Return the rows of all files, in the order of the files.

    Raises a RequestError before any row is read if the columns of the files differ.
    """
    if len(source_files) == 1:
        return source_files[0].read()
    require_same_columns(source_files, [source_file.schema() for source_file in source_files])
    tables = [source_file.read() for source_file in source_files]
    names = tables[0].column_names
    return pa.concat_tables(pa.table([table.column(name) for name in names], names) for table in tables)  # without metadata


def require_same_columns(source_files: Sequence[SourceFile], schemas: Sequence[pa.Schema]) -> None:
    """Raise a RequestError if the names or types of columns differ from those of the first file. The order may differ."""
    for source_file, schema in zip(source_files, schemas, strict=True):
        if len(set(schema.names)) < len(schema.names):
            raise RequestError(
                f"{source_file.title} has two columns with the same name, or a column with the same name as a key=value folder. "
                "Rename one of them."
            )
    first = schemas[0]
    for source_file, schema in zip(source_files, schemas, strict=True):
        differences = _differences_by_number if source_file.file_format.holds_text else _differences
        problems = differences(first, schema)
        if problems:
            raise RequestError(
                f"{source_file.title} differs from the first file: {'; '.join(problems)}. "
                "Give all files the same columns, or select the files that have the same columns with a pattern."
            )


def _differences(first: pa.Schema, here: pa.Schema) -> list[str]:
    before, after = ({field.name: str(field.type) for field in schema} for schema in (first, here))
    lacking = [name for name in before if name not in after]
    added = [name for name in after if name not in before]
    changed = [name for name in after if name in before and after[name] != before[name]]
    return [
        *([f"it does not have {listed(lacking)}"] if lacking else ()),
        *([f"it has in addition {listed(added)}"] if added else ()),
        *(f"{name!r} has the type {after[name]} instead of {before[name]}" for name in changed[:8]),
    ]


def _differences_by_number(first: pa.Schema, here: pa.Schema) -> list[str]:
    """Return the differences with column numbers: in a file without a header line, the names would be cells of a row."""
    lacking = _numbers(first.names, but=here.names)
    added = _numbers(here.names, but=first.names)
    return [
        *([f"it does not have column {lacking} of the first file"] if lacking else ()),
        *([f"its column {added} is not in the first file"] if added else ()),
    ]


def _numbers(names: Sequence[str], but: Sequence[str]) -> str:
    known = set(but)
    return ", ".join([str(number) for number, name in enumerate(names, start=1) if name not in known][:8])


def would_hold(source: Path, target: Path) -> bool:
    """Whether a file written to `target` would be one of the files that `source` names."""
    path = target.parent.resolve() / target.name  # a link at the target is replaced, not followed
    if source.is_dir():
        return path.is_relative_to(source.resolve())
    folder, last = (source, "*") if source.name == "**" else (source.parent, source.name)
    matches = glob.glob(str(folder), recursive=True) if _has_wildcard(str(folder)) else [folder]  # noqa: PTH207
    folders = {Path(os.path.realpath(match)) for match in matches}  # resolve() fails on links that form a circle
    return any(one.parent in folders and fnmatch.fnmatch(one.name, last) for one in (path, *path.parents))
