"""Where the rows of a CSV file end, and whether its quotes and line ends are valid.

CSV readers do not report a quote that is never closed: they read the rest of the file as one cell.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort.errors import RequestError
from kohort.tables.files.text_stream import TextFile

PIECE = 1 << 22  # bytes that are checked at once
FIELD_START, UNQUOTED, QUOTED, LINE_END = 0, 1, 2, 4  # states of kernels.text.csv_scan
NEWLINE = ord("\n")


class Marks:
    """Checks the quotes and line ends of a file from its beginning, piece by piece."""

    def __init__(self, file: TextFile, delimiter: str) -> None:
        self._file = file
        self._delimiter = delimiter
        self._state = np.zeros(3, np.int64)

    def follow(self, piece: bytes) -> int:
        """Check the next piece. Returns where its last whole row ends, or 0 if no row ends in it."""
        last = piece.rfind(b"\n") + 1
        if self._state[0] in (FIELD_START, UNQUOTED) and b'"' not in piece and b"\r" not in piece:  # nothing to check
            self._state[0] = FIELD_START if piece[-1:] in (b"\n", self._delimiter.encode()) else UNQUOTED
            self._state[1] += piece.count(b"\n")
            return last
        before, marks = self._state.copy(), np.frombuffer(piece, np.uint8)
        self._require(marks[:last])
        end, state = last, self._state
        while end and state[0] == QUOTED:  # back to the line that opened the quote; it may begin inside another quote
            lines = state[2] - before[1]
            end = int(np.flatnonzero(marks[:end] == NEWLINE)[lines - 1]) + 1 if lines > 0 else 0
            state = before.copy()
            self._check(marks[:end], state)
        self._require(marks[last:])
        return end

    def finish(self) -> None:
        if self._state[0] == QUOTED:
            self._refuse()

    def _check(self, marks: NDArray[np.uint8], state: NDArray[np.int64]) -> bool:
        from kohort.kernels.text.csv_scan import check_marks

        return check_marks(marks, ord(self._delimiter), state)

    def _require(self, marks: NDArray[np.uint8]) -> None:
        if not self._check(marks, self._state):
            self._refuse()

    def _refuse(self) -> None:
        here, line, opened = self._state
        if here == LINE_END:
            raise RequestError(
                f"{self._file}: line {line + 1} holds a carriage return without a line feed. Save it with usual line ends."
            )
        raise RequestError(
            f"{self._file}: the quote opened in line {opened + 1} is not closed as it should be. Double quotes inside cells."
        )


def require_in_order(file: TextFile, delimiter: str) -> bytes:
    """Refuse a quote that is never closed and a lone carriage return, which could hide rows. Returns the last byte."""
    marks, last = Marks(file, delimiter), b""
    with file.open_bytes() as stream:
        while piece := stream.read(PIECE):
            marks.follow(piece)
            last = piece[-1:]
    marks.finish()
    return last


def whole_rows(file: TextFile, delimiter: str, longest: int) -> Iterator[tuple[bytes, bool]]:
    """The file in checked parts of whole rows, each with whether one of its rows may be longer than a piece."""
    marks = Marks(file, delimiter)
    rest: list[bytes] = []
    with file.open_bytes() as stream:
        while piece := stream.read(PIECE):
            end = marks.follow(piece)
            if end:
                yield b"".join([*rest, piece[:end]]), len(rest) > 1
                rest = [piece[end:]] if end < len(piece) else []
            else:
                rest.append(piece)
                if sum(map(len, rest)) > longest:
                    raise pa.ArrowInvalid("a row is too long")
    marks.finish()
    if rest:
        yield b"".join([*rest, b"\n"]), len(rest) > 1
