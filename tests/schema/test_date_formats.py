"""Dates: formats are detected, read and published correctly."""

from __future__ import annotations

import calendar
import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as kh
from kohort.encoding.date_axis import DateAxis
from kohort.encoding.points import Points
from kohort.errors import RequestError
from kohort.kernels.core.widths import width
from kohort.schema import date_formats as calendars
from kohort.schema import published_text
from tests.schema.read_columns import DATES, STYLES, read

UNAMBIGUOUS = [dt.date(2019, 3, day) for day in (1, 13, 14, 15, 31)]


def whole(low: dt.date, high: dt.date) -> tuple[str, dt.date, dt.date]:
    """Return the text published for low..high and the first and last day that it covers, by the documented rule."""
    months = (high.year - low.year) * 12 + high.month - low.month + 1
    if months >= 24:
        return f"[{low.year} - {high.year}]", dt.date(low.year, 1, 1), dt.date(high.year, 12, 31)
    end = dt.date(high.year, high.month, calendar.monthrange(high.year, high.month)[1])
    first, last = f"{low:%Y-%m}", f"{high:%Y-%m}"
    return (first if first == last else f"[{first} - {last}]"), low.replace(day=1), end


def covered(text: str) -> Any:
    """Return the first and last day that a published text covers, as Any, so that mypy accepts that it is not None."""
    return published_text.days(text)


def days_of(*dates: dt.date) -> np.ndarray:
    return np.array([(date - dt.date(1970, 1, 1)).days for date in dates], np.int64)


@pytest.mark.parametrize("form", STYLES)
def test_every_usual_format_is_detected_and_read(form):
    texts = pa.array([date.strftime(STYLES[form]) for date in UNAMBIGUOUS])
    reading = read(texts)
    assert (reading.value_type, reading.format, reading.question) == ("date", form, None)
    assert reading.numbers.tolist() == days_of(*UNAMBIGUOUS).tolist()


@pytest.mark.parametrize("form", ["YYYY-MM", "MM/YYYY"])
def test_months_without_days_are_dates(form):
    texts = pa.array([date.strftime("%Y-%m" if form == "YYYY-MM" else "%m/%Y") for date in UNAMBIGUOUS])
    assert read(texts).format == form


@pytest.mark.parametrize(
    "time", ["T12:30", " 12:30:59", " 9:05", "T00:00:00Z", " 12:30:59.123456", "T23:59:59+01:00", " 23:59:59 +0100", " 11:59 PM"]
)
def test_time_of_day_may_follow_the_date(time):
    reading = read(pa.array([f"{date}{time}" for date in UNAMBIGUOUS]))
    assert (reading.value_type, reading.format) == ("timestamp", "YYYY-MM-DD")
    assert reading.numbers.tolist() == days_of(*UNAMBIGUOUS).tolist()


@given(st.lists(DATES, min_size=1, max_size=20, unique=True), st.sampled_from(sorted(STYLES)))
def test_declared_formats_read_every_date(dates, form):
    reading = read(pa.array([date.strftime(STYLES[form]) for date in dates]), "date", form)
    assert reading.unfit is None
    assert reading.numbers.tolist() == days_of(*dates).tolist()


@pytest.mark.parametrize(
    "texts",
    [
        ["2019-02-29", "2019-01-01"],  # no such day
        ["2019-13-01"],
        ["0019-01-01"],  # not a likely year
        ["07.03.19"],  # which century?
        ["20190307", "20190308"],  # two numbers of eight digits are numbers
        ["2019-03-07x"],
        ["2019-03-07\n"],
        ["1.2.3"],
        ["12-13-14"],
    ],
)
def test_texts_that_only_resemble_dates_are_not_dates(texts):
    assert read(pa.array(texts)).value_type not in ("date", "timestamp")


def test_order_of_day_and_month_is_not_guessed():
    texts = ["01/02/2019", "03/04/2019"] * 5
    table = pa.table({"born": texts, "s": ["x"] * 10})
    with pytest.raises(RequestError, match=r"'born' contains dates that can be read as DD/MM/YYYY and as MM/DD/YYYY"):
        kh.anonymize(table, quasi="born", sensitive="s", k=5)
    shown = {
        form: set(kh.anonymize(table, quasi="born", sensitive="s", k=5, format={"born": form}).table["born"].to_pylist())
        for form in ("DD/MM/YYYY", "MM/DD/YYYY")
    }
    assert shown == {"DD/MM/YYYY": {"2019-02", "2019-04"}, "MM/DD/YYYY": {"2019-01", "2019-03"}}


