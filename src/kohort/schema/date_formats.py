"""Read dates as days since 1970, detect their format (`DD.MM.YYYY`), and widen ranges of dates to whole months and years.

A format consists of YYYY, MM or MON (Mar, MARCH) and DD, with separators between them. A time of day may follow the date; it
is ignored.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Days = NDArray[np.int64]

ISO = "YYYY-MM-DD"
USUAL = (
    ISO, "DD.MM.YYYY", "DD/MM/YYYY", "MM/DD/YYYY", "DD-MM-YYYY", "MM-DD-YYYY", "YYYY/MM/DD", "YYYY.MM.DD", "YYYYMMDD",
    "DD-MON-YYYY", "DD MON YYYY", "DDMONYYYY", "MON DD, YYYY", "MON DD YYYY", "YYYY-MM", "MM/YYYY",
)  # fmt: skip
_ZONE = "(?: ?(?:Z|UTC|[AaPp][Mm]|[+-][0-9]{2}(?::?[0-9]{2})?))?"
TIME = rf"(?P<time>[T ]+[0-9]{{1,2}}:[0-9]{{2}}(?::[0-9]{{2}}(?:[.,][0-9]+)?)?{_ZONE})?"
MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
LIKELY = range(1800, 2200)  # only these years are detected as dates; a declared date may have any year of four digits
FEWEST_PACKED = 5  # numbers of eight digits are detected as dates only if a column has at least this many distinct values
YEARS_FROM = 24  # intervals of at least this many months are published in years
SHORTEST_IN_YEARS = 729.0  # days from the first to the last of 24 whole months; 23 whole months have at most 702

_TOKENS = {"YYYY": "(?P<y>[0-9]{4})", "MON": "(?P<mon>[A-Za-z]{3,9})", "MM": "(?P<m>[0-9]{1,2})", "DD": "(?P<d>[0-9]{1,2})"}
_TOKEN = re.compile("YYYY|MON|MM|DD")
_SAMPLE = 100


def mistake(form: str) -> str | None:
    """Return what is wrong with a declared format, as the end of a sentence that starts with `format`; None if it is valid."""
    tokens = _TOKEN.findall(form)
    rest = _TOKEN.sub("", form)
    if tokens.count("YYYY") != 1 or sum(token in ("MM", "MON") for token in tokens) != 1 or tokens.count("DD") > 1:
        return "must contain YYYY once, MM (03) or MON (Mar) once, and DD at most once, such as DD.MM.YYYY"
    if not set(rest) <= set("-./, _:"):
        return "must have only these characters between YYYY, MM, MON and DD: - . / _ : comma, blank"
    return None


@cache
def pattern(form: str) -> str:
    """Return the regular expression of a format, with the groups y, m or mon, d and time."""
    packed = not _TOKEN.sub("", form)
    marked = _TOKEN.sub(lambda token: f"\0{token[0]}\0", form)
    parts = [_TOKENS[part] if part in _TOKENS else re.escape(part) for part in marked.split("\0") if part]
    text = "".join(parts)
    return "^" + (text.replace("{1,2}", "{2}") if packed else text) + TIME + "$"


def days(texts: pa.Array, form: str) -> tuple[Days, NDArray[np.bool_]]:
    """Return each text as days since 1970, and whether the text is a date in this format."""
    found = pc.extract_regex(texts, pattern(form))
    fits = found.is_valid().to_numpy(zero_copy_only=False)

    def part(name: str, absent: str) -> Days:
        if found.type.get_field_index(name) < 0:
            return np.full(len(texts), int(absent), np.int64)
        return np.asarray(pc.struct_field(found, name).fill_null(absent).cast(pa.int64()).to_numpy(zero_copy_only=False))

    if found.type.get_field_index("mon") >= 0:
        names = pc.utf8_lower(pc.utf8_slice_codeunits(pc.struct_field(found, "mon"), 0, 3))
        month = pc.index_in(names, pa.array(MONTH_NAMES)).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64) + 1
    else:
        month = part("m", "1")
    year, day = part("y", "1970"), part("d", "1")
    fits = fits & (month >= 1) & (month <= 12) & (day >= 1) & (year >= 1)
    number = _first_day(np.where(fits, (year - 1970) * 12 + month - 1, 0)) + np.where(fits, day, 1) - 1
    fits &= month_of(number) == (year - 1970) * 12 + month - 1  # 30 February would be a day in March
    return number, fits


def fitting(texts: pa.Array) -> list[str]:
    """Return the usual formats in which every text is a date between 1800 and 2199."""
    if not len(texts):
        return []
    sample = texts.slice(0, _SAMPLE).to_pylist()
    named = [form for form in USUAL if all(re.match(pattern(form), text) for text in sample)]
    return [form for form in named if _all_likely(texts, form) and (form != "YYYYMMDD" or len(texts) >= FEWEST_PACKED)]


def _all_likely(texts: pa.Array, form: str) -> bool:
    number, fits = days(texts, form)
    years = year_of(number)
    return bool(fits.all() and years.min() >= LIKELY.start and years.max() < LIKELY.stop)


def has_time(texts: pa.Array, form: str) -> bool:
    """Whether a time of day follows any of these dates."""
    time = pc.extract_regex(texts, pattern(form)).field("time")
    return bool(pc.any(pc.not_equal(time, "")).as_py())


# --- whole months and years


def month_of(number: Days) -> Days:
    """Return the month of each day, as months since January 1970."""
    return number.astype("M8[D]").astype("M8[M]").astype(np.int64)


def year_of(number: Days) -> Days:
    return number.astype("M8[D]").astype("M8[Y]").astype(np.int64) + 1970


def _first_day(month: Days) -> Days:
    return month.astype("M8[M]").astype("M8[D]").astype(np.int64)


def month_ends(month: Days) -> tuple[Days, Days]:
    """Return the first and last day of each month; months are counted from January 1970."""
    return _first_day(month), _first_day(month + 1) - 1


def whole_months(begin: Days, end: Days) -> tuple[Days, Days]:
    """Return the first day of the month of `begin` and the last day of the month of `end`."""
    return month_ends(month_of(begin))[0], month_ends(month_of(end))[1]


def whole_years(begin: Days, end: Days) -> tuple[Days, Days]:
    """Return the first day of the year of `begin` and the last day of the year of `end`."""
    return _first_day((year_of(begin) - 1970) * 12), _first_day((year_of(end) - 1969) * 12) - 1


def widened(begin: Days, end: Days) -> tuple[Days, Days]:
    """Return the interval that is published: whole months, or whole years if it covers 24 months or more.

    >>> begin, end = (np.array([day], "M8[D]").astype(np.int64) for day in ("2019-03-07", "2021-02-28"))
    >>> [str(edge.astype("M8[D]")[0]) for edge in widened(begin, end)]
    ['2019-01-01', '2021-12-31']
    """
    long = month_of(end) - month_of(begin) + 1 >= YEARS_FROM
    months, years = whole_months(begin, end), whole_years(begin, end)
    return np.where(long, years[0], months[0]), np.where(long, years[1], months[1])


def interval_texts(begin: Days, end: Days) -> pa.Array:
    """Return the published text of each interval: `2019-03`, `[2019-03 - 2019-07]`, `[2019 - 2021]`."""
    long = month_of(end) - month_of(begin) + 1 >= YEARS_FROM
    first, last = (
        np.where(long, np.datetime_as_string(edge.astype("M8[D]"), "Y"), np.datetime_as_string(edge.astype("M8[D]"), "M"))
        for edge in (begin, end)
    )
    firsts, lasts = pa.array(first.tolist(), pa.string()), pa.array(last.tolist(), pa.string())
    return pc.if_else(pc.equal(firsts, lasts), firsts, pc.binary_join_element_wise("[", firsts, " - ", lasts, "]", ""))
