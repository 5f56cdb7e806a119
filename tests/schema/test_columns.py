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
    """Return the mistakes found when this job is checked against this table."""
    job = Job.build(**given)
    with pytest.raises(RequestError) as caught:
        resolve(job.columns, table, folder=job.hierarchies, missing=job.missing)
    return caught.value.problems


def test_message_names_columns_without_a_role():
    (message,) = problems(TABLE, quasi="age")
    assert message.startswith("3 columns have no role: 'name', 'ward', 'disease'.")
    many = TABLE.append_column("x", TABLE.column("age"))
    for number in range(20):
        many = many.append_column(f"c{number}", TABLE.column("age"))
    (message,) = problems(many, **ROLES)
    assert "21 columns have no role" in message
    assert message.count("'") < 20  # a long list is shortened


def test_message_about_an_unknown_column_suggests_the_nearest_name():
    messages = problems(TABLE, **{**ROLES, "quasi": ["Age", "agee"], "drop": ["age", "nothing like it"]})
    assert messages[0] == "There is no column 'Age' in the table. Did you mean 'age'?"
    assert "Did you mean 'age'" in messages[1]
    assert messages[2] == "There is no column 'nothing like it' in the table. The columns are: 'name', 'age', 'ward', 'disease'."


def test_column_with_two_roles_is_an_error():
    with pytest.raises(RequestError, match="'age' has two roles, quasi and sensitive"):
        Job.build(quasi="age", sensitive=["age", "ward"])


def test_all_mistakes_are_reported_at_once(tmp_path):
    wrong = {"quasi": ["age", "sx"], "hierarchy": {"age": str(tmp_path / "none.csv")}, "hierarchies": str(tmp_path / "no")}
    assert len(problems(TABLE, **wrong)) == 4


# --- columns that may identify people

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


@pytest.mark.parametrize("layout", ["plain", "dictionary", "large", "chunks"])
@pytest.mark.parametrize("name", PERSONAL)
def test_other_column_that_may_identify_people_must_be_allowed(name, layout):
    column = pa.chunked_array([PERSONAL[name]])
    if layout == "dictionary":
        column = column.dictionary_encode()
    if layout == "large" and pa.types.is_string(column.type):
        column = column.cast(pa.large_string())
    if layout == "chunks":
        column = pa.chunked_array(
            [column.slice(0, 30).combine_chunks().dictionary_encode(), column.slice(30).combine_chunks().dictionary_encode()]
        )
    table = pa.table({"age": TABLE.column("age"), "x": column})
    (message,) = problems(table, quasi="age", other="x")
    assert message.startswith(("Column 'x' has ", "Column 'x' contains free text"))
    assert "occur only once" in message or "free text" in message
    assert "--allow x" in message
    assert not any(str(cell) in message for cell in ("k1", "broken"))
    assert kh.anonymize(table, quasi="age", other="x", allow="x").table.column_names == ["age", "x"]


@pytest.mark.parametrize("name", HARMLESS)
def test_other_column_that_identifies_nobody_is_published(name):
    table = pa.table({"age": TABLE.column("age"), "x": pa.array(HARMLESS[name])})
    assert kh.anonymize(table, quasi="age", other="x").table.column_names == ["age", "x"]


def test_small_tables_are_not_checked_for_identifying_columns():
    table = TABLE.slice(0, schema.SMALL_TABLE - 1)
    assert kh.anonymize(table, quasi="age", other=["name", "ward", "disease"], k=2).evidence.passed


# --- what is published


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
def test_identifiers_and_dropped_columns_are_never_in_the_release(tmp_path, suffix):
    target = tmp_path / f"out.{suffix}"
    roles: dict[str, Any] = {**ROLES, "drop": "secret"}
    release = kh.anonymize(TABLE.append_column("secret", TABLE.column("name")), **roles, output=target)
    assert release.table.column_names == ["age", "ward", "disease"]
    written, _form = tables.read(target)
    assert written.column_names == ["age", "ward", "disease"]
    assert RARE not in str(written.to_pydict())
    assert RARE.encode() not in target.read_bytes()
    if suffix == "parquet":
        assert RARE not in str(pq.ParquetFile(target).metadata.to_dict())


