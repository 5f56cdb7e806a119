"""Profiles of columns: texts for missing values, and types."""

from __future__ import annotations

import pyarrow as pa

import kohort as kh
from tests.inspection.inspected import reasons


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
    assert inspection.profiles[0].value_type == "text"  # NA is a country here, so in age it is a value too
    assert set(kh.inspect(table.drop_columns("country")).missing) == {"?", "NULL", "NA"}
    assert kh.inspect(table.drop_columns("country")).profiles[0].value_type == "integer"


def test_reasons_name_uncertain_types():
    table = pa.table({"born": ["01/02/1960", "03/04/1970"] * 20, "age": ["31"] * 39 + ["x1"], "pay": [" 1 ", " 2 "] * 20})
    found = reasons(kh.inspect(table))
    assert "The order of day and month is a guess (DD/MM/YYYY)." in found["born"]
    assert "39 of 40 rows are numbers; the first other value is at row 40 (not counting the header)." in found["age"]
    assert "blanks around" in found["pay"]


def test_job_of_extremely_small_numbers_is_valid():
    table = pa.table({"lat": [1e-320 * n for n in range(50)], "age": [1e-320 * n for n in range(50)]})
    assert kh.inspect(table).job
