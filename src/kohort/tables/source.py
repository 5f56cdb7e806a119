"""The table that a user gave. It is opened once, at the start of a run."""

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
from kohort.wording import quoted


@dataclass(frozen=True, eq=False)
class Source:
    """A table to read. kohort finds the files and detects their formats once, at the first use.

    If a file changes after that, reading it raises a RequestError. To read the changed file, create a new Source.
    """

    given: Any
    """A path or an address, the name of a Spark table, or a data frame."""
    encoding: str | None = None
    role_columns: tuple[str, ...] = ()
    """Columns that have a role. Levels of a pandas index are read only if they have a role."""

    def __repr__(self) -> str:  # the repr of a data frame would show its cells
        return f"Source({os.fspath(self.given)!r})" if self.is_named else f"Source({type(self.given).__name__})"

    @property
    def is_named(self) -> bool:
        """Whether the user gave a name: of a file, folder, pattern, address or Spark table."""
        return isinstance(self.given, (str, os.PathLike))

    @property
    def location(self) -> Location | None:
        """The path or address that the user gave; None for a data frame."""
        return location_of(self.given) if self.is_named else None

    @property
    def is_one_file(self) -> bool:
        """Whether this is the path of one file, and not a data frame, folder or pattern. The file need not exist."""
        return self.is_named and not file_sets.is_many(Path(self.given))

    @cached_property
    def source_files(self) -> tuple[SourceFile, ...]:
        """The files that the path names, each with its format. Raises a RequestError if there are none, or for an address."""
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
        """Return the whole table."""
        if not self.is_named:
            return self._frame[0]
        table = file_sets.read(self.source_files)
        require_distinct(table.column_names, self._title)
        return plain(table, title=self._title)

    def stream(self) -> Stream:
        """Return the same rows as `read`, batch by batch. A data frame is already in memory, so it is read at once."""
        if not self.is_named:
            return streams.of_table(self.read(), self.origin)
        stream = streams.of_source_files(self.source_files)
        require_distinct(stream.schema.names, self._title)
        return stream

    @property
    def _title(self) -> str:
        """The name of the files in messages."""
        return self.source_files[0].title if len(self.source_files) == 1 else quoted(self.given)

    @cached_property
    def _frame(self) -> tuple[pa.Table, FrameLibrary]:
        """The data frame as a table. Cached, because some data frames, such as a RecordBatchReader, can be read only once."""
        taken = frames.take_in(self.given, self.role_columns)
        if taken is None:
            raise RequestError(
                f"kohort cannot read a table from an object of type {type(self.given).__name__}. "
                "Give a path, a pyarrow table or a data frame."
            )
        table, library = taken
        require_distinct(table.column_names)
        return plain(table), library


def require_distinct(names: list[str], title: str = "the table") -> None:
    """Raise a RequestError if two columns have the same name. `title` names the table in the message.

    The message gives column numbers, not names: in a file without a header line, the names would be cells of a row.
    """
    times = Counter(names)
    doubled = [number for number, name in enumerate(names, start=1) if times[name] > 1]
    if doubled:
        numbers = ", ".join(map(str, doubled[:8]))
        raise RequestError(
            f"Several columns of {title} have the same name (columns {numbers}). Give each column its own name. "
            "If the first line of the file is a row of data, insert a line with the column names above it."
        )
