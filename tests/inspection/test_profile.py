"""Profiles of columns: missing tokens and value types."""

from __future__ import annotations

import pyarrow as pa

import kohort as kh
from tests.inspection.inspected import _pairs


def test_missing_tokens_of_the_public_tables(public_data):
    assert kh.inspect(public_data / "adult/adult_with_missing.csv.gz").missing == ("?",)
    assert kh.inspect(public_data / "cmc/cmc.csv").missing == ()


def test_missing_tokens_are_suggested_unless_they_are_values():
    table = pa.table(
        {
            "age": ["31", "NA", "35", "31"] * 6,
            "country": ["NA", "DE", "FR", "US"] * 6,  # Namibia
            "job": ["nurse", "?", "NULL", "clerk"] * 6,
        }
    )
    inspection = kh.inspect(table)
    assert set(inspection.missing) == {"?", "NULL"}
    assert inspection.profiles[0].value_type == "text"  # NA is a country, so age is not a number
    assert set(kh.inspect(table.drop_columns("country")).missing) == {"?", "NULL", "NA"}
    assert kh.inspect(table.drop_columns("country")).profiles[0].value_type == "integer"


def test_guesses_of_how_to_read_are_said_in_the_table():
    table = pa.table({"born": ["01/02/1960", "03/04/1970"] * 20, "age": ["31"] * 39 + ["x1"], "pay": [" 1 ", " 2 "] * 20})
    said = {one.name: suggestion.reason for one, suggestion in zip(*_pairs(kh.inspect(table)), strict=True)}
    assert "day or month comes first is guessed" in said["born"]
    assert "39 of 40 rows are numbers, the first that is not is row 40" in said["age"]
    assert "blanks around" in said["pay"]


def test_numbers_too_small_to_be_told_apart():
    table = pa.table({"lat": [1e-320 * n for n in range(50)], "age": [1e-320 * n for n in range(50)]})
    assert kh.inspect(table).job
