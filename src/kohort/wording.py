"""Numbers as people read them, the same in messages, charts and pages."""

from __future__ import annotations


def percent(share: float) -> str:
    """Return a share as per cent. Only 0 and 1 are shown as 0 % and 100 %.

    >>> percent(0), percent(0.0001), percent(0.1956), percent(0.9999), percent(1)
    ('0 %', '< 0.1 %', '19.6 %', '> 99.9 %', '100 %')
    """
    if 0 < share < 0.0005:
        return "< 0.1 %"
    if 0.9995 <= share < 1:
        return "> 99.9 %"
    return f"{100 * share:.0f} %" if share in {0, 1} else f"{100 * share:.1f} %"


def counted(number: int, one: str, several: str | None = None) -> str:
    """Return a number with its noun.

    >>> counted(1, "row"), counted(12000, "row"), counted(2, "person", "people")
    ('1 row', '12,000 rows', '2 people')
    """
    return f"{number:,} {one if number == 1 else several or one + 's'}"
