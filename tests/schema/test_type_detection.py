"""Types of values: decimal commas, truth values and times."""

from __future__ import annotations

import pyarrow as pa
import pytest

import kohort as kh
from kohort.errors import RequestError
from tests.schema.read_columns import read

# --- decimals with a comma, truth values


def test_decimals_with_a_comma_stay_with_a_comma():
    texts = ["1,5", "2", "2,25", "10,75"] * 3
    release = kh.anonymize(
        pa.table({"dose": texts, "s": ["x"] * 12}), quasi="dose", sensitive="s", k=6, statistic={"dose": "both"}
    )
    assert set(release.table["dose"].to_pylist()) == {"[1,5 - 2]", "[2,25 - 10,75]"}
    assert set(release.table["dose.mean"].to_pylist()) == {"1,75", "6,5"}


def test_thousands_or_decimals_is_asked():
    table = pa.table({"pay": ["1,234", "2,500", "900"] * 4, "s": ["x"] * 12})
    with pytest.raises(RequestError, match="comma may mark decimals or thousands"):
        kh.anonymize(table, quasi="pay", sensitive="s", k=4)
    assert kh.anonymize(table, quasi="pay", sensitive="s", k=4, type={"pay": "decimal"}).evidence.passed
    assert kh.anonymize(table, quasi="pay", sensitive="s", k=4, type={"pay": "text"}).evidence.passed


def test_truth_values():
    assert read(pa.array(["yes", "no"])).value_type == "boolean"
    assert read(pa.array([True, False])).value_type == "boolean"
    table = pa.table({"smoker": ["0", "1", "1", "0"], "s": ["x"] * 4})
    release = kh.anonymize(table, quasi="smoker", sensitive="s", k=4, type={"smoker": "boolean"})
    assert set(release.table["smoker"].to_pylist()) == {"*"}  # not the range [0 - 1]
    with pytest.raises(RequestError, match="not truth values"):
        kh.anonymize(
            pa.table({"smoker": ["0", "1", "2"], "s": ["x"] * 3}), quasi="smoker", sensitive="s", k=3, type={"smoker": "boolean"}
        )


@pytest.mark.parametrize(
    ("kind", "told"),
    [(pa.timestamp("ns", "Europe/Bern"), "time zone that this machine does not know"), (pa.month_day_nano_interval(), "as text")],
)
def test_types_of_time_that_tell_no_day(kind, told):
    column = pa.array([1, 1] if pa.types.is_timestamp(kind) else [pa.MonthDayNano([1, 2, 3])] * 2, kind)
    with pytest.raises(RequestError, match=told):
        kh.anonymize(pa.table({"q": column}), quasi="q", k=2)
