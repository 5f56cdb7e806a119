"""Many Parquet files as one table: those of a folder, or those whose names match a pattern.

A folder named `key=value` gives its files a column, so its name holds a cell: messages tell files by number and bare name.
"""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from kohort.errors import RequestError, listed
from kohort.files.refusals import NO_PARQUET, reading

SUFFIXES = (".parquet", ".pq")
WILDCARDS = "*?["
MISSING = "__HIVE_DEFAULT_PARTITION__"  # how Hive and Spark write a missing value into a folder's name


@dataclass(frozen=True)
class Piece:
    """One of the files: how messages call it, and the columns that its folders give it."""

    path: Path
    title: str
    keys: dict[str, str | None] = field(default_factory=dict)

    def kinds(self, schema: pa.Schema) -> dict[str, str]:
        """The types of all its columns by name."""
        names = [*schema.names, *self.keys]
        kinds = dict(zip(names, [*map(str, schema.types), *("string" for _ in self.keys)], strict=True))
        if len(kinds) < len(names):
            raise RequestError(f"{self.title} has several columns of one name, or one that its folder names too. Rename them.")
        return kinds

    def with_keys(self, table: pa.Table) -> pa.Table:
        for key, value in self.keys.items():
            table = table.append_column(key, pa.repeat(pa.scalar(value, pa.string()), table.num_rows))
        return table


def is_many(path: Path) -> bool:
    """Whether a path stands for several files: a folder, or a pattern where no file has exactly that name."""
    try:
        return path.is_dir() or (_has_wildcard(str(path)) and not path.exists())
    except OSError:  # a name that no file can have; whoever opens it will say so
        return False


def pieces_of(source: Path) -> list[Piece]:
    """The files of a folder or pattern in the order of their names; what begins with a dot or underscore is no data."""
    if source.is_dir():
        base, found = source, [source]
    else:
        base = Path(*takewhile(lambda part: not _has_wildcard(part), source.parts))
        found = [Path(match) for match in glob.glob(str(source), recursive=True)]  # noqa: PTH207 - pathlib's takes no absolute pattern
    every = {file: file.relative_to(base).parts for match in found for file in _files_below(match)}
    files = [file for file, parts in every.items() if file.suffix.lower() in SUFFIXES and not any(map(_is_hidden, parts))]
    if not files:
        what = f"The folder {source} holds" if source.is_dir() else f"There is no file {source}, and as a pattern it matches"
        raise RequestError(f"{what} no Parquet file. Several files are read only if they are named .parquet or .pq.")
    files.sort(key=lambda file: every[file])
    files = list({os.path.realpath(file): file for file in reversed(files)}.values())[::-1]  # links may lead to a file twice
    return [
        Piece(file, f"File {number} of {source} ({file.name})", _keys(every[file][:-1])) for number, file in enumerate(files, 1)
    ]


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

    for folder, _folders, names in os.walk(place, onerror=refuse):
        yield from (Path(folder, name) for name in names)


def _keys(folders: Sequence[str]) -> dict[str, str | None]:
    pairs = (folder.partition("=") for folder in folders)
    return {unquote(key): None if value == MISSING else unquote(value) for key, equals, value in pairs if key and equals}


def read(source: Path) -> pa.Table:
    """The rows of all files, one file after the other. Their columns must agree before any row is read."""
    with reading(source, lambda: NO_PARQUET):
        pieces = pieces_of(source)
    schemas = []
    for piece in pieces:
        with reading(piece.title, lambda: NO_PARQUET):
            schemas.append(pq.read_schema(piece.path))
    _require_alike(pieces, schemas)
    tables = []
    for piece in pieces:
        with reading(piece.title, lambda: NO_PARQUET):
            tables.append(piece.with_keys(pq.ParquetFile(piece.path).read()).replace_schema_metadata(None))
    names = tables[0].column_names
    alike = [table if table.column_names == names else table.select(names) for table in tables]
    return pa.concat_tables(alike)


def _require_alike(pieces: Sequence[Piece], schemas: Sequence[pa.Schema]) -> None:
    """Refuse files whose columns differ from those of the first, in name or type. Their order may differ."""
    first = pieces[0].kinds(schemas[0])
    for piece, schema in zip(pieces, schemas, strict=True):
        here = piece.kinds(schema)
        lacking = [name for name in first if name not in here]
        added = [name for name in here if name not in first]
        changed = [name for name in here if name in first and here[name] != first[name]]
        problems = [
            *([f"it lacks {listed(lacking)}"] if lacking else ()),
            *([f"it also has {listed(added)}"] if added else ()),
            *(f"{name!r} is {here[name]}, not {first[name]}" for name in changed[:8]),
        ]
        if problems:
            told = "; ".join(problems)
            raise RequestError(f"{piece.title} differs from the first file: {told}. Give all files the same columns.")


def would_hold(source: Path, target: Path) -> bool:
    """Whether a file written to `target` would be one of those that `source` stands for."""
    place = target.parent.resolve() / target.name  # a link there would be replaced, not followed
    if source.is_dir():
        return place.is_relative_to(source.resolve())
    folder, last = (source, "*") if source.name == "**" else (source.parent, source.name)
    matches = glob.glob(str(folder), recursive=True) if _has_wildcard(str(folder)) else [folder]  # noqa: PTH207
    folders = {Path(os.path.realpath(match)) for match in matches}  # resolve() fails on links that go in circles
    return any(one.parent in folders and fnmatch.fnmatch(one.name, last) for one in (place, *place.parents))
