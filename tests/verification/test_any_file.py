"""Audit of any file: people, grids and distances."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

import kohort
import kohort as kh
from kohort.errors import RequestError

VISITS = pa.table(
    {
        "age": ["[20 - 30]"] * 6 + ["[40 - 50]"] * 6,
        "s": ["flu", "flu", "flu", "gout", "gout", "gout"] * 2,
        "who": ["a", "a", "a", "b", "c", "d", "e", "e", "e", "f", "g", "h"],
    }
)


def verdicts(evidence):
    return {check.name: check.verdict for check in evidence.checks}


def test_missing_unit_column_fails_the_audit():
    requested: dict[str, Any] = {"quasi": "age", "sensitive": "s", "unit": "who", "k": 4, "l": 2, "alpha": 0.6}
    unseen = kh.audit(VISITS.drop_columns("who"), **requested)
    assert not unseen.passed
    assert verdicts(unseen) | {"persons": "fail", "alpha s": "not run", "l s": "pass", "k": "pass"} == verdicts(unseen)
    by_rows = kh.audit(VISITS.drop_columns("who"), **{**requested, "unit": None, "drop": "who"})
    assert by_rows.passed


def test_published_unit_column_is_counted_but_fails():
    evidence = kh.audit(VISITS, quasi="age", sensitive="s", unit="who", k=4, alpha=0.8)
    assert (evidence.k, verdicts(evidence)["withheld"], verdicts(evidence)["alpha s"]) == (4, "fail", "pass")
    # flu: 6 rows of 2 people; gout: 6 rows of 6 people
    assert [(one.value.label, one.rows) for one in evidence.homogeneity[0].alphas] == [("held by fewer than 4", 6), ("gout", 6)]


@pytest.mark.parametrize(("ends", "verdict"), [("[20 - 30]", "pass"), ("[21 - 30]", "fail"), ("22", "pass")])
def test_grid_of_a_file(ends, verdict):
    table = pa.table({"age": [ends] * 11, "s": ["x"] * 11})
    requested: dict[str, Any] = {"quasi": "age", "sensitive": "s", "type": {"age": "integer"}, "preset": "public"}
    assert verdicts(kh.audit(table, **requested))["grid"] == verdict
    assert "grid" not in verdicts(kh.audit(table, quasi="age", sensitive="s", k=11))
    assert verdicts(kh.audit(table, quasi="age", sensitive="s", preset="public"))["grid"] == "not run"
    assert verdicts(kh.audit(table, quasi="age", sensitive="s", preset="public", step={"age": 7}))["grid"] == (
        "pass" if ends == "22" else "fail"
    )


def test_distances_of_a_file_on_the_command_line(kohort, tmp_path):
    (tmp_path / "r.csv").write_text("q,s\n" + "".join(f"{n // 4},{'abcd'[n % 4]}\n" for n in range(16)), encoding="utf-8")
    (tmp_path / "s.csv").write_text("a;ab;*\nb;ab;*\nc;cd;*\nd;cd;*\n", encoding="utf-8")
    for distance, tree in (("tree", tmp_path / "s.csv"), ("ordered", "order:a,b,c,d")):
        flags = f"--t 0.1 --t-distance {distance} --hierarchy s={tree} --k 2 --json"
        ran = kohort(f"audit {tmp_path / 'r.csv'} --quasi q --sensitive s {flags}")
        checks = {check["name"]: check for check in json.loads(ran.out)["audit"]["checks"]}
        assert (ran.code, checks["t s"]["found"]) == (0, 0)


def test_columns_that_must_not_be_published():
    table = pa.table({"a": ["*"] * 4, "name": ["n"] * 4})
    assert kohort.audit(table.select(["a"]), quasi="a", identifier="name", k=4).passed
    found = kohort.audit(table, quasi="a", identifier="name", k=4)
    assert [check.name for check in found.failures()] == ["withheld"]


def test_table_without_rows_or_without_the_column():
    assert not kohort.audit(pa.table({"a": pa.array([], pa.string())}), quasi="a", k=2).passed
    with pytest.raises(RequestError, match="no column 'b'"):
        kohort.audit(pa.table({"a": ["x"]}), quasi=["b"], k=2)
