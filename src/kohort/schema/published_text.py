"""Parse published text for the auditor. Written from the description of the format, without code that makes releases.

`37` and `[37 - 42]` are numbers. In a column of dates, `2019-03` and `[2019 - 2021]` are months and years. `*` is any value. Any
other text is a label of the column's tree.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date, timedelta

from kohort.schema.trees import ROOT, Tree

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_INTERVAL = re.compile(rf"\[({_NUMBER}) - ({_NUMBER})\]")
_SINGLE = re.compile(_NUMBER)
_PERIOD = r"(\d{4})(?:-(\d{2}))?"
_PERIODS = re.compile(rf"\[{_PERIOD} - {_PERIOD}\]|{_PERIOD}")


@dataclass(frozen=True)
class PublishedInterval:
    """The range of numbers that a published text represents, ends included."""

    low: int | float
    high: int | float


EVERYTHING = PublishedInterval(-math.inf, math.inf)


def interval(text: str) -> PublishedInterval | None:
    """Return the interval that a text represents; None if the text is not an interval.

    >>> interval("[37 - 42]"), interval("-1.5"), interval("young")
    (PublishedInterval(low=37, high=42), PublishedInterval(low=-1.5, high=-1.5), None)
    """
    if text == ROOT:
        return EVERYTHING
    match = _INTERVAL.fullmatch(text)
    if match:
        low, high = _number(match[1]), _number(match[2])
        return PublishedInterval(low, high) if low <= high else None
    return PublishedInterval(_number(text), _number(text)) if _SINGLE.fullmatch(text) else None


def _number(text: str) -> int | float:
    """Convert text to a number. Integers are exact, whatever their size."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def days(text: str) -> tuple[date, date] | None:
    """Return the first and the last day that a text represents; None if the text has no months or years.

    >>> days("[2019-11 - 2020-02]")
    (datetime.date(2019, 11, 1), datetime.date(2020, 2, 29))
    """
    if text == ROOT:
        return date.min, date.max
    match = _PERIODS.fullmatch(text)
    if match is None:
        return None
    first_year, first_month, last_year, last_month = match.groups()[:4] if match[1] else match.groups()[4:] * 2
    try:
        begin = date(int(first_year), int(first_month or 1), 1)
        last = date(int(last_year), int(last_month or 12), 28)
        end = date.max if (last.year, last.month) == (9999, 12) else (last + timedelta(days=4)).replace(day=1) - timedelta(days=1)
    except ValueError:
        return None
    return (begin, end) if begin <= end else None


class Labels:
    """The texts that may be published for each leaf of a tree. Without a tree, these are the value itself and `*`."""

    def __init__(self, tree: Tree | None) -> None:
        self._above = tree.labels_above() if tree else None

    def covers(self, text: str | None, leaf: str | None) -> bool:
        """Whether the published text represents this value, possibly among others; None is a missing value."""
        if text == ROOT:
            return True
        if text is None or leaf is None:
            return text is None and leaf is None
        return text == leaf if self._above is None else text in self._above.get(leaf, ())
