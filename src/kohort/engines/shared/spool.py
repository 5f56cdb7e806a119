"""Private files of fixed-width rows that do not fit into memory. They are written once and read in chunks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from kohort.errors import MachineError
from kohort.tables.staging import FULL
from kohort.wording import quoted

_Cell = TypeVar("_Cell", bound=np.generic)
ROWS_AT_ONCE = 1 << 18


@contextmanager
def in_scratch(folder: Path) -> Iterator[None]:
    """Turn an error of the disk into a message about the scratch folder, so that it is not taken for an error of the release."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "the disk failed"
        advice = (
            "Free space there, or set the environment variable TMPDIR to a folder on a larger disk."
            if error.errno in FULL
            else "Set the environment variable TMPDIR to another folder."
        )
        raise MachineError(
            f"kohort could not write or read temporary files in {quoted(folder.parent)}: {reason}. {advice} "
            "Nothing was published."
        ) from None


class Spool(Generic[_Cell]):
    """A file of (rows, width) cells. Rows are appended at the end and can be read from any position.

    The file is open only during a read or a write, because a run may use more spools than a process may have open files.
    """

    def __init__(self, path: Path, dtype: type[_Cell], width: int = 1) -> None:
        self._path, self._dtype, self.width = path, np.dtype(dtype), width
        self.rows = 0

    def append(self, cells: NDArray[_Cell]) -> None:
        with in_scratch(self._path.parent), self._path.open("ab") as file:
            file.write(np.ascontiguousarray(cells, self._dtype).reshape(-1).view(np.uint8).data)
        self.rows += len(cells)

    def read(self, first: int = 0, last: int | None = None) -> NDArray[_Cell]:
        """Return the rows from `first` to before `last` as a new array: (rows, width), or (rows) if the width is 1."""
        rows = max(min(self.rows if last is None else last, self.rows) - first, 0)
        if not rows:
            return np.empty(0 if self.width == 1 else (0, self.width), self._dtype)
        count, offset = rows * self.width, first * self.width * self._dtype.itemsize
        with in_scratch(self._path.parent):
            cells = np.fromfile(self._path, self._dtype, count, offset=offset)
        return cells if self.width == 1 else cells.reshape(rows, self.width)

    def chunks(self, rows: int = ROWS_AT_ONCE) -> Iterator[NDArray[_Cell]]:
        """Yield all rows in chunks of at most `rows` rows."""
        for first in range(0, self.rows, rows):
            yield self.read(first, first + rows)

    def remove(self) -> None:
        """Delete the file."""
        self._path.unlink(missing_ok=True)


class Reader(Generic[_Cell]):
    """Reads an iterator of chunks of rows in pieces of any size."""

    def __init__(self, chunks: Iterator[NDArray[_Cell]]) -> None:
        self._chunks = chunks
        self._held: NDArray[_Cell] | None = None

    def take(self, rows: int) -> NDArray[_Cell]:
        """Return the next `rows` rows."""
        parts = [] if self._held is None else [self._held]
        while not parts or sum(map(len, parts)) < rows:
            parts.append(next(self._chunks))
        joined = np.concatenate(parts) if len(parts) != 1 else parts[0]
        self._held = joined[rows:]
        return joined[:rows]
