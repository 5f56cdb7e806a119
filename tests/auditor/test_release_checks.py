"""The auditor finds every kind of wrong change in a file or table."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import kohort
from kohort.errors import AuditError
from kohort.publishing.published_rows import PublishedRows
from kohort.tables import tables

CITIES = (("bonn", "rhine", "*"), ("koeln", "rhine", "*"), ("ulm", "south", "*"))
SOURCE = pa.table(
    {
        "age": [20, 20, 20, None, 30, 31, 32, 33],
        "city": ["bonn", "koeln", "bonn", "koeln", "ulm", "ulm", "ulm", "ulm"],
        "sex": ["f"] * 4 + ["m"] * 4,
        "disease": ["flu", "", None, "gout", "flu", "flu", "cough", "gout"],
        "year": ["2001", "2001", "2002", "02", "2001", "2002", "2002", "2002"],
    }
)
JOB: dict[str, Any] = {
    "quasi": ["age", "city", "sex"],
    "sensitive": "disease",
    "other": "year",
    "hierarchy": {"city": CITIES},
    "k": 3,
}
RELEASE = {
    "age": ["*"] * 4 + ["[30 - 33]"] * 4,
    "city": ["rhine"] * 4 + ["ulm"] * 4,
    "sex": ["f"] * 4 + ["m"] * 4,
    "disease": SOURCE["disease"].to_pylist(),
    "year": SOURCE["year"].to_pylist(),
}


def cell(column, row, value):
    """Change one cell."""

    def change(published):
        published[column][row] = value

    return change


def cells(column, value):
    """Change all rows of the second group, so that its size stays the same."""

    def change(published):
        published[column][4:] = [value] * 4

    return change


def rows(order):
    """Select rows by number, in this order."""

    def change(published):
        for column, values in published.items():
            published[column] = [values[row] for row in order]

    return change


def columns(*names):
    """Select columns. `a=b` is column b renamed to a."""

    def change(published):
        kept = {name.split("=")[0]: published[name.split("=")[-1]] for name in names}
        published.clear()
        published.update(kept)

    return change


IN_CELLS = {
    "a generalised value in one row: a group of one": ("k", cell("city", 4, "south")),
    "a missing value in one row: a group of one with correct cells": ("k", cell("age", 3, None)),
    "a star in one row": ("k", cell("sex", 7, "*")),
    "a sensitive cell": ("carried", cell("disease", 0, "gout")),
    "a sensitive cell gone": ("carried", cell("disease", 0, None)),
    "a missing sensitive cell filled": ("carried", cell("disease", 2, "flu")),
    "an empty sensitive text made missing": ("carried", cell("disease", 1, None)),
    "another cell, equal as a number": ("carried", cell("year", 3, "2")),
    "an interval that ends too early": ("cells", cells("age", "[30 - 32]")),
    "an interval that begins too late": ("cells", cells("age", "[30.5 - 33]")),
    "an interval with its ends crossed": ("cells", cells("age", "[33 - 30]")),
    "a single number": ("cells", cells("age", "30")),
    "no number at all": ("cells", cells("age", "thirties")),
    "numbers published as missing": ("cells", cells("age", None)),
    "a node of another branch": ("cells", cells("city", "rhine")),
    "a leaf of another row": ("cells", cells("city", "bonn")),
    "a label of no tree": ("cells", cells("city", "atlantis")),
    "a label published as missing": ("cells", cells("city", None)),
    "another text": ("cells", cells("sex", "f")),
    "rows in another order": ("cells", rows(range(7, -1, -1))),
    "two rows of one group swapped": ("carried", rows([0, 1, 3, 2, 4, 5, 6, 7])),
    "one row twice, another one dropped": ("carried", rows([0, 1, 2, 3, 4, 5, 6, 6])),
}
IN_SHAPE = {
    "a row dropped": ("rows", rows(range(7))),
    "a row doubled": ("rows", rows([*range(8), 7])),
    "no rows": ("rows", rows([])),
    "a column added": ("columns", columns("age", "city", "sex", "disease", "year", "row=disease")),
    "a sensitive column renamed": ("columns", columns("age", "city", "sex", "illness=disease", "year")),
    "a quasi-identifier renamed": ("columns", columns("Age=age", "city", "sex", "disease", "year")),
    "a column dropped": ("columns", columns("age", "city", "sex", "disease")),
    "columns in another order": ("columns", columns("city", "age", "sex", "disease", "year")),
}


def tampered(table, change):
    published = {
        name: column.cast(pa.string()).to_pylist() for name, column in zip(table.column_names, table.columns, strict=True)
    }
    change(published)
    return pa.table({name: pa.array(values, pa.string()) for name, values in published.items()})


def tamper_with_files(monkeypatch, change):
    original = tables.batches_to_file

    def write(batches, schema, path, form):
        table = tampered(pa.Table.from_batches(batches, schema), change)
        original(table.to_batches(), table.schema, path, form)

    monkeypatch.setattr(tables, "batches_to_file", write)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_correct_release_passes(suffix, tmp_path, monkeypatch):
    tamper_with_files(monkeypatch, lambda _published: None)
    release = kohort.anonymize(SOURCE, **JOB, keep_order=True, output=tmp_path / f"out{suffix}")
    assert release.table.to_pydict() == RELEASE
    assert {check.verdict for check in release.evidence.checks} == {"pass"}
    assert [path.name for path in tmp_path.iterdir()] == [f"out{suffix}"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("what", IN_CELLS | IN_SHAPE)
def test_wrong_file_fails(what, suffix, tmp_path, monkeypatch):
    check, change = (IN_CELLS | IN_SHAPE)[what]
    tamper_with_files(monkeypatch, change)
    with pytest.raises(AuditError, match=rf"\b{check}: required"):
        kohort.anonymize(SOURCE, **JOB, keep_order=True, output=tmp_path / f"out{suffix}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("what", IN_CELLS)
def test_wrong_table_fails(what, monkeypatch):
    check, change = IN_CELLS[what]
    original = PublishedRows.batches

    def batches(self, order):
        table = tampered(pa.Table.from_batches(original(self, order), self.schema), change)
        return table.cast(self.schema).to_batches()

    monkeypatch.setattr(PublishedRows, "batches", batches)
    with pytest.raises(AuditError, match=rf"\b{check}: required"):
        kohort.anonymize(SOURCE, **JOB, keep_order=True)


def test_failed_audit_keeps_the_existing_file(tmp_path, monkeypatch):
    target = tmp_path / "out.csv"
    kohort.anonymize(SOURCE, **JOB, output=target)
    before = target.read_bytes()
    tamper_with_files(monkeypatch, cell("disease", 0, "gout"))
    with pytest.raises(AuditError):
        kohort.anonymize(SOURCE, **JOB, keep_order=True, output=target, force=True)
    assert target.read_bytes() == before
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("text", ["31.6", "32", "*x", None])
def test_wrong_mean_fails(text, tmp_path, monkeypatch):
    tamper_with_files(monkeypatch, cells("age.mean", text))
    with pytest.raises(AuditError, match="cells: required"):
        kohort.anonymize(SOURCE, **JOB, statistic={"age": "both"}, keep_order=True, output=tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())


def test_integers_equal_as_doubles_are_distinguished(tmp_path, monkeypatch):
    table = pa.table({"a": [2**61] * 4 + [2**60] * 4})
    tamper_with_files(monkeypatch, cells("a", str(2**60 + 1)))
    with pytest.raises(AuditError, match="cells: required"):
        kohort.anonymize(table, quasi="a", k=3, keep_order=True, output=tmp_path / "out.csv")


# --- correct releases pass


@pytest.mark.parametrize("column", [[None, None, 1, 1], [None, None, "u", "u"]], ids=["number", "text"])
def test_one_column_with_missing_values(column, tmp_path):
    assert kohort.anonymize(pa.table({"a": column}), quasi="a", k=2, output=tmp_path / "out.csv").evidence.k == 2


def test_missing_token_in_a_typed_column():
    table = pa.table({"a": [-1, -1, 5, 5], "b": ["x", "x", "y", "y"]})
    assert kohort.anonymize(table, quasi=["a", "b"], missing="-1", k=2).evidence.k == 2
