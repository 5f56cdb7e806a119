"""Detection of types: decimal commas, booleans and times."""

from __future__ import annotations

import pyarrow as pa
import pytest

import kohort as kh
from kohort.errors import RequestError
from tests.schema.read_columns import read

# --- decimals with a comma, booleans


def test_decimals_with_a_comma_are_published_with_a_comma():
    texts = ["1,5", "2", "2,25", "10,75"] * 3
    release = kh.anonymize(
        pa.table({"dose": texts, "s": ["x"] * 12}), quasi="dose", sensitive="s", k=6, statistic={"dose": "both"}
    )
    assert set(release.table["dose"].to_pylist()) == {"[1,5 - 2]", "[2,25 - 10,75]"}
    assert set(release.table["dose.mean"].to_pylist()) == {"1,75", "6,5"}


def test_comma_of_thousands_or_decimals_is_not_guessed():
    table = pa.table({"pay": ["1,234", "2,500", "900"] * 4, "s": ["x"] * 12})
    with pytest.raises(RequestError, match="comma that may separate decimals or thousands"):
        kh.anonymize(table, quasi="pay", sensitive="s", k=4)
    assert kh.anonymize(table, quasi="pay", sensitive="s", k=4, type={"pay": "decimal"}).evidence.passed
    assert kh.anonymize(table, quasi="pay", sensitive="s", k=4, type={"pay": "text"}).evidence.passed


def test_booleans():
    assert read(pa.array(["yes", "no"])).value_type == "boolean"
    assert read(pa.array([True, False])).value_type == "boolean"
    table = pa.table({"smoker": ["0", "1", "1", "0"], "s": ["x"] * 4})
    release = kh.anonymize(table, quasi="smoker", sensitive="s", k=4, type={"smoker": "boolean"})
    assert set(release.table["smoker"].to_pylist()) == {"*"}  # not the range [0 - 1]
    with pytest.raises(RequestError, match="not boolean"):
        kh.anonymize(
            pa.table({"smoker": ["0", "1", "2"], "s": ["x"] * 3}), quasi="smoker", sensitive="s", k=3, type={"smoker": "boolean"}
        )


@pytest.mark.parametrize(
    ("arrow_type", "message"),
    [(pa.timestamp("ns", "Europe/Bern"), "time zone that is not installed"), (pa.month_day_nano_interval(), "convert to text")],
)
def test_times_that_have_no_day_are_an_error(arrow_type, message):
    column = pa.array([1, 1] if pa.types.is_timestamp(arrow_type) else [pa.MonthDayNano([1, 2, 3])] * 2, arrow_type)
    with pytest.raises(RequestError, match=message):
        kh.anonymize(pa.table({"q": column}), quasi="q", k=2)
