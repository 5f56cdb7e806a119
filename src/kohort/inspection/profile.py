"""Profile of one column: its type, its number of distinct values, its number of unique rows, its missing values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kohort.encoding.encode import distinct
from kohort.errors import RequestError
from kohort.inspection.cell_patterns import NOTHING, Contents, contents_of
from kohort.schema import type_detection
from kohort.schema.type_detection import Reading
from kohort.tables.tables import as_text
from kohort.wording import row_number

TOKENS = ("?", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "#N/A", "<NA>", "(null)", "-", "--", ".")
"""Texts that usually mean a missing value."""
AMBIGUOUS_TOKENS = {"NA", "-", "."}  # may be values (NA: Namibia); they mean missing only among numbers, dates or longer texts
NEARLY = 0.9  # if at least this share of rows are numbers, the reason mentions the rows that are not
SAMPLE = 2_000  # number of distinct values whose form is examined


@dataclass(frozen=True, eq=False)
class Profile:
    """What was found in one column. It contains values of the table, so it is never shown or written as a whole."""

    name: str
    stored: str
    """The type of the column in the source."""
    rows: int
    reading: Reading
    texts: pa.Array = field(repr=False)
    """The distinct non-missing values as text, in order of first appearance. Private."""
    counts: NDArray[np.int64] = field(repr=False)
    """The number of rows with each distinct value. Private."""
    indices: NDArray[np.int32] = field(repr=False)
    """Per row: the index of its distinct value, -1 for missing. Private."""
    tokens: tuple[str, ...] = ()
    """Usual texts for a missing value that occur in the column."""
    contents: Contents = NOTHING
    """What the form of the cells shows."""
    unusable: str = ""
    """Why the values cannot be examined, as a sentence; empty if they can."""
    nearly: str = ""
    """What prevents a column of text from being numbers, if only a few cells do; a sentence or empty."""

    @property
    def value_type(self) -> str:
        """The detected type, or the type in the source if the values cannot be examined."""
        return self.reading.value_type if not self.unusable else self.stored

    @property
    def distinct(self) -> int:
        """Number of distinct values, without missing values."""
        return len(self.counts)

    @property
    def missing(self) -> int:
        """Number of rows with a missing value."""
        return int(np.count_nonzero(self.indices < 0))

    @property
    def unique(self) -> int:
        """Number of rows whose value occurs in no other row."""
        return int(np.count_nonzero(self.counts == 1))

    @property
    def unique_share(self) -> float:
        """Share of rows whose value occurs in no other row."""
        return self.unique / self.rows if self.rows else 0.0

    def doubt(self) -> str:
        """Return a sentence about what is uncertain in the detected type; empty if nothing is."""
        if self.reading.question and self.reading.format:
            return f"The order of day and month is a guess ({self.reading.format})."
        if self.reading.question:
            return "That the comma separates decimals is a guess."
        return self.nearly

    def rarer_than(self, rows: int) -> int:
        """Return the number of distinct values that occur in fewer than this many rows."""
        return int(np.count_nonzero(self.counts < rows))


def profile(column: pa.ChunkedArray, name: str, missing: Sequence[str], tokens: Sequence[str] = TOKENS) -> Profile:
    """Examine all values of a column. `missing` are texts that mean a missing value, `tokens` texts that may mean one."""
    # A struct type shows the names of its fields, which may contain line breaks and be long.
    stored = "".join(mark if mark.isprintable() else " " for mark in str(column.type))[:60]
    try:
        held, indices = distinct(column, name, missing)
        texts = as_text(held.values)
    except (RequestError, pa.ArrowException):
        nothing = pa.array([], pa.string()), np.empty(0, np.int64), np.full(len(column), -1, np.int32)
        return Profile(
            name, stored, len(column), type_detection.TEXT, *nothing, unusable=f"Values of type {stored} cannot be compared."
        )
    absent = _absent(texts, tokens)
    if absent:
        held, indices = distinct(column, name, (*missing, *absent))
        texts = as_text(held.values)
    reading = type_detection.read(held.values) or type_detection.TEXT
    # Infinite numbers, dates outside the calendar and unknown time zones are treated as text.
    if reading.unfit is not None or (reading.question and reading.numbers is None):
        reading = type_detection.TEXT
    counts = held.counts[:-1]
    step = max(1, len(texts) // SAMPLE)
    sample = texts.take(pa.array(np.arange(0, len(texts), step))) if step > 1 else texts
    found = contents_of([str(text) for text in sample.to_pylist()], reading.value_type)
    nearly = _nearly_numbers(texts, counts, indices) if reading.value_type == "text" else ""
    return Profile(name, stored, len(column), reading, texts, counts, indices.astype(np.int32), absent, found, nearly=nearly)


def _nearly_numbers(texts: pa.Array, counts: NDArray[np.int64], indices: NDArray[np.int64]) -> str:
    """Return a sentence if only a few cells prevent the column from being numbers. It names a row, never a value."""
    if not len(texts) or pc.any(pc.match_substring_regex(texts, "^0[0-9]")).as_py():
        return ""
    bare = pc.utf8_trim_whitespace(texts)
    fits = pc.match_substring_regex(bare, r"^[+-]?[0-9]+([.,][0-9]+)?$").to_numpy(zero_copy_only=False)
    rows = int(counts[fits].sum())
    if rows < NEARLY * counts.sum():
        return ""
    if fits.all():
        padded = pc.not_equal(bare, texts)
        return "Its numbers have blanks around them, so they are text. Remove the blanks." if pc.any(padded).as_py() else ""
    first = int(np.argmax(np.append(~fits, False)[indices]))
    return (
        f"{rows:,} of {counts.sum():,} rows are numbers; the first other value is at {row_number(first)}. "
        "Correct it. If it means 'unknown', name it in missing (--missing 'n/a')."
    )


def _absent(texts: pa.Array, tokens: Sequence[str]) -> tuple[str, ...]:
    """Return the usual texts for a missing value that occur in the column.

    An ambiguous text counts only if all other values are longer texts or numbers.
    """
    found = [str(text) for text in texts.filter(pc.is_in(texts, pa.array(tokens))).to_pylist()]
    if not set(found) & AMBIGUOUS_TOKENS:
        return tuple(found)
    others = [text for text in texts.slice(0, SAMPLE).to_pylist() if text not in TOKENS]
    is_distinct = bool(others) and all(len(text) > 2 or text.isdigit() for text in others)
    return tuple(token for token in found if is_distinct or token not in AMBIGUOUS_TOKENS)
