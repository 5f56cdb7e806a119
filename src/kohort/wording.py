"""Numbers and names as people read them, the same in messages, charts and pages."""

from __future__ import annotations

from typing import Any


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


def row_number(index: int) -> str:
    """Return the number of a row for a message. Spreadsheets count the header as row 1, so the message says what is counted.

    >>> row_number(0), row_number(1999)
    ('row 1 (not counting the header)', 'row 2,000 (not counting the header)')
    """
    return f"row {index + 1:,} (not counting the header)"


def quoted(path: Any) -> str:
    """Return the name of a file or folder in quotes, for a message.

    >>> from pathlib import Path
    >>> quoted(Path("trees") / "sex.csv")
    "'trees/sex.csv'"
    """
    return repr(str(path))
