"""Columns and their roles."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kohort as kh
from kohort.errors import RequestError
from kohort.job.job import Job
from kohort.schema import columns as schema
from kohort.schema.columns import Column, resolve
from kohort.tables import tables

RARE = "Xanthippe-4711"
ROWS = 60
TABLE = pa.table(
    {
        "name": [f"{RARE}{n}" for n in range(ROWS)],
        "age": [n % 5 for n in range(ROWS)],
        "ward": [f"w{n % 3}" for n in range(ROWS)],
        "disease": ["flu", "hiv"] * (ROWS // 2),
    }
)
ROLES = {"identifier": "name", "quasi": "age", "other": "ward", "sensitive": "disease"}


def problems(table: pa.Table, **given) -> tuple[str, ...]:
    """The mistakes that binding this job to this table finds."""
    job = Job.build(**given)
    with pytest.raises(RequestError) as caught:
        resolve(job.columns, table, folder=job.hierarchies, missing=job.missing)
    return caught.value.problems


def test_columns_without_a_role_are_refused_by_name():
    (told,) = problems(TABLE, quasi="age")
    assert told.startswith("3 column(s) have no role: 'name', 'ward', 'disease'.")
    many = TABLE.append_column("x", TABLE.column("age"))
    for number in range(20):
        many = many.append_column(f"c{number}", TABLE.column("age"))
    (told,) = problems(many, **ROLES)
    assert "21 column(s)" in told
    assert told.count("'") < 20  # a long list is cut short


def test_a_column_that_is_not_there_points_to_the_nearest():
    told = problems(TABLE, **{**ROLES, "quasi": ["Age", "agee"], "drop": ["age", "nothing like it"]})
    assert told[0] == "There is no column 'Age' in the table. Did you mean 'age'?"
    assert "Did you mean 'age'" in told[1]
    assert "name" not in told[2]


def test_a_column_in_two_roles():
    with pytest.raises(RequestError, match="'age' has two roles, quasi and sensitive"):
        Job.build(quasi="age", sensitive=["age", "ward"])


def test_all_mistakes_of_binding_at_once(tmp_path):
    told = problems(TABLE, quasi=["age", "sx"], hierarchy={"age": str(tmp_path / "none.csv")}, hierarchies=str(tmp_path / "no"))
    assert len(told) == 4


# --- columns that could name a person

PERSONAL = {
    "key": [f"k{n}" for n in range(ROWS)],
    "key with gaps": [f"k{n}" if n % 20 else None for n in range(ROWS)],
    "number": list(range(ROWS)),
    "decimal": [n / 7 for n in range(ROWS)],
    "prose": [f"the patient came in with {n % 3} broken bones" for n in range(ROWS)],
    "prose and gaps": [None if n % 2 else f"came in with {n % 3} broken bones" for n in range(ROWS)],
}
HARMLESS = {
    "few": [n % 7 for n in range(ROWS)],
    "gone": [None] * ROWS,
    "words": [["heart failure", "flu"][n % 2] for n in range(ROWS)],
    "truth": [True, False] * (ROWS // 2),
    "lists": [[n % 3] for n in range(ROWS)],
    "structs": [{"a": n % 3} for n in range(ROWS)],
}


@pytest.mark.parametrize("kind", ["plain", "dictionary", "large", "chunks"])
@pytest.mark.parametrize("name", PERSONAL)
def test_a_personal_other_column_needs_leave(name, kind):
    column = pa.chunked_array([PERSONAL[name]])
    if kind == "dictionary":
        column = column.dictionary_encode()
    if kind == "large" and pa.types.is_string(column.type):
        column = column.cast(pa.large_string())
    if kind == "chunks":
        column = pa.chunked_array(
            [column.slice(0, 30).combine_chunks().dictionary_encode(), column.slice(30).combine_chunks().dictionary_encode()]
        )
    table = pa.table({"age": TABLE.column("age"), "x": column})
    (told,) = problems(table, quasi="age", other="x")
    assert told.startswith("Column 'x' holds")
    assert "--allow x" in told
    assert not any(str(cell) in told for cell in ("k1", "broken"))
    assert kh.anonymize(table, quasi="age", other="x", allow="x").table.column_names == ["age", "x"]


@pytest.mark.parametrize("name", HARMLESS)
def test_a_harmless_other_column_needs_no_leave(name):
    table = pa.table({"age": TABLE.column("age"), "x": pa.array(HARMLESS[name])})
    assert kh.anonymize(table, quasi="age", other="x").table.column_names == ["age", "x"]


def test_small_tables_are_let_pass():
    table = TABLE.slice(0, schema.SMALL_TABLE - 1)
    assert kh.anonymize(table, quasi="age", other=["name", "ward", "disease"], k=2).evidence.passed


# --- what is published


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
def test_identifiers_and_dropped_columns_are_never_in_the_release(tmp_path, suffix):
    target = tmp_path / f"out.{suffix}"
    roles: dict[str, Any] = {**ROLES, "drop": "secret"}
    release = kh.anonymize(TABLE.append_column("secret", TABLE.column("name")), **roles, output=target)
    assert release.table.column_names == ["age", "ward", "disease"]
    told, _form = tables.read(target)
    assert told.column_names == ["age", "ward", "disease"]
    assert RARE not in str(told.to_pydict())
    assert RARE.encode() not in target.read_bytes()
    if suffix == "parquet":
        assert RARE not in str(pq.ParquetFile(target).metadata.to_dict())


def test_a_pandas_index_gets_a_role_or_is_dropped():
    frame = pd.DataFrame({"q": [1, 1]}, index=[f"{RARE}1", f"{RARE}2"])
    assert list(kh.anonymize(frame, quasi="q", k=2).table.columns) == ["q"]
    assert list(kh.anonymize(frame, quasi="q", identifier="index", k=2).table.columns) == ["q"]
    named = frame.rename_axis("ward")
    shown = kh.anonymize(named, quasi=["q", "ward"], k=2).table
    assert shown.to_dict("list") == {"ward": ["*", "*"], "q": ["1", "1"]}
    assert [one.name for one in kh.inspect(named).profiles] == ["ward", "q"]


def test_means_are_columns_of_their_own():
    table = pa.table({"a": [1, 2], "b": [1, 3], "a.mean": ["x", "y"]})
    (told,) = problems(table, quasi=["a", "b"], other="a.mean", statistic={"a": "both"})
    assert "two columns named 'a.mean'" in told
    release = kh.anonymize(table, quasi=["a", "b"], drop="a.mean", statistic={"a": "both", "b": "mean"}, k=2)
    assert release.table.to_pylist() == [{"a": "[1 - 2]", "a.mean": "1.5", "b.mean": "2"}] * 2


def test_columns_stay_in_the_tables_order():
    job = Job.build(sensitive="disease", quasi=["ward", "age"], identifier="name")
    bound = resolve(job.columns, TABLE)
    assert bound.quasi == ["ward", "age"]  # as asked
    assert [name for name, _source, _statistic in bound.published()] == ["age", "ward", "disease"]  # as in the table


# --- trees


def test_a_folder_of_trees_is_used_by_name(tmp_path):
    (tmp_path / "ward.csv").write_text("w0;low;*\nw1;low;*\nw2;high;*\n", encoding="utf-8")
    (tmp_path / "disease.csv").write_text("not a tree of anything in use", encoding="utf-8")
    job = Job.build(quasi=["age", "ward"], sensitive="disease", drop="name", hierarchies=str(tmp_path))
    bound = resolve(job.columns, TABLE, folder=job.hierarchies)
    assert list(bound.trees) == ["ward"]
    assert bound.trees["ward"].leaves == ("w0", "w1", "w2")


@pytest.mark.parametrize("name", ["../secret", "a/b", "x" * 300, "nul\0"])
def test_a_folder_of_trees_and_columns_with_odd_names(tmp_path, name):
    (tmp_path / "trees").mkdir()
    (tmp_path / "secret.csv").write_text("1;*\n", encoding="utf-8")
    bound = resolve({name: Column(role="quasi")}, pa.table({name: [1, 1]}), folder=str(tmp_path / "trees"))
    assert not bound.trees


def test_a_tree_and_a_number_type_contradict_each_other():
    (told,) = problems(TABLE.select(["age"]), quasi="age", hierarchy={"age": [["0", "*"]]}, type={"age": "integer"})
    assert "has a tree and is declared integer" in told


def test_columns_may_be_named_by_codes():
    """A header of numbers may be somebody's record, but not if every column that was asked for is there."""
    table = pa.table({"age": [1, 1, 2, 2], "10115": [1, 2, 3, 4], "10117": [5, 6, 7, 8]})
    assert kh.anonymize(table, quasi="age", sensitive=["10115", "10117"], k=2).evidence.passed
    with pytest.raises(RequestError, match="'10116'") as caught:
        kh.anonymize(table, quasi="age", sensitive=["10116", "10117"], k=2)
    assert "10115" not in str(caught.value)
