"""One column as it is: its type, how many values it has, how many rows stand alone with theirs, what is missing."""

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

TOKENS = ("?", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "#N/A", "<NA>", "(null)", "-", "--", ".")
"""Texts that usually stand for a missing value."""
AMBIGUOUS_TOKENS = {"NA", "-", "."}  # Namibia; a mark of its own: missing only beside numbers, dates or longer texts
NEARLY = 0.9  # share of rows that are numbers from which the others are worth a word
SAMPLE = 2_000  # distinct values whose form is looked at


@dataclass(frozen=True, eq=False)
class Profile:
    """What was found in one column."""

    name: str
    stored: str
    """The type that the source gives it."""
    rows: int
    reading: Reading
    texts: pa.Array = field(repr=False)
    """The distinct present values as text, in order of appearance. Private."""
    counts: NDArray[np.int64] = field(repr=False)
    """Rows that hold each of them. Private."""
    indices: NDArray[np.int32] = field(repr=False)
    """Per row: which of them, -1 for missing. Private."""
    tokens: tuple[str, ...] = ()
    """Usual marks of a missing value that occur in it."""
    contents: Contents = NOTHING
    unusable: str = ""
    """Why nothing can be said of its values."""
    nearly: str = ""
    """What keeps text from being numbers, if little does."""

    @property
    def value_type(self) -> str:
        return self.reading.value_type if not self.unusable else self.stored

    @property
    def distinct(self) -> int:
        return len(self.counts)

    @property
    def missing(self) -> int:
        return int(np.count_nonzero(self.indices < 0))

    @property
    def unique(self) -> int:
        """Rows that are the only one with their value."""
        return int(np.count_nonzero(self.counts == 1))

    @property
    def unique_share(self) -> float:
        return self.unique / self.rows if self.rows else 0.0

    def doubt(self) -> str:
        """What a reader should know of how it was read, as a clause; nothing if it is plain."""
        if self.reading.question and self.reading.format:
            return f"; whether day or month comes first is guessed ({self.reading.format})"
        if self.reading.question:
            return "; that its comma marks decimals is guessed"
        return self.nearly

    def held_by_fewer(self, than: int) -> int:
        """Values held by fewer rows than that."""
        return int(np.count_nonzero(self.counts < than))


def profile(column: pa.ChunkedArray, name: str, missing: Sequence[str], tokens: Sequence[str] = TOKENS) -> Profile:
    """Look at every value of a column; `missing` are texts known to stand for nothing, `tokens` texts that may."""
    stored = "".join(mark if mark.isprintable() else " " for mark in str(column.type))[:60]  # fields of structs have names too
    try:
        held, indices = distinct(column, name, missing)
        texts = as_text(held.values)
    except (RequestError, pa.ArrowException):
        nothing = pa.array([], pa.string()), np.empty(0, np.int64), np.full(len(column), -1, np.int32)
        return Profile(
            name, stored, len(column), type_detection.TEXT, *nothing, unusable=f"values of type {stored} cannot be compared"
        )
    absent = _absent(texts, tokens)
    if absent:
        held, indices = distinct(column, name, (*missing, *absent))
        texts = as_text(held.values)
    reading = type_detection.read(held.values) or type_detection.TEXT
    if reading.unfit is not None or (reading.question and reading.numbers is None):  # infinite numbers, days of no calendar
        reading = type_detection.TEXT
    counts = held.counts[:-1]
    step = max(1, len(texts) // SAMPLE)
    looked_at = texts.take(pa.array(np.arange(0, len(texts), step))) if step > 1 else texts
    found = contents_of([str(text) for text in looked_at.to_pylist()], reading.value_type)
    nearly = _nearly_numbers(texts, counts, indices) if reading.value_type == "text" else ""
    return Profile(name, stored, len(column), reading, texts, counts, indices.astype(np.int32), absent, found, nearly=nearly)


def _nearly_numbers(texts: pa.Array, counts: NDArray[np.int64], indices: NDArray[np.int64]) -> str:
    """A column of numbers with a few other texts loses all that numbers could tell, so it is said which row to look at."""
    if not len(texts) or pc.any(pc.match_substring_regex(texts, "^0[0-9]")).as_py():
        return ""
    bare = pc.utf8_trim_whitespace(texts)
    fits = pc.match_substring_regex(bare, r"^[+-]?[0-9]+([.,][0-9]+)?$").to_numpy(zero_copy_only=False)
    rows = int(counts[fits].sum())
    if rows < NEARLY * counts.sum():
        return ""
    if fits.all():
        padded = pc.not_equal(bare, texts)
        return "; its numbers have blanks around them, so they are text: take the blanks out" if pc.any(padded).as_py() else ""
    first = int(np.argmax(np.append(~fits, False)[indices])) + 1
    most = f"{rows:,} of {counts.sum():,} rows are numbers"
    return f"; {most}, the first that is not is row {first:,}: mend it, or name what stands there with --missing"


def _absent(texts: pa.Array, tokens: Sequence[str]) -> tuple[str, ...]:
    """The usual marks of a missing value among the distinct texts; the ambiguous ones only where they stand out."""
    found = [str(text) for text in texts.filter(pc.is_in(texts, pa.array(tokens))).to_pylist()]
    if not set(found) & AMBIGUOUS_TOKENS:
        return tuple(found)
    others = [text for text in texts.slice(0, SAMPLE).to_pylist() if text not in TOKENS]
    is_distinct = bool(others) and all(len(text) > 2 or text.isdigit() for text in others)
    return tuple(token for token in found if is_distinct or token not in AMBIGUOUS_TOKENS)
