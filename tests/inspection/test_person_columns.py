"""Several rows of one person: which column identifies persons."""

from __future__ import annotations

import random

import pytest

import kohort as kh
from kohort.inspection.roles import Suggestion
from tests.inspection.inspected import all_shown, roles, visits


def said_of(inspection: kh.Inspection, name: str) -> Suggestion:
    return next(said for one, said in zip(inspection.profiles, inspection.suggestions, strict=True) if one.name == name)


def test_the_column_that_tells_persons_apart_becomes_the_unit_and_the_job_counts_them():
    table = visits()
    inspection = kh.inspect(table)
    assert roles(inspection)["patient"] == "unit"
    assert (inspection.unit, inspection.repeating) == ("patient", ())
    assert "600 rows have 150 values, those of one value alike in 'age' and 'sex'" in said_of(inspection, "patient").reason
    shown = all_shown(inspection) + inspection.to_toml()
    assert "k counts persons: 150 in 600 rows" in shown
    assert "counts rows" not in shown
    release = kh.anonymize(table, inspection.job, method="mondrian")
    assert release.evidence.passed
    assert "patient" not in release.table.column_names


def test_a_person_is_seen_by_what_stays_whatever_the_column_is_called():
    table = visits().rename_columns(["who", *visits().column_names[1:]])
    assert kh.inspect(table).unit == "who"


def test_a_person_is_seen_although_records_disagree():
    chance = random.Random(3)
    for name in ("patient", "key"):
        table = visits()
        wrong = [chance.choice("mf") if chance.random() < 0.1 else sex for sex in table["sex"].to_pylist()]
        older = [str(int(age) + chance.randrange(3)) for age in table["age"].to_pylist()]
        table = table.set_column(2, "sex", [wrong]).set_column(1, "age", [older]).rename_columns([name, *table.column_names[1:]])
        assert kh.inspect(table).unit == name


def test_one_column_is_the_unit_and_it_is_the_person_not_the_stay_or_the_doctor():
    whose = [n % 150 for n in range(600)]
    table = visits(
        stay_id=[f"S{n % 300:04d}" for n in range(600)],  # of a patient: two rows each
        doctor=[f"D{n % 15:02d}" for n in range(600)],  # each has some of the patients, always the same
        household_no=[f"H{n // 2:03d}" for n in whose],
        phone=[f"+49 30 12{n:04d}" for n in whose],
        row=[f"R{n:05d}" for n in range(600)],
    )
    inspection = kh.inspect(table)
    assert [name for name, role in roles(inspection).items() if role == "unit"] == ["patient"]
    assert all(roles(inspection)[name] != "other" for name in ("stay_id", "doctor", "household_no", "phone", "row"))
    assert kh.anonymize(table, inspection.job).evidence.passed
    assert kh.inspect(table.drop_columns("patient")).unit in ("stay_id", "phone")


@pytest.mark.parametrize("name", ["doctor", "teacher_id", "household_id", "key", "id"])
def test_what_has_several_persons_is_no_unit(name):
    groups = [f"G{n // 20:03d}" for n in random.Random(5).sample(range(600), 600)]
    table = visits(rows=600, persons=600).drop_columns("patient").append_column(name, [groups])
    inspection = kh.inspect(table)
    assert inspection.unit is None
    assert inspection.risk.counted_in == "rows"
    if name in inspection.repeating:
        assert 'if it numbers persons, give it role = "unit"' in inspection.to_toml()


def test_a_number_that_no_row_shares_stays_an_identifier():
    inspection = kh.inspect(visits(rows=400, persons=400))
    assert (roles(inspection)["patient"], inspection.unit, inspection.repeating) == ("identifier", None, ())


@pytest.mark.parametrize("nothing", ["", None, "?"])
def test_a_person_missing_somewhere_is_no_unit_and_it_is_said_why(nothing):
    table = visits()
    table = table.set_column(0, "patient", [[nothing] * 3 + table["patient"].to_pylist()[3:]])
    inspection = kh.inspect(table)
    said = said_of(inspection, "patient")
    assert said.role == "identifier"
    assert "empty in 3 rows" in said.reason
    assert "make it unit" in said.reason
    assert inspection.repeating == ("patient",)
    assert kh.anonymize(table, inspection.job).evidence.passed


def test_persons_too_few_for_any_k_are_no_unit():
    table = visits(rows=200, persons=4)
    inspection = kh.inspect(table)
    assert inspection.unit is None
    assert "it has 4 values" in said_of(inspection, "patient").reason
    assert kh.anonymize(table, inspection.job).evidence.passed


def test_the_names_of_namesakes_are_no_unit():
    table = kh.datasets.hospital(2000).table
    assert roles(kh.inspect(table.select(["name", "sex", "diagnosis"])))["name"] == "identifier"
