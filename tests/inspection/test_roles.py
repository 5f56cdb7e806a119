"""Suggested roles of columns."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kohort as kh
from tests.inspection.inspected import _pairs, roles


def test_free_text_names_codes_and_dates():
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


def test_a_column_that_says_the_same_is_dropped_and_the_text_kept():
    level = [n % 4 for n in range(40)]
    table = pa.table({"education_no": level, "education": [f"level {'abcd'[n]}" for n in level], "age": list(range(40))})
    said = {one.name: suggestion for one, suggestion in zip(*_pairs(kh.inspect(table)), strict=True)}
    assert (said["education_no"].role, said["education"].role) == ("drop", "quasi")
    assert "'education'" in said["education_no"].reason


# --- what is suggested is safe

ANY_COLUMN = st.sampled_from(["x", "age", "code", "note", "income", "city", "q7", "name", "flag"])


@settings(max_examples=40)
@given(st.data())
def test_near_unique_and_free_text_are_never_passed_on(data):
    rows = data.draw(st.integers(20, 60))
    key = data.draw(st.sampled_from(["{}", "k{}", "{}.5", "A-{:03d}", "word {}", "2019-01-01 00:{:02d}"]))
    columns = {
        data.draw(ANY_COLUMN) + "_key": [key.format(n) for n in range(rows)],
        data.draw(ANY_COLUMN) + "_text": [f"he said that {n % 5} and then went home" for n in range(rows)],
        data.draw(ANY_COLUMN) + "_few": [str(n % 3) for n in range(rows)],
    }
    inspection = kh.inspect(pa.table(columns))
    for one, said in zip(inspection.profiles, inspection.suggestions, strict=True):
        if one.name.endswith(("_key", "_text")):
            assert said.role != "other"


def test_without_a_recognised_column_everything_counts():
    table = pa.table({"a": [str(n % 3) for n in range(30)], "b": [str(n % 7) for n in range(30)]})
    assert set(roles(kh.inspect(table)).values()) == {"quasi"}


def test_types_that_cannot_be_compared_are_withheld():
    table = pa.table({"age": [1, 2, 3], "visits": [[1], [2], [3]], "scan": [b"1", b"2", b"3"]})
    assert roles(kh.inspect(table)) == {"age": "quasi", "visits": "drop", "scan": "drop"}


def test_dates_of_birth_are_seen_by_their_spread():
    table = pa.table({"d": [f"{1920 + n}-05-17" for n in range(80)], "e": [f"2019-05-{1 + n % 28:02d}" for n in range(80)]})
    born, event = kh.inspect(table).suggestions
    assert "dates of birth" in born.reason
    assert "dates of birth" not in event.reason


# --- what a first user tripped over


@pytest.mark.parametrize(
    "name", ["First Name", "Vorname", "Familienname", "UTILNAME", "UTILITYID", "pat", "Straße", "doctor", "Hausarzt", "kundennr"]
)
def test_what_is_called_like_a_name_or_number_is_never_passed_on(name):
    table = pa.table({name: [f"v{n % 12}" for n in range(600)], "age": [str(n % 50) for n in range(600)]})
    assert roles(kh.inspect(table))[name] == "identifier"


@pytest.mark.parametrize("name", ["credit card", "account no", "blood donor no", "insurance no", "prescription"])
def test_long_numbers_of_ones_own_are_identifiers_whatever_word_stands_in_the_name(name):
    table = pa.table({name: [f"4446{n * 104729 % 10**12:012d}" for n in range(300)], "age": [str(n % 50) for n in range(300)]})
    assert roles(kh.inspect(table))[name] == "identifier"


def test_texts_of_ones_own_are_not_published_for_a_word_in_the_name():
    table = pa.table({"test comments": [f"text {n}" for n in range(300)], "age": [str(n % 50) for n in range(300)]})
    assert roles(kh.inspect(table))["test comments"] == "drop"


def test_the_one_of_two_twins_that_is_kept_is_protected_as_both():
    place = [n % 6 for n in range(300)]
    table = pa.table(
        {"age": [str(n % 40) for n in range(300)], "plz": [f"1011{n}" for n in place], "zone": [f"z {n}" for n in place]}
    )
    suggested = roles(kh.inspect(table))
    assert sorted([suggested["plz"], suggested["zone"]]) == ["drop", "quasi"]


def test_what_one_row_alone_holds_is_not_the_same_for_everyone():
    alone = [None] * 199
    table = pa.table({"name": ["Angela M", *alone], "zip": ["10117", *alone], "flag": ["X", *alone], "age": ["31"] * 200})
    suggested = roles(kh.inspect(table))
    assert "other" not in (suggested["name"], suggested["zip"], suggested["flag"])


@pytest.mark.parametrize(
    "name", ["codice_fiscale", "Matrikelnummer", "Lehrer", "DNI", "médecin", "Kennzeichen", "courriel", "suspect", "thing"]
)
def test_many_codes_or_names_are_never_passed_on_whatever_the_language(name):
    for values in ([f"AB{n % 40:04d}" for n in range(200)], [f"Anna {'MKRS'[n % 4]}eier" for n in range(200)]):
        table = pa.table({name: values, "age": [str(n % 9) for n in range(200)], "sex": ["f"] * 200})
        assert roles(kh.inspect(table))[name] in ("identifier", "drop")