def test_pandas_index_has_a_role_or_is_dropped():
    frame = pd.DataFrame({"q": [1, 1]}, index=[f"{RARE}1", f"{RARE}2"])
    assert list(kh.anonymize(frame, quasi="q", k=2).table.columns) == ["q"]
    assert list(kh.anonymize(frame, quasi="q", identifier="index", k=2).table.columns) == ["q"]
    named = frame.rename_axis("ward")
    shown = kh.anonymize(named, quasi=["q", "ward"], k=2).table
    assert shown.to_dict("list") == {"ward": ["*", "*"], "q": ["1", "1"]}
    assert [one.name for one in kh.inspect(named).profiles] == ["ward", "q"]


def test_means_are_separate_columns():
    table = pa.table({"a": [1, 2], "b": [1, 3], "a.mean": ["x", "y"]})
    (message,) = problems(table, quasi=["a", "b"], other="a.mean", statistic={"a": "both"})
    assert "two columns named 'a.mean'" in message
    release = kh.anonymize(table, quasi=["a", "b"], drop="a.mean", statistic={"a": "both", "b": "mean"}, k=2)
    assert release.table.to_pylist() == [{"a": "[1 - 2]", "a.mean": "1.5", "b.mean": "2"}] * 2


def test_columns_are_published_in_the_order_of_the_table():
    job = Job.build(sensitive="disease", quasi=["ward", "age"], identifier="name")
    bound = resolve(job.columns, TABLE)
    assert bound.quasi == ["ward", "age"]  # as in the job
    assert [name for name, _source, _statistic in bound.published()] == ["age", "ward", "disease"]  # as in the table


# --- trees


def test_tree_files_in_a_folder_are_found_by_column_name(tmp_path):
    (tmp_path / "ward.csv").write_text("w0;low;*\nw1;low;*\nw2;high;*\n", encoding="utf-8")
    (tmp_path / "disease.csv").write_text("not a tree of anything in use", encoding="utf-8")
    job = Job.build(quasi=["age", "ward"], sensitive="disease", drop="name", hierarchies=str(tmp_path))
    bound = resolve(job.columns, TABLE, folder=job.hierarchies)
    assert list(bound.trees) == ["ward"]
    assert bound.trees["ward"].leaves == ("w0", "w1", "w2")


@pytest.mark.parametrize("name", ["../secret", "a/b", "x" * 300, "nul\0"])
def test_column_names_never_lead_out_of_the_folder_of_trees(tmp_path, name):
    (tmp_path / "trees").mkdir()
    (tmp_path / "secret.csv").write_text("1;*\n", encoding="utf-8")
    bound = resolve({name: Column(role="quasi")}, pa.table({name: [1, 1]}), folder=str(tmp_path / "trees"))
    assert not bound.trees


def test_tree_of_a_number_column_is_an_error():
    (message,) = problems(TABLE.select(["age"]), quasi="age", hierarchy={"age": [["0", "*"]]}, type={"age": "integer"})
    assert "The type of column 'age' is integer, but it has a tree" in message


def test_column_names_may_be_numbers():
    """A header of numbers may be a row of data, but not if it contains every requested column."""
    table = pa.table({"age": [1, 1, 2, 2], "10115": [1, 2, 3, 4], "10117": [5, 6, 7, 8]})
    assert kh.anonymize(table, quasi="age", sensitive=["10115", "10117"], k=2).evidence.passed
    with pytest.raises(RequestError, match="'10116'") as caught:
        kh.anonymize(table, quasi="age", sensitive=["10116", "10117"], k=2)
    assert "10115" not in str(caught.value)
