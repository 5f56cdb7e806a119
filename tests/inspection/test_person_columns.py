"""Tables in which a person has several rows: which column identifies people."""

from __future__ import annotations

import random

import pytest

import kohort as kh
from tests.inspection.inspected import all_shown, reasons, roles, visits


def test_column_that_identifies_people_becomes_the_unit():
    table = visits()
    inspection = kh.inspect(table)
    assert roles(inspection)["patient"] == "unit"
    assert (inspection.unit, inspection.repeating) == ("patient", ())
    evidence = "600 rows have 150 values, and rows with the same value agree in 'age' and 'sex'."
    assert evidence in reasons(inspection)["patient"]
    shown = all_shown(inspection) + inspection.to_toml()
    assert "k counts people: 150 people in 600 rows" in shown
    assert "counts rows" not in shown
    release = kh.anonymize(table, inspection.job, method="mondrian")
    assert release.evidence.passed
    assert "patient" not in release.table.column_names


def test_unit_is_recognised_whatever_the_column_name():
    table = visits().rename_columns(["who", *visits().column_names[1:]])
    assert kh.inspect(table).unit == "who"


def test_unit_is_recognised_although_some_rows_disagree():
    rng = random.Random(3)
    for name in ("patient", "key"):
        table = visits()
        wrong = [rng.choice("mf") if rng.random() < 0.1 else sex for sex in table["sex"].to_pylist()]
        older = [str(int(age) + rng.randrange(3)) for age in table["age"].to_pylist()]
        table = table.set_column(2, "sex", [wrong]).set_column(1, "age", [older]).rename_columns([name, *table.column_names[1:]])
        assert kh.inspect(table).unit == name


def test_only_the_patient_is_the_unit_and_not_the_stay_or_the_doctor():
    person = [n % 150 for n in range(600)]
    table = visits(
        stay_id=[f"S{n % 300:04d}" for n in range(600)],  # two rows per stay, all of one patient
        doctor=[f"D{n % 15:02d}" for n in range(600)],  # each patient always has the same doctor
        household_no=[f"H{n // 2:03d}" for n in person],
        phone=[f"+49 30 12{n:04d}" for n in person],
        row=[f"R{n:05d}" for n in range(600)],
    )
    inspection = kh.inspect(table)
    assert [name for name, role in roles(inspection).items() if role == "unit"] == ["patient"]
    assert all(roles(inspection)[name] != "other" for name in ("stay_id", "doctor", "household_no", "phone", "row"))
    assert kh.anonymize(table, inspection.job).evidence.passed
    assert kh.inspect(table.drop_columns("patient")).unit in ("stay_id", "phone")


@pytest.mark.parametrize("name", ["doctor", "teacher_id", "household_id", "key", "id"])
def test_column_whose_values_are_groups_of_people_is_not_the_unit(name):
    groups = [f"G{n // 20:03d}" for n in random.Random(5).sample(range(600), 600)]
    table = visits(rows=600, persons=600).drop_columns("patient").append_column(name, [groups])
    inspection = kh.inspect(table)
    assert inspection.unit is None
    assert inspection.risk.counted_in == "rows"
    if name in inspection.repeating:
        assert 'If each value is one person, give this column role = "unit"' in inspection.to_toml()


def test_number_that_is_unique_in_every_row_is_an_identifier():
    inspection = kh.inspect(visits(rows=400, persons=400))
    assert (roles(inspection)["patient"], inspection.unit, inspection.repeating) == ("identifier", None, ())


@pytest.mark.parametrize("missing", ["", None, "?"])
def test_column_with_missing_values_is_not_the_unit_and_the_reason_says_why(missing):
    table = visits()
    table = table.set_column(0, "patient", [[missing] * 3 + table["patient"].to_pylist()[3:]])
    inspection = kh.inspect(table)
    assert roles(inspection)["patient"] == "identifier"
    assert "empty in 3 rows" in reasons(inspection)["patient"]
    assert "give it the role unit" in reasons(inspection)["patient"]
    assert inspection.repeating == ("patient",)
    assert kh.anonymize(table, inspection.job).evidence.passed


def test_column_with_fewer_people_than_k_is_not_the_unit():
    table = visits(rows=200, persons=4)
    inspection = kh.inspect(table)
    assert inspection.unit is None
    assert "it has only 4 values" in reasons(inspection)["patient"]
    assert kh.anonymize(table, inspection.job).evidence.passed


def test_names_of_people_are_not_the_unit():
    table = kh.datasets.hospital(2000).table
    assert roles(kh.inspect(table.select(["name", "sex", "diagnosis"])))["name"] == "identifier"
