"""Suggested roles of columns."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kohort as kh
from tests.inspection.inspected import reasons, roles


def test_roles_of_free_text_names_codes_and_dates():
    rows = 60
    table = pa.table(
        {
            "remarks": [f"the patient came back on day {n % 9} with a cough" for n in range(rows)],
            "who": [
                f"{first} {last}" for first in ("Ada", "Bela", "Cato") for last in (f"{c}ohn" for c in "ABCDEFGHIJKLMNOPQRST")
            ],
            "finding": [f"{'EFGJ'[n % 4]}{10 + n % 7}.{n % 10}" for n in range(rows)],
            "seen": [f"2019-0{1 + n % 9}-1{n % 10}" for n in range(rows)],
            "where": [f"0{1000 + n % 8}" for n in range(rows)],
            "same": ["x"] * rows,
            "empty": pa.nulls(rows, pa.string()),
            "age": [str(n % 6) for n in range(rows)],
        }
    )
    assert roles(kh.inspect(table)) == {
        "remarks": "drop", "who": "identifier", "finding": "sensitive", "seen": "quasi", "where": "quasi", "same": "other",
        "empty": "drop", "age": "quasi",
    }  # fmt: skip


def test_of_two_columns_with_the_same_information_the_text_is_kept():
    level = [n % 4 for n in range(40)]
    table = pa.table({"education_no": level, "education": [f"level {'abcd'[n]}" for n in level], "age": list(range(40))})
    inspection = kh.inspect(table)
    assert (roles(inspection)["education_no"], roles(inspection)["education"]) == ("drop", "quasi")
    assert "'education'" in reasons(inspection)["education_no"]


def test_reasons_are_sentences_in_plain_words():
    rows = range(40)
    table = pa.table({"age": [str(n % 9) for n in rows], "flag": [str(n % 2) for n in rows], "diagnosis": ["flu", "gout"] * 20})
    assert reasons(kh.inspect(table)) == {
        "age": "Column name suggests an age. Other people may know it: quasi-identifier.",
        "flag": "Few values, each common. Alone it identifies nobody; combined with other columns it may. "
        "The rarest value occurs in 20 rows. If other people may know this column, give it the role quasi.",
        "diagnosis": "Column name suggests health data. Nobody should learn this about a person.",
    }


# --- suggested roles are safe

ANY_COLUMN = st.sampled_from(["x", "age", "code", "note", "income", "city", "q7", "name", "flag"])


@settings(max_examples=40)
@given(st.data())
def test_nearly_unique_columns_and_free_text_are_never_published_unchanged(data):
    rows = data.draw(st.integers(20, 60))
    key = data.draw(st.sampled_from(["{}", "k{}", "{}.5", "A-{:03d}", "word {}", "2019-01-01 00:{:02d}"]))
    columns = {
        data.draw(ANY_COLUMN) + "_key": [key.format(n) for n in range(rows)],
        data.draw(ANY_COLUMN) + "_text": [f"he said that {n % 5} and then went home" for n in range(rows)],
        data.draw(ANY_COLUMN) + "_few": [str(n % 3) for n in range(rows)],
    }
    inspection = kh.inspect(pa.table(columns))
    for name, role in roles(inspection).items():
        if name.endswith(("_key", "_text")):
            assert role != "other"


def test_if_no_column_is_recognised_all_are_quasi_identifiers():
    table = pa.table({"a": [str(n % 3) for n in range(30)], "b": [str(n % 7) for n in range(30)]})
    assert set(roles(kh.inspect(table)).values()) == {"quasi"}


def test_columns_of_types_that_cannot_be_compared_are_dropped():
    table = pa.table({"age": [1, 2, 3], "visits": [[1], [2], [3]], "scan": [b"1", b"2", b"3"]})
    assert roles(kh.inspect(table)) == {"age": "quasi", "visits": "drop", "scan": "drop"}


def test_dates_over_many_years_may_be_dates_of_birth():
    table = pa.table({"d": [f"{1920 + n}-05-17" for n in range(80)], "e": [f"2019-05-{1 + n % 28:02d}" for n in range(80)]})
    born, event = kh.inspect(table).suggestions
    assert "dates of birth" in born.reason
    assert "dates of birth" not in event.reason


# --- mistakes that first users found


@pytest.mark.parametrize(
    "name", ["First Name", "Vorname", "Familienname", "UTILNAME", "UTILITYID", "pat", "Straße", "doctor", "Hausarzt", "kundennr"]
)
def test_column_named_like_a_name_or_number_is_an_identifier(name):
    table = pa.table({name: [f"v{n % 12}" for n in range(600)], "age": [str(n % 50) for n in range(600)]})
    assert roles(kh.inspect(table))[name] == "identifier"


@pytest.mark.parametrize("name", ["credit card", "account no", "blood donor no", "insurance no", "prescription"])
def test_unique_long_numbers_are_identifiers_whatever_the_column_name(name):
    table = pa.table({name: [f"4446{n * 104729 % 10**12:012d}" for n in range(300)], "age": [str(n % 50) for n in range(300)]})
    assert roles(kh.inspect(table))[name] == "identifier"


def test_unique_texts_are_dropped_whatever_the_column_name():
    table = pa.table({"test comments": [f"text {n}" for n in range(300)], "age": [str(n % 50) for n in range(300)]})
    assert roles(kh.inspect(table))["test comments"] == "drop"


def test_of_two_columns_with_the_same_information_the_kept_one_has_the_stricter_role():
    place = [n % 6 for n in range(300)]
    table = pa.table(
        {"age": [str(n % 40) for n in range(300)], "plz": [f"1011{n}" for n in place], "zone": [f"z {n}" for n in place]}
    )
    suggested = roles(kh.inspect(table))
    assert sorted([suggested["plz"], suggested["zone"]]) == ["drop", "quasi"]


def test_column_with_a_value_in_one_row_only_is_not_published_unchanged():
    empty = [None] * 199
    table = pa.table({"name": ["Angela M", *empty], "zip": ["10117", *empty], "flag": ["X", *empty], "age": ["31"] * 200})
    suggested = roles(kh.inspect(table))
    assert "other" not in (suggested["name"], suggested["zip"], suggested["flag"])


@pytest.mark.parametrize(
    "name", ["codice_fiscale", "Matrikelnummer", "Lehrer", "DNI", "médecin", "Kennzeichen", "courriel", "suspect", "thing"]
)
def test_many_codes_or_names_are_never_published_in_any_language(name):
    for values in ([f"AB{n % 40:04d}" for n in range(200)], [f"Anna {'MKRS'[n % 4]}eier" for n in range(200)]):
        table = pa.table({name: values, "age": [str(n % 9) for n in range(200)], "sex": ["f"] * 200})
        assert roles(kh.inspect(table))[name] in ("identifier", "drop")
