"""Inspect: what it finds is right, what it suggests is safe and runs unchanged, and no cell is in anything it shows."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections import Counter
from itertools import combinations
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kohort as kh
from kohort.errors import KohortError, RequestError
from kohort.inspection import Suggestion
from kohort.inspection.name_hints import hint, words_of
from kohort.schema.tree_rules import Prefix

RARE = "Xanthippe-4711"


def kohort(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kohort", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def roles(inspection: kh.Inspection) -> dict[str, str]:
    return {one.name: said.role for one, said in zip(inspection.profiles, inspection.suggestions, strict=True)}


def all_shown(inspection: kh.Inspection) -> str:
    """Everything that a user may see of an inspection on a screen or in a log."""
    return "\n".join([repr(inspection), *inspection.lines(), json.dumps(inspection.to_dict(), ensure_ascii=False)])


# --- the public tables: inspect, anonymize with the job unchanged, audit

PUBLIC = {  # roles that the README of each table gives; what it leaves open is left open here
    "adult/adult_with_missing.csv.gz": {
        "quasi": "age workclass education marital-status race sex native-country occupation",
        "sensitive": "class",
        "drop": "fnlwgt education-num",
    },
    "german_credit/german_credit.csv": {
        "quasi": "age personal_status_sex employment housing job foreign_worker residence_since",
        "sensitive": "risk amount",
    },
    "cmc/cmc.csv": {"quasi": "age Weducation children", "sensitive": "method", "identifier": "ID"},
    "italia/italia.csv": {"quasi": "age city_birth zip_code", "sensitive": "disease", "identifier": "ID"},
    "diabetes130/diabetes130_first_visit.csv": {
        "quasi": "race gender age admission_type_id discharge_disposition_id time_in_hospital payer_code medical_specialty",
        "sensitive": "diag_1 readmitted",
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLIC)
def test_public_tables_run_with_the_written_job(public_data, tmp_path, name):
    source, job, release = public_data / name, tmp_path / "job.toml", tmp_path / "release.csv"
    found = kohort("inspect", source, "-o", job, "--trees", tmp_path / "trees", "--json")
    assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout)
    suggested = {column["name"]: column["role"] for column in told["columns"]}
    expected = {column: role for role, columns in PUBLIC[name].items() for column in columns.split()}
    assert {column: suggested[column] for column in expected} == expected
    assert all(column["reason"] for column in told["columns"])
    method = "auto" if name.startswith("cmc/") else "mondrian"  # quick
    assert kohort("anonymize", source, "-o", release, "--job", job, "--method", method).returncode == 0
    assert kohort("audit", release, "--job", job).returncode == 0


def test_missing_tokens_of_the_public_tables(public_data):
    assert kh.inspect(public_data / "adult/adult_with_missing.csv.gz").missing == ("?",)
    assert kh.inspect(public_data / "cmc/cmc.csv").missing == ()


# --- what is found


def test_risk_is_that_of_pandas():
    table = kh.datasets.hospital(3000).table
    inspection = kh.inspect(table)
    frame, risk = table.to_pandas(), inspection.risk
    sizes = frame.groupby(list(risk.quasi), dropna=False).size()
    assert (risk.k, risk.classes, risk.unique) == (sizes.min(), len(sizes), (sizes == 1).sum())
    for size, worst in zip((2, 3), risk.singling_out, strict=True):
        alone = {
            columns: int((frame.groupby(list(columns), dropna=False).size() == 1).sum())
            for columns in combinations(risk.quasi, size)
        }
        assert worst.unique == max(alone.values())
        assert alone[tuple(name for name in risk.quasi if name in worst.columns)] == worst.unique


def test_a_hospital_is_understood():
    inspection = kh.inspect(kh.datasets.hospital(2000).table)
    assert roles(inspection) == {
        "name": "identifier",
        "birth_date": "quasi",
        "age": "quasi",
        "sex": "quasi",
        "zip": "quasi",
        "occupation": "quasi",
        "diagnosis": "sensitive",
        "cost": "sensitive",
    }
    kinds = {one.name: one.value_type for one in inspection.profiles}
    assert (kinds["birth_date"], kinds["age"], kinds["zip"], kinds["cost"]) == ("date", "integer", "text", "decimal")
    assert inspection.suggestions[4].rule == Prefix(lengths=(4, 3, 2, 1))


CONTENTS = {
    "e-mail addresses": [f"user{n}@mail.example" for n in range(40)],
    "phone numbers": [f"+49 30 12{n:04d}" for n in range(40)],
    "social security numbers": [f"123-45-{n:04d}" for n in range(40)],
    "random keys": [f"{n:08x}-0000-4000-8000-0123456789ab" for n in range(40)],
    "network addresses": [f"10.0.{n}.1" for n in range(40)],
    "bank account numbers": [f"DE89 3704 0044 0532 01{n:02d} 00" for n in range(40)],
}


@pytest.mark.parametrize("what", CONTENTS)
def test_what_reaches_a_person_is_an_identifier_whatever_its_name(what):
    table = pa.table({"x": CONTENTS[what], "age": [str(20 + n % 7) for n in range(40)]})
    inspection = kh.inspect(table)
    assert roles(inspection)["x"] == "identifier"
    assert inspection.profiles[0].contents.described() == what


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


@pytest.mark.parametrize(
    ("name", "role", "meaning"),
    [
        ("family_income", "sensitive", "money"),
        ("dateOfBirth", "quasi", "birth"),
        ("Geburtsdatum", "quasi", "birth"),
        ("PLZ", "quasi", "place"),
        ("payer_code", "quasi", "care"),
        ("diagnosis_date", "quasi", "time"),
        ("HIV status", "sensitive", "health"),
        ("nationalité", "quasi", "origin"),
        ("Last Name", "identifier", "a person's name"),
    ],
)
def test_what_names_say(name, role, meaning):
    assert hint(name) == (role, meaning)


def test_words_of_a_name():
    assert words_of("birthDate_1") == ["birth", "date", "1"]
    assert words_of("ÄlterEé💉") == ["alter", "ee"]


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


def test_a_column_that_says_the_same_is_dropped_and_the_text_kept():
    level = [n % 4 for n in range(40)]
    table = pa.table({"education_no": level, "education": [f"level {'abcd'[n]}" for n in level], "age": list(range(40))})
    said = {one.name: suggestion for one, suggestion in zip(*_pairs(kh.inspect(table)), strict=True)}
    assert (said["education_no"].role, said["education"].role) == ("drop", "quasi")
    assert "'education'" in said["education_no"].reason


def _pairs(inspection):
    return inspection.profiles, inspection.suggestions


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


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**9))
def test_every_suggested_job_runs_and_shows_no_cell(seed):
    chance = random.Random(seed)
    rows = chance.randrange(5, 80)
    makers = {
        "ages": lambda: str(chance.randrange(90)),
        "when": lambda: f"{chance.randrange(1, 29):02d}/{chance.randrange(1, 13):02d}/{chance.randrange(1950, 2020)}",
        "pay": lambda: f"{chance.randrange(1, 9)},{chance.randrange(100, 999)}",
        "band": lambda: chance.choice(["0-9", "10-19", "20-29", "30+"]),
        "zip": lambda: f"{chance.randrange(99999):05d}",
        "icd code": lambda: f"{chance.choice('ABCDE')}{chance.randrange(10, 99)}.{chance.randrange(9)}",
        'odd, "name"\n💉': lambda: chance.choice(["a", "b", "?", None]),
        "select": lambda: chance.choice([True, False]),
        "income": lambda: chance.random() * 1e5,
    }
    chosen = chance.sample(sorted(makers), chance.randrange(1, len(makers)))
    columns = {name: [makers[name]() for _ in range(rows)] for name in chosen}
    columns["remark"] = [f"{RARE} {n}" if n == 3 else "all is well" for n in range(rows)]
    table = pa.table(columns)
    inspection = kh.inspect(table)
    assert RARE not in all_shown(inspection)
    assert RARE not in inspection.to_toml()
    try:
        job = inspection.job
    except RequestError as error:
        assert "No quasi-identifier" in str(error)  # noqa: PT017
        return
    assert kh.anonymize(table, job).evidence.passed


def test_ambiguous_dates_and_commas_are_guessed_and_marked():
    table = pa.table({"born": ["01/02/1960", "03/04/1970"] * 10, "age": ["1,234", "2,345"] * 10})
    text = kh.inspect(table).to_toml()
    assert re.search(r'format = "DD/MM/YYYY"  # guess', text)
    assert re.search(r"guess: .*comma marks decimals is guessed", text)
    assert kh.anonymize(table, kh.Job.from_toml(text)).evidence.passed


def test_without_a_recognised_column_everything_counts():
    table = pa.table({"a": [str(n % 3) for n in range(30)], "b": [str(n % 7) for n in range(30)]})
    assert set(roles(kh.inspect(table)).values()) == {"quasi"}


@pytest.mark.parametrize("rows", [1, 2])
def test_tiny_tables(rows):
    table = pa.table(
        {"age": ["31", "32"][:rows], "zip": ["01234", "01235"][:rows]},
        schema=pa.schema([("age", pa.string()), ("zip", pa.string())]),
    )
    inspection = kh.inspect(table)
    assert inspection.rows == rows
    assert inspection.lines()


def test_types_that_cannot_be_compared_are_withheld():
    table = pa.table({"age": [1, 2, 3], "visits": [[1], [2], [3]], "scan": [b"1", b"2", b"3"]})
    assert roles(kh.inspect(table)) == {"age": "quasi", "visits": "drop", "scan": "drop"}


# --- several rows of one person


def visits(rows: int = 600, persons: int = 150, **columns: list[str]) -> pa.Table:
    """Visits of patients, each of whom keeps age, sex and zip, as a table of text."""
    chance = random.Random(7)
    whose = [n % persons for n in range(rows)]
    return pa.table(
        {
            "patient": [f"P{n * 7919 % 100000:05d}" for n in whose],
            "age": [str(20 + n * 37 % 60) for n in whose],
            "sex": ["mf"[n * 31 // 7 % 2] for n in whose],
            "zip": [f"{10000 + n * 53 % 40}" for n in whose],
            "seen": [f"2019-{chance.randrange(1, 13):02d}-{chance.randrange(1, 29):02d}" for _ in whose],
            "diagnosis": [chance.choice(["flu", "flu", "cold", "cough", "gout"]) for _ in whose],
            **columns,
        }
    )


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


def test_risk_in_persons_is_that_of_pandas():
    table = visits(persons=450)
    risk, frame = kh.inspect(table).risk, table.to_pandas()
    assert (risk.counted_in, risk.total) == ("persons", 450)

    def persons_of(columns):
        return frame.groupby(list(columns), dropna=False)["patient"]

    def alone(columns):
        return frame["patient"][persons_of(columns).transform("nunique") == 1].nunique()

    sizes = persons_of(risk.quasi).nunique()
    assert (risk.k, risk.classes, risk.unique) == (sizes.min(), len(sizes), alone(risk.quasi))
    assert [worst.unique for worst in risk.singling_out] == [alone(worst.columns) for worst in risk.singling_out]


def test_who_has_several_rows_alike_is_alone_nonetheless():
    table = visits(rows=600, persons=150).drop_columns("seen")
    assert kh.inspect(table.drop_columns("patient")).risk.unique == 0
    assert kh.inspect(table).risk.unique > 100


# --- what could be asked beside: commented lines, each of which runs


def offers(text: str) -> list[str]:
    return [line for line in text.splitlines() if re.match(r"# \w+ = ", line)]


def taken(text: str, *lines: str) -> str:
    """The job with these lines uncommented."""
    return "\n".join(line.removeprefix("# ") if line in lines else line for line in text.splitlines())


OFFERING = {
    "hospital": lambda: kh.datasets.hospital(600).table,
    "visits": visits,
    "decimals": lambda: pa.table(
        {
            "latitude": [f"{48 + n % 97 / 1000:.3f}" for n in range(400)],
            "age": [str(20 + n % 60) for n in range(400)],
            "income": [str(1000 + n * 997 % 5000) for n in range(400)],
            "religion": ["ab"[n % 3 == 0] for n in range(400)],
        }
    ),
}


@pytest.mark.parametrize("trees", [False, True])
@pytest.mark.parametrize("name", OFFERING)
def test_every_offer_runs_by_itself(tmp_path, name, trees):
    table = OFFERING[name]()
    kh.inspect(table).write(tmp_path / "job.toml", trees=tmp_path / "trees" if trees else None)
    text, job = (tmp_path / "job.toml").read_text(encoding="utf-8"), tmp_path / "asked.toml"
    grid = next(line for line in offers(text) if line.startswith("# ranges = "))
    for line in offers(text):
        extra = [grid] if line.startswith("# step = ") else []  # which it says that it serves
        job.write_text(taken(text, line, *extra), encoding="utf-8")
        assert kh.anonymize(table, job, method="mondrian").evidence.passed, line
    assert {line.split()[1] for line in offers(text)} >= {"ranges", "preset", "k", "step", "l", "hierarchy"}
    every = [line for line in offers(text) if not line.startswith(("# k = ", "# hierarchy = "))]
    job.write_text(taken(text, *every), encoding="utf-8")
    release = kh.anonymize(table, job, method="mondrian")
    assert (release.evidence.passed, release.evidence.k >= 11) == (True, True)


def test_numbers_are_offered_a_distance_that_knows_near_from_far():
    table = kh.datasets.hospital(600).table
    text = kh.inspect(table).to_toml()
    line = next(line for line in offers(text) if line.startswith("# t = "))
    assert 'add t_distance = "ordered"' in line
    ordered = taken(text, line).replace("[columns.cost]", '[columns.cost]\nt_distance = "ordered"')
    release = kh.anonymize(table, kh.Job.from_toml(ordered))
    assert release.evidence.passed
    assert release.evidence.classes > 10


@pytest.mark.parametrize(
    ("values", "offered"),
    [
        (["a"] * 300, None),
        (["a"] * 296 + ["b"] * 2 + ["c"] * 2, None),
        (["a", "b"] * 150, 2),
        (["a"] * 200 + ["b"] * 98 + ["c"] * 2, 2),
        (["a", "b", "c"] * 100, 3),
        ([f"v {n % 150}" for n in range(300)], 3),
        (["1", "2", "3", "4"] * 75, 3),
    ],
)
def test_so_many_different_values_are_offered_as_are_spread_well(values, offered):
    table = pa.table({"diagnosis": values, "age": [str(20 + n % 50) for n in range(300)]})
    lines = [line for line in offers(kh.inspect(table).to_toml()) if line.startswith("# l = ")]
    assert [int(line.split()[3]) for line in lines] == ([offered] if offered else [])


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([str(20 + n % 85) for n in range(300)], "5"),
        ([str(n % 9) for n in range(300)], "1"),
        ([str(1000 + n % 100 * 199) for n in range(300)], "1000"),
        ([f"{n % 100 / 50}" for n in range(300)], "0.1"),
        ([f"{n % 100 / 5000:.4f}" for n in range(300)], "0.001"),
        (["7"] * 300, None),
        ([1e200 * (n % 20) for n in range(300)], None),  # no grid that could be written
        ([-(2**62) + 2**59 * (n % 16) for n in range(300)], "500000000000000000"),
    ],
)
def test_steps_are_round_and_about_a_twentieth_of_the_range(values, step):
    table = pa.table({"height": values, "sex": ["f", "m"] * 150})
    inspection = kh.inspect(table)
    lines = [line for line in offers(inspection.to_toml()) if line.startswith("# step = ")]
    assert [line.split()[3] for line in lines] == ([step] if step else [])
    if step:
        text = inspection.to_toml().replace("[promise]", 'ranges = "grid"\n[promise]')
        assert kh.anonymize(table, kh.Job.from_toml(taken(text, *lines))).evidence.passed


def test_nothing_is_offered_that_the_table_cannot_keep():
    few = pa.table({"age": [str(20 + n) for n in range(9)], "sex": ["f", "m", "m"] * 3})
    assert not [line for line in offers(kh.inspect(few).to_toml()) if line.startswith("# preset")]
    vast = pa.table({"height": [1e200 * (n % 20) for n in range(300)], "age": ["31"] * 300})
    assert not [line for line in offers(kh.inspect(vast).to_toml()) if line.startswith(("# preset", "# ranges"))]
    assert kh.anonymize(vast, kh.inspect(vast).job).evidence.passed


# --- files


def test_the_written_job_names_its_trees_and_replaces_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sample = kh.datasets.hospital(400).table
    Path("sub").mkdir()
    pd.DataFrame(sample.to_pydict()).to_csv("patients.csv", index=False)
    inspection = kh.inspect("patients.csv")
    inspection.write("sub/job.toml", trees="sub/trees")
    assert {file.name for file in Path("sub/trees").iterdir()} == {"age.csv", "zip.csv", "birth_date.csv", "occupation.csv"}
    job = kh.Job.build("sub/job.toml")
    assert Path(str(job.columns["zip"].hierarchy)) == Path("sub/trees/zip.csv")
    assert kh.anonymize("patients.csv", job).evidence.passed
    before = Path("sub/job.toml").read_text(encoding="utf-8")
    for again in (lambda: inspection.write("sub/job.toml"), lambda: inspection.write("new.toml", trees="sub/trees")):
        with pytest.raises(RequestError, match="exists"):
            again()
    assert not Path("new.toml").exists()
    assert Path("sub/job.toml").read_text(encoding="utf-8") == before
    inspection.write("sub/job.toml", trees="sub/trees", force=True)


def test_column_names_that_are_no_file_names(tmp_path):
    names = ["zip/code", "zip:code", "../zip", "zip\ncode", "ZIP/CODE"]
    table = pa.table({name: [f"{n * 37 % 90000:05d}" for n in range(60)] for name in names})
    inspection = kh.inspect(table)
    inspection.write(tmp_path / "job.toml", trees=tmp_path / "trees")
    job = kh.Job.build(tmp_path / "job.toml")
    kept = [name for name, column in job.columns.items() if column.role == "quasi"]
    files = Counter(Path(str(job.columns[name].hierarchy)).resolve() for name in kept)
    assert set(files.values()) == {1}
    assert {file.parent for file in files} == {(tmp_path / "trees").resolve()}
    assert kh.anonymize(table, job).evidence.passed


def test_two_thousand_columns():
    table = pa.table({f"c{n}": [str((m * n) % 5) for m in range(30)] for n in range(2000)})
    assert len(kh.inspect(table).lines()) > 2000


@pytest.mark.parametrize(
    "arguments",
    [
        ["absent.csv"],
        ["table.csv", "-o", "job.json"],
        ["table.csv", "-o", "no/job.toml"],
        ["table.csv", "--encoding", "latin1000"],
    ],
)
def test_wrong_requests(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_text("age,zip\n31,01234\n", encoding="utf-8")
    found = kohort("inspect", *arguments)
    assert found.returncode == 2
    assert found.stderr.startswith("Error: ")
    assert [file.name for file in tmp_path.iterdir()] == ["table.csv"]


@pytest.mark.parametrize("line", ["31,female,01234,flu", "a@b.example,x,y,z", "Ada,1907-03-04,x,y"])
def test_a_header_that_is_a_record_is_not_shown(tmp_path, line):
    (tmp_path / "t.csv").write_text(f"{line}\n{line}\n", encoding="utf-8")
    found = kohort("inspect", tmp_path / "t.csv")
    assert found.returncode == 2
    assert "looks like a row" in found.stderr
    assert not any(cell in found.stderr + found.stdout for cell in line.split(",") if len(cell) > 1)


def test_years_and_counts_may_be_names(tmp_path):
    (tmp_path / "t.csv").write_text("id,2019,2020,0,1\n" + "7,1,2,3,4\n" * 9, encoding="utf-8")
    assert kh.inspect(tmp_path / "t.csv").rows == 9


def test_dates_of_birth_are_seen_by_their_spread():
    table = pa.table({"d": [f"{1920 + n}-05-17" for n in range(80)], "e": [f"2019-05-{1 + n % 28:02d}" for n in range(80)]})
    born, event = kh.inspect(table).suggestions
    assert "dates of birth" in born.reason
    assert "dates of birth" not in event.reason


@pytest.mark.parametrize("table", [pa.table({}), pa.table({"age": pa.array([], pa.int64())})])
def test_a_table_of_nothing(table):
    with pytest.raises(KohortError, match="The table has no"):
        kh.inspect(table)


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


def test_a_header_that_stands_among_its_values(tmp_path):
    (tmp_path / "t.csv").write_text("Maier,weiblich,Berlin,Grippe\n" * 3, encoding="utf-8")
    with pytest.raises(RequestError, match="looks like a row") as caught:
        kh.inspect(tmp_path / "t.csv")
    assert "Berlin" not in str(caught.value)


def test_guesses_of_how_to_read_are_said_in_the_table():
    table = pa.table({"born": ["01/02/1960", "03/04/1970"] * 20, "age": ["31"] * 39 + ["x1"], "pay": [" 1 ", " 2 "] * 20})
    said = {one.name: suggestion.reason for one, suggestion in zip(*_pairs(kh.inspect(table)), strict=True)}
    assert "day or month comes first is guessed" in said["born"]
    assert "39 of 40 rows are numbers, the first that is not is row 40" in said["age"]
    assert "blanks around" in said["pay"]


def test_exact_coordinates_are_put_in_bands():
    table = pa.table({"lat": [f"{48 + n / 977:.5f}" for n in range(300)], "age": [str(n % 9) for n in range(300)]})
    release = kh.anonymize(table, kh.inspect(table).job)
    assert not any(f"{48 + n / 977:.5f}" in text for n in range(300) for text in set(release.table["lat"].to_pylist()))


def test_a_role_can_be_changed_alone_in_the_file(tmp_path):
    table = kh.datasets.hospital(300).table
    kh.inspect(table).write(tmp_path / "job.toml")
    text = (tmp_path / "job.toml").read_text(encoding="utf-8")
    for name in ("birth_date", "zip", "age"):
        text = re.sub(rf'(\[columns.{name}\]\n.*\n)role = "quasi"', r'\1role = "drop"', text)
    (tmp_path / "job.toml").write_text(text, encoding="utf-8")
    assert not {"birth_date", "zip", "age"} & set(kh.anonymize(table, tmp_path / "job.toml").table.column_names)


def test_an_interrupted_write_takes_everything_back(tmp_path, monkeypatch):
    inspection = kh.inspect(kh.datasets.hospital(300).table)

    def interrupt(*_given):
        raise KeyboardInterrupt

    monkeypatch.setattr("kohort.inspection.job_draft.Path.write_bytes", interrupt)
    with pytest.raises(KeyboardInterrupt):
        inspection.write(tmp_path / "job.toml", trees=tmp_path / "trees")
    assert list(tmp_path.iterdir()) == []


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


@pytest.mark.parametrize("name", ["account_id", "credit_card", "account", "carta_credito", "loan_id"])
def test_accounts_and_cards_are_not_money(name):
    table = pa.table({name: [f"{123456 + n % 50}.0" for n in range(200)], "age": [str(n % 9) for n in range(200)]})
    assert roles(kh.inspect(table))[name] == "identifier"


@pytest.mark.parametrize(
    "name", ["codice_fiscale", "Matrikelnummer", "Lehrer", "DNI", "médecin", "Kennzeichen", "courriel", "suspect", "thing"]
)
def test_many_codes_or_names_are_never_passed_on_whatever_the_language(name):
    for values in ([f"AB{n % 40:04d}" for n in range(200)], [f"Anna {'MKRS'[n % 4]}eier" for n in range(200)]):
        table = pa.table({name: values, "age": [str(n % 9) for n in range(200)], "sex": ["f"] * 200})
        assert roles(kh.inspect(table))[name] in ("identifier", "drop")


@pytest.mark.parametrize(
    "name", ["genere", "civilité", "Landkreis", "città", "pays", "profesión", "état_civil", "fecha", "Anrede"]
)
def test_what_others_may_know_is_known_in_other_languages(name):
    table = pa.table({name: [f"v{n % 3}" for n in range(200)], "age": [str(n % 9) for n in range(200)]})
    assert roles(kh.inspect(table))[name] == "quasi"


def test_names_of_fields_do_not_reach_the_job():
    table = pa.table({"s": pa.array([{"a\nb = 1": 1}] * 6), "age": ["1"] * 6, "sex": ["f"] * 6})
    assert kh.inspect(table).job.columns["s"].role == "drop"


def test_numbers_too_small_to_be_told_apart():
    table = pa.table({"lat": [1e-320 * n for n in range(50)], "age": [1e-320 * n for n in range(50)]})
    assert kh.inspect(table).job
