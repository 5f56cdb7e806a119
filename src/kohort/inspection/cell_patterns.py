"""Recognise what a column contains by the form of its cells: addresses, official numbers, codes, names, free text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

MOST = 0.8  # minimum share of the values that must match a pattern
FREE_TEXT_WORDS, FREE_TEXT_LENGTH = 5, 60  # minimum mean number of words or characters of free text

_DIRECT = {
    "e-mail addresses": r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}",
    "web addresses": r"https?://\S+",
    "network addresses": r"(\d{1,3}\.){3}\d{1,3}|([0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{0,4}",
    "random keys": r"[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}",
    "social security numbers": r"\d{3}-\d{2}-\d{4}",
    "bank account numbers": r"[A-Z]{2}\d{2}( ?[A-Z0-9]{4}){2,7}( ?[A-Z0-9]{1,4})?",
    "phone numbers": r"(\+|00|0|\()[\d()][\d ()/.-]{6,}\d|\d{3}[ .-]\d{3}[ .-]\d{4}",
}
_POST_CODES = {  # pattern, and the number of characters that each level of its tree keeps
    r"\d{5}-\d{4}": (5, 3, 2, 1),
    r"\d{5}": (4, 3, 2, 1),
    r"\d{4}": (3, 2, 1),
    r"\d{6}": (4, 3, 2, 1),
    r"\d{2}-\d{3}": (4, 2, 1),
    r"\d{4} ?[A-Z]{2}": (4, 2, 1),
    r"[A-Z]\d[A-Z] ?\d[A-Z]\d": (3, 2, 1),
    r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}": (3, 2, 1),
}
ICD_CHAPTERS = 3  # minimum number of different first letters; with fewer, the codes are probably not diagnoses
_ICD = r"[A-TV-Z]\d[0-9A-Z](\.?[0-9A-Z]{1,4})?"
_NAME = r"[^\W\d_][\w'`.\u2019-]*,?( [^\W\d_][\w'`.\u2019-]*){1,3}"  # two to four words
_BAND = r"[^\d\w]*(?:under|over|below|above|from)? ?\d+\+?(?:\s*(?:-|\u2013|to|bis|~|\.\.|,)\s*\d+)?[^\d\w]*(?:and over|years)?"
_CODE = r"[A-Za-z0-9]+([./-][A-Za-z0-9]+)*"


@dataclass(frozen=True)
class Contents:
    """What was recognised. At most one of the first four is set."""

    direct: str = ""
    """Cells that identify or contact a person, in words, such as `e-mail addresses`."""
    free_text: bool = False
    names: bool = False
    icd: bool = False
    post_code_levels: tuple[int, ...] = ()
    """If the values may be post codes: the number of characters that each level of a tree keeps."""
    zero_led: bool = False
    """Whether a value of several characters starts with 0."""
    bands: bool = False
    """Ranges as text, such as `18-25`, `[0-10)` or `90+`."""
    code_length: int = 0
    """If all values are codes of the same length with at least one digit: that length."""

    def described(self) -> str:
        """Return the contents in a few words; empty if nothing was recognised."""
        if self.direct:
            return self.direct
        if self.free_text:
            return "free text"
        if self.names:
            return "names of persons"
        return "ICD codes" if self.icd else "post codes" if self.post_code_levels and self.zero_led else ""


NOTHING = Contents()


def contents_of(texts: Sequence[str], value_type: str) -> Contents:
    """Recognise the contents of a column from its distinct values; `value_type` is their detected type."""
    if not texts or value_type in ("decimal", "boolean", "date", "timestamp"):
        return NOTHING
    direct = ""
    if value_type == "text":
        direct = next((name for name, pattern in _DIRECT.items() if _share(pattern, texts) >= MOST), "")
    if direct:
        return Contents(direct=direct)
    words, length = sum(len(text.split()) for text in texts) / len(texts), sum(map(len, texts)) / len(texts)
    if words >= FREE_TEXT_WORDS or (length >= FREE_TEXT_LENGTH and words > 1):
        return Contents(free_text=True)
    lengths = {len(text) for text in texts}
    coded = len(lengths) == 1 and all(any(mark.isdigit() for mark in text) for text in texts) and _share(_CODE, texts) == 1
    return Contents(
        names=value_type == "text" and _share(_NAME, texts) >= MOST and all(text[:1].isupper() for text in texts),
        icd=value_type == "text" and len({text[:1] for text in texts}) >= ICD_CHAPTERS and _share(_ICD, texts) >= MOST,
        post_code_levels=next((levels for pattern, levels in _POST_CODES.items() if _share(pattern, texts) == 1), ()),
        bands=value_type == "text" and _share(_BAND, texts) == 1,
        zero_led=any(text.startswith("0") and len(text) > 1 for text in texts),
        code_length=next(iter(lengths)) if coded else 0,
    )


def _share(pattern: str, texts: Sequence[str]) -> float:
    """Return the share of texts that match a pattern completely."""
    compiled = re.compile(pattern)
    return sum(compiled.fullmatch(text) is not None for text in texts) / len(texts)
