"""SQL expressions that read dates of a given format. They run on DuckDB and on Spark."""

from __future__ import annotations

import re

_TOKEN = re.compile("YYYY|MON|MM|DD")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def as_date(text: str, form: str) -> str:
    """Return an SQL expression that converts `text` to a DATE, or to NULL if it is not written as `form`.

    `text` is an SQL expression. A time of day after the date is allowed.

    >>> as_date("v", "MM/YYYY")
    "TRY_CAST(CONCAT(REGEXP_EXTRACT(v, '^([0-9]{1,2})[/]([0-9]{4})([T ].*)?$', 2), '-', ..., '-', '01') AS DATE)"
    """
    tokens = _TOKEN.findall(form)
    between = _TOKEN.sub("", form)
    digits = "([0-9]{1,2})" if between or "MON" in tokens else "([0-9]{2})"
    groups = {"YYYY": "([0-9]{4})", "MON": "([A-Za-z]{3})[A-Za-z]*", "MM": digits, "DD": digits}
    pieces = re.split(f"({_TOKEN.pattern})", form)
    pattern = "".join(groups[piece] if piece in groups else "".join(f"[{mark}]" for mark in piece) for piece in pieces)

    def part(token: str) -> str:
        return f"REGEXP_EXTRACT({text}, '^{pattern}([T ].*)?$', {tokens.index(token) + 1})"

    if "MON" in tokens:
        names = " ".join(f"WHEN '{name}' THEN '{number:02d}'" for number, name in enumerate(_MONTHS, start=1))
        month = f"CASE LOWER({part('MON')}) {names} END"
    else:
        month = f"LPAD({part('MM')}, 2, '0')"
    day = f"LPAD({part('DD')}, 2, '0')" if "DD" in tokens else "'01'"
    return f"TRY_CAST(CONCAT({part('YYYY')}, '-', {month}, '-', {day}) AS DATE)"
