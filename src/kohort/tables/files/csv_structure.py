"""Find where the rows of a CSV file end, and check its quotes and line ends.

CSV readers do not report a quote that is never closed. They read the rest of the file as one cell.
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
    """Checks the quotes and line ends of a file, piece by piece from its start."""

    def __init__(self, file: TextFile, delimiter: str) -> None:
        self._file = file
        self._delimiter = delimiter
        self._state = np.zeros(3, np.int64)

    def check_piece(self, piece: bytes) -> int:
        """Check the next piece. Return where its last complete row ends, or 0 if no row ends in it."""
        last = piece.rfind(b"\n") + 1
        if self._state[0] in (FIELD_START, UNQUOTED) and b'"' not in piece and b"\r" not in piece:  # nothing to check
            self._state[0] = FIELD_START if piece[-1:] in (b"\n", self._delimiter.encode()) else UNQUOTED
            self._state[1] += piece.count(b"\n")
            return last
        before, marks = self._state.copy(), np.frombuffer(piece, np.uint8)
        self._require(marks[:last])
        end, state = last, self._state
        while end and state[0] == QUOTED:  # go back to the line that opened the quote; its start may be inside another quote
            lines = state[2] - before[1]
            end = int(np.flatnonzero(marks[:end] == NEWLINE)[lines - 1]) + 1 if lines > 0 else 0
            state = before.copy()
            self._scan(marks[:end], state)
        self._require(marks[last:])
        return end

    def finish(self) -> None:
        if self._state[0] == QUOTED:
            self._raise_error()

    def _scan(self, marks: NDArray[np.uint8], state: NDArray[np.int64]) -> bool:
        from kohort.kernels.text.csv_scan import check_marks

        return check_marks(marks, ord(self._delimiter), state)

    def _require(self, marks: NDArray[np.uint8]) -> None:
        if not self._scan(marks, self._state):
            self._raise_error()

    def _raise_error(self) -> None:
        here, line, opened = self._state
        if here == LINE_END:
            raise RequestError(
                f"{self._file}: line {line + 1} contains a carriage return (CR) without a line feed (LF). "
                "Save the file with LF or CR LF at the end of each line."
            )
        raise RequestError(
            f"{self._file}: the quote opened in line {opened + 1} is not closed correctly. Close it at the end of the cell. "
            'If a quoted cell contains a quote, write that quote twice ("").'
        )


def require_valid_structure(file: TextFile, delimiter: str) -> bytes:
    """Raise a RequestError for an unclosed quote or a single carriage return, which could hide rows. Return the last byte."""
    marks, last = Marks(file, delimiter), b""
    with file.open_bytes() as stream:
        while piece := stream.read(PIECE):
            marks.check_piece(piece)
            last = piece[-1:]
    marks.finish()
    return last


def whole_rows(file: TextFile, delimiter: str, longest: int) -> Iterator[tuple[bytes, bool]]:
    """Yield the file in checked parts of complete rows, and for each part whether a row in it may be longer than a piece."""
    marks = Marks(file, delimiter)
    rest: list[bytes] = []
    with file.open_bytes() as stream:
        while piece := stream.read(PIECE):
            end = marks.check_piece(piece)
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
