"""What a user gave as a table, opened once: the first object of a run."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort.errors import RequestError
from kohort.tables import frames, streams
from kohort.tables.files import file_sets
from kohort.tables.files.file_format import FileFormat
from kohort.tables.files.source_file import SourceFile
from kohort.tables.frames import FrameLibrary
from kohort.tables.locations import Location, local, location_of
from kohort.tables.streams import Origin, Stream, plain


@dataclass(frozen=True, eq=False)
class Source:
    """A table to read. Files are found, and their formats detected, at the first use and only once.

    If a file changes after that, reading it raises a RequestError. Make a new Source to read the changed file.
    """

    given: Any
    """A path or an address, the name of a Spark table, or a data frame."""
    encoding: str | None = None
    wanted: tuple[str, ...] = ()
    """Columns that have a role: levels of a pandas index are read only if they have one."""

    def __repr__(self) -> str:  # a data frame would show its cells
        return f"Source({os.fspath(self.given)!r})" if self.is_named else f"Source({type(self.given).__name__})"

    @property
    def is_named(self) -> bool:
        """Whether a name was given: of a file, folder, pattern, address or Spark table."""
        return isinstance(self.given, (str, os.PathLike))

    @property
    def location(self) -> Location | None:
        """The path or address that was given; None for a data frame."""
        return location_of(self.given) if self.is_named else None

    @property
    def is_one_file(self) -> bool:
        """Whether this is the path of one file, existing or not: no data frame, folder or pattern."""
        return self.is_named and not file_sets.is_many(Path(self.given))

    @cached_property
    def source_files(self) -> tuple[SourceFile, ...]:
        """The files of a path, each with its format. Raises a RequestError if there are none, or for an address."""
        return tuple(file_sets.source_files_of(local(self.given), self.encoding))

    @property
    def file_format(self) -> FileFormat | None:
        """The format of the files; None for a data frame."""
        return self.source_files[0].file_format if self.is_named else None

    @property
    def holds_text(self) -> bool:
        """Whether every cell is text because the format has no other types, as in CSV."""
        return self.file_format is not None and self.file_format.holds_text

    @property
    def origin(self) -> Origin:
        """What the table is read from: files of a format, or a data frame of a library."""
        return self.source_files[0].file_format if self.is_named else self._frame[1]

    def read(self) -> pa.Table:
        """The whole table."""
        if not self.is_named:
            return self._frame[0]
        table = file_sets.read(self.source_files)
        require_distinct(table.column_names)
        return plain(table)

    def stream(self) -> Stream:
        """The same rows as `read`, batch by batch. A data frame is in memory already, so it is read whole."""
        if not self.is_named:
            return streams.of_table(self.read(), self.origin)
        stream = streams.of_source_files(self.source_files)
        require_distinct(stream.schema.names)
        return stream

    @cached_property
    def _frame(self) -> tuple[pa.Table, FrameLibrary]:
        """Kept, because some data frames, such as a reader of record batches, can be read only once."""
        taken = frames.take_in(self.given, self.wanted)
        if taken is None:
            message = f"Cannot read a table from a {type(self.given).__name__}. Give a path, a pyarrow table or a data frame."
            raise RequestError(message)
        table, library = taken
        require_distinct(table.column_names)
        return plain(table), library


def require_distinct(names: list[str]) -> None:
    """Refuse two columns of one name. The message has their numbers: without a header line, names would be cells of a record."""
    times = Counter(names)
    doubled = [number for number, name in enumerate(names, start=1) if times[name] > 1]
    if doubled:
        numbers = ", ".join(map(str, doubled[:8]))
        raise RequestError(
            f"Several columns of the table have the same name (columns {numbers}). Rename them; if its first line is a row, put "
            "the columns' names above it."
        )