@pytest.mark.parametrize("form", ["DD.MM.YY", "YYYY", "DD.MM.YYYY.MM", "DDxMMxYYYY", "DD'MM'YYYY", ""])
def test_invalid_format_is_an_error(form):
    with pytest.raises(RequestError, match="format"):
        kh.Job.build(quasi=["born"], format={"born": form})


def test_values_that_are_not_dates_are_counted_and_not_shown():
    rare = "Xanthippe-4711"
    table = pa.table({"born": ["2019-03-07"] * 8 + [rare] * 2, "s": ["x"] * 10})
    with pytest.raises(
        RequestError, match=r"in 2 rows the value is not a date written as YYYY-MM-DD, the first at row 9 "
    ) as caught:
        kh.anonymize(table, quasi="born", sensitive="s", k=2, type={"born": "date"})
    assert rare not in str(caught.value)


@given(DATES, DATES)
def test_published_text_and_width_follow_the_documented_rule(one, other):
    low, high = min(one, other), max(one, other)
    edges = (dt.date(1850, 1, 1), dt.date(2150, 12, 31))
    axis = DateAxis.of_months("born", np.unique(calendars.month_of(days_of(low, high, *edges))))
    codes = np.searchsorted(axis.first, days_of(low, high), side="right")
    text, begin, end = whole(low, high)
    assert axis.label(codes[:1], codes[1:], None).to_pylist() == [text]
    assert covered(text) == (begin, end)  # as the auditor parses it
    share = (end - begin).days / (edges[1] - edges[0]).days
    assert axis.width(codes[:1], codes[1:], "leaf", None)[0] == pytest.approx(share)
    points = Points(codes.reshape(2, 1).astype(np.uint16), (axis,), (1.0,))
    assert width(points.kernel_tables(), 0, codes[0], codes[1]) == round(share * 2**24)


@pytest.mark.parametrize(
    "arrow_type", [pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("us", "Pacific/Auckland")]
)
def test_columns_with_a_date_type(arrow_type):
    days = [dt.date(1960, 1, 1) + dt.timedelta(days=37 * number) for number in range(60)]
    table = pa.table({"born": pa.array(days, pa.date32()).cast(arrow_type), "s": ["x"] * 60})
    release = kh.anonymize(table, quasi="born", sensitive="s", k=6, keep_order=True)
    for day, text in zip(days, release.table["born"].to_pylist(), strict=True):
        first, last = covered(text)
        assert first <= day <= last
    assert release.axes["born"].startswith("dates")


def test_times_before_1970_and_in_other_time_zones_have_the_right_day():
    moments = pa.array([-1, 0], pa.timestamp("s"))  # 1969-12-31 23:59:59, 1970-01-01
    assert read(moments).numbers.tolist() == [-1, 0]
    auckland = pa.array([dt.datetime(2019, 2, 28, 12, tzinfo=dt.UTC)], pa.timestamp("s", "Pacific/Auckland"))
    assert read(auckland).numbers.tolist() == days_of(dt.date(2019, 3, 1)).tolist()


@given(st.lists(st.none() | DATES, min_size=4, max_size=30), st.sampled_from(["YYYY-MM-DD", "DD.MM.YYYY", "DDMONYYYY"]))
def test_every_published_cell_covers_its_date(dates, form):
    texts = [date and date.strftime(STYLES[form]) for date in dates]
    table = pa.table({"born": pa.array(texts, pa.string()), "s": ["x"] * len(texts)})
    release = kh.anonymize(table, quasi="born", sensitive="s", k=2, method="mondrian", keep_order=True, format={"born": form})
    for date, text in zip(dates, release.table["born"].to_pylist(), strict=True):
        assert text == "*" or (date is None and text is None) or covered(text)[0] <= date <= covered(text)[1]


def test_dates_have_no_mean():
    table = pa.table({"born": ["2019-03-07"] * 4, "s": ["x"] * 4})
    with pytest.raises(RequestError, match="cannot publish its mean"):
        kh.anonymize(table, quasi="born", sensitive="s", k=2, statistic={"born": "both"})
