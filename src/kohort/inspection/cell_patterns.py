"""What the cells of a column look like: addresses, official numbers, codes, names, prose. Seen from their form alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

MOST = 0.8  # share of the values that must have a form for it to be the column's
FREE_TEXT_WORDS, FREE_TEXT_LENGTH = 5, 60  # mean words or characters a value from which text is prose

_DIRECT = {
    "e-mail addresses": r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}",
    "web addresses": r"https?://\S+",
    "network addresses": r"(\d{1,3}\.){3}\d{1,3}|([0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{0,4}",
    "random keys": r"[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}",
    "social security numbers": r"\d{3}-\d{2}-\d{4}",
    "bank account numbers": r"[A-Z]{2}\d{2}( ?[A-Z0-9]{4}){2,7}( ?[A-Z0-9]{1,4})?",
    "phone numbers": r"(\+|00|0|\()[\d()][\d ()/.-]{6,}\d|\d{3}[ .-]\d{3}[ .-]\d{4}",
}
_POST_CODES = {  # form, and how many characters the levels of its tree keep
    r"\d{5}-\d{4}": (5, 3, 2, 1),
    r"\d{5}": (4, 3, 2, 1),
    r"\d{4}": (3, 2, 1),
    r"\d{6}": (4, 3, 2, 1),
    r"\d{2}-\d{3}": (4, 2, 1),
    r"\d{4} ?[A-Z]{2}": (4, 2, 1),
    r"[A-Z]\d[A-Z] ?\d[A-Z]\d": (3, 2, 1),
    r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}": (3, 2, 1),
}
ICD_CHAPTERS = 3  # different first letters that tell diagnoses from codes of one kind
_ICD = r"[A-TV-Z]\d[0-9A-Z](\.?[0-9A-Z]{1,4})?"
_NAME = r"[^\W\d_][\w'`.\u2019-]*,?( [^\W\d_][\w'`.\u2019-]*){1,3}"  # two to four words
_BAND = r"[^\d\w]*(?:under|over|below|above|from)? ?\d+\+?(?:\s*(?:-|\u2013|to|bis|~|\.\.|,)\s*\d+)?[^\d\w]*(?:and over|years)?"
_CODE = r"[A-Za-z0-9]+([./-][A-Za-z0-9]+)*"


@dataclass(frozen=True)
class Contents:
    """What was seen. At most one of the first four is set."""

    direct: str = ""
    """A form that names or reaches a person, in words."""
    free_text: bool = False
    names: bool = False
    icd: bool = False
    post_code_levels: tuple[int, ...] = ()
    """Where the values could be post codes: the characters that the levels of a tree keep."""
    zero_led: bool = False
    bands: bool = False
    """Ranges in words, such as `18-25`, `[0-10)` or `90+`."""
    code_length: int = 0
    """Where all values are codes of one length with a digit in each: that length."""

    def described(self) -> str:
        """In a few words, for the table of columns."""
        if self.direct:
            return self.direct
        if self.free_text:
            return "free text"
        if self.names:
            return "names of persons"
        return "ICD codes" if self.icd else "post codes" if self.post_code_levels and self.zero_led else ""


NOTHING = Contents()


def contents_of(texts: Sequence[str], value_type: str) -> Contents:
    """What these distinct values look like; `value_type` is what they were read as."""
    if not texts or value_type in ("decimal", "boolean", "date", "timestamp"):
        return NOTHING
    direct = next((what for what, form in _DIRECT.items() if _share(form, texts) >= MOST), "") if value_type == "text" else ""
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
        post_code_levels=next((levels for form, levels in _POST_CODES.items() if _share(form, texts) == 1), ()),
        bands=value_type == "text" and _share(_BAND, texts) == 1,
        zero_led=any(text.startswith("0") and len(text) > 1 for text in texts),
        code_length=next(iter(lengths)) if coded else 0,
    )


def _share(form: str, texts: Sequence[str]) -> float:
    pattern = re.compile(form)
    return sum(pattern.fullmatch(text) is not None for text in texts) / len(texts)
