"""`kohort inspect`: the suggested jobs are safe and run unchanged, and no cell is shown."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kohort as kh
from kohort.errors import KohortError, RequestError
from kohort.schema.tree_rules import Prefix
from tests.inspection.inspected import all_shown, roles

RARE = "Xanthippe-4711"


def kohort(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kohort", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


# --- public tables: inspect, anonymize with the unchanged job, audit

PUBLIC = {  # roles named in the README of each table; other columns may have any role
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
def test_suggested_job_of_a_public_table_runs_unchanged(public_data, tmp_path, name):
    source, job, release = public_data / name, tmp_path / "job.toml", tmp_path / "release.csv"
    found = kohort("inspect", source, "-o", job, "--trees", tmp_path / "trees", "--json")
    assert found.returncode == 0, found.stderr
    facts = json.loads(found.stdout)
    suggested = {column["name"]: column["role"] for column in facts["columns"]}
    expected = {column: role for role, columns in PUBLIC[name].items() for column in columns.split()}
    assert {column: suggested[column] for column in expected} == expected
    assert all(column["reason"] for column in facts["columns"])
    method = "auto" if name.startswith("cmc/") else "mondrian"  # mondrian is fast on large tables
    assert kohort("anonymize", source, "-o", release, "--job", job, "--method", method).returncode == 0
    assert kohort("audit", release, "--job", job).returncode == 0


def test_roles_and_types_of_a_hospital_table():
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
    types = {one.name: one.value_type for one in inspection.profiles}
    assert (types["birth_date"], types["age"], types["zip"], types["cost"]) == ("date", "integer", "text", "decimal")
    assert inspection.suggestions[4].rule == Prefix(lengths=(4, 3, 2, 1))


# --- the printed report


def test_report_starts_with_unique_rows_and_ends_with_the_columns():
    lines = kh.inspect(kh.datasets.hospital(2000).table).lines()
    assert lines[0].startswith("2,000 of 2,000 rows are unique: no other row has their quasi-identifiers.")
    assert lines[1].startswith("Anyone who knows")
    assert not any(line.startswith("Next:") for line in lines)  # the command line adds it at the end
    header = next(
        number for number, line in enumerate(lines) if line.split()[:5] == ["column", "type", "distinct", "once", "missing"]
    )
    assert [line.split()[0] for line in lines[header + 1 :]] == [
        "name", "birth_date", "age", "sex", "zip", "occupation", "diagnosis", "cost",
    ]  # fmt: skip


def test_report_of_a_table_without_unique_rows_gives_the_smallest_group():
    table = pa.table({"age": ["31"] * 20 + ["32"] * 7, "sex": ["f"] * 27})
    assert kh.inspect(table).lines()[0] == (
        "0 of 27 rows are unique. In the smallest group, 7 rows have the same quasi-identifiers (k = 7)."
    )


def test_report_without_quasi_identifiers_says_what_to_do():
    table = pa.table({"name": [f"Ann {letter}ohn" for letter in "ABCDEFGHIJ"], "e": pa.nulls(10, pa.string())})
    inspection = kh.inspect(table)
    assert inspection.lines()[0].endswith('Give at least one column role = "quasi".')
    assert "no quasi-identifier recognised" in repr(inspection)


# --- any table


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**9))
def test_every_suggested_job_runs_and_shows_no_cell(seed):
    rng = random.Random(seed)
    rows = rng.randrange(5, 80)
    makers = {
        "ages": lambda: str(rng.randrange(90)),
        "when": lambda: f"{rng.randrange(1, 29):02d}/{rng.randrange(1, 13):02d}/{rng.randrange(1950, 2020)}",
        "pay": lambda: f"{rng.randrange(1, 9)},{rng.randrange(100, 999)}",
        "band": lambda: rng.choice(["0-9", "10-19", "20-29", "30+"]),
        "zip": lambda: f"{rng.randrange(99999):05d}",
        "icd code": lambda: f"{rng.choice('ABCDE')}{rng.randrange(10, 99)}.{rng.randrange(9)}",
        'odd, "name"\n💉': lambda: rng.choice(["a", "b", "?", None]),
        "select": lambda: rng.choice([True, False]),
        "income": lambda: rng.random() * 1e5,
    }
    chosen = rng.sample(sorted(makers), rng.randrange(1, len(makers)))
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


@pytest.mark.parametrize("rows", [1, 2])
def test_tables_of_one_and_two_rows(rows):
    table = pa.table(
        {"age": ["31", "32"][:rows], "zip": ["01234", "01235"][:rows]},
        schema=pa.schema([("age", pa.string()), ("zip", pa.string())]),
    )
    inspection = kh.inspect(table)
    assert inspection.rows == rows
    assert inspection.lines()


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
def test_header_that_looks_like_a_row_is_not_shown(tmp_path, line):
    (tmp_path / "t.csv").write_text(f"{line}\n{line}\n", encoding="utf-8")
    found = kohort("inspect", tmp_path / "t.csv")
    assert found.returncode == 2
    assert "looks like a row" in found.stderr
    assert not any(cell in found.stderr + found.stdout for cell in line.split(",") if len(cell) > 1)


def test_years_and_small_numbers_may_be_column_names(tmp_path):
    (tmp_path / "t.csv").write_text("id,2019,2020,0,1\n" + "7,1,2,3,4\n" * 9, encoding="utf-8")
    assert kh.inspect(tmp_path / "t.csv").rows == 9


@pytest.mark.parametrize("table", [pa.table({}), pa.table({"age": pa.array([], pa.int64())})])
def test_empty_table_is_an_error(table):
    with pytest.raises(KohortError, match="The table has no"):
        kh.inspect(table)


def test_header_that_also_occurs_as_values_is_an_error(tmp_path):
    (tmp_path / "t.csv").write_text("Maier,weiblich,Berlin,Grippe\n" * 3, encoding="utf-8")
    with pytest.raises(RequestError, match="looks like a row") as caught:
        kh.inspect(tmp_path / "t.csv")
    assert "Berlin" not in str(caught.value)
