"""Test mistakes that new users make: unusual files, pipes, data frames and outputs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kohort as kh
from kohort.schema import trees as hierarchies

RARE = "Xanthippe-4711"


@pytest.mark.parametrize("row", ['"1" ,a', ' "1",a', "1,a,", "1 ,a"])
def test_audit_does_not_remove_spaces_in_csv(tmp_path, row):
    """A cell with spaces around its quotes is a different cell, or the file is rejected. It is never in the same group."""
    (tmp_path / "f.csv").write_text(f"age,sex\n1,a\n1,a\n1,a\n{row}\n", encoding="utf-8")
    try:
        evidence = kh.audit(tmp_path / "f.csv", quasi=["age", "sex"], k=2)
    except kh.RequestError:
        return
    assert not evidence.passed
    assert evidence.k == 1


@pytest.mark.parametrize("line", [f"{RARE},26,female", f"{RARE},1990-01-01,female", f"{RARE},female,female", f"{RARE},flu,male"])
def test_messages_about_a_table_without_header_contain_no_cells(tmp_path, line):
    (tmp_path / "n.csv").write_text(f"{line}\n{RARE},x,y\n", encoding="utf-8")
    for call in (
        lambda: kh.anonymize(tmp_path / "n.csv", quasi=["age", "sex"], sensitive="diagnosis", k=2),
        lambda: kh.audit(tmp_path / "n.csv", quasi="age", k=2),
    ):
        with pytest.raises(kh.RequestError) as caught:
            call()
        assert not any(word in str(caught.value) for word in (RARE, "26", "female", "1990", "flu"))


@pytest.mark.parametrize("cells", [[1, 2, RARE, 4], [10**30, 1, 2, 3], [{"a": RARE}, 1, 2, 3]])
def test_data_frame_that_arrow_cannot_store_is_rejected(cells):
    with pytest.raises(kh.RequestError) as caught:
        kh.anonymize(pd.DataFrame({"q": cells}), quasi="q", k=2)
    assert RARE not in str(caught.value)


def test_files_that_are_read_are_not_overwritten(tmp_path):
    trees = tmp_path / "trees"
    trees.mkdir()
    (trees / "q.csv").write_text("1;*\n2;*\n", encoding="utf-8")
    source, job = tmp_path / "in.csv", tmp_path / "job.csv"
    source.write_text("q\n1\n1\n2\n2\n", encoding="utf-8")
    job.write_text('[columns.q]\nrole = "quasi"', encoding="utf-8")
    (tmp_path / "link.csv").symlink_to(source)
    for target in (source, tmp_path / "link.csv", trees / "q.csv", job):
        before = target.read_bytes()
        with pytest.raises(kh.RequestError, match="is a file that kohort reads"):
            kh.anonymize(source, job, hierarchies=str(trees), k=2, output=target, force=True)
        assert target.read_bytes() == before


def test_write_does_not_overwrite_the_source(tmp_path):
    source = tmp_path / "in.csv"
    source.write_text("q\n1\n1\n", encoding="utf-8")
    with pytest.raises(kh.RequestError, match="is a file that kohort reads"):
        kh.anonymize(source, quasi="q", k=2).write(source, force=True)
    assert source.read_text(encoding="utf-8") == "q\n1\n1\n"


def test_relaxed_mondrian_does_not_depend_on_row_or_column_order():
    """All published columns decide between equal rows, and empty text is not missing."""
    table = pa.table(
        {
            "age": [1, 1, 2, 2, 2, 3],
            "d": ["x"] * 5 + [None],
            "o": ["p", "q", "p", "q", "r", "p"],
            "e": ["", None, "", None, "", ""],
        }
    )
    settings: dict[str, Any] = {"method": "mondrian", "option": {"relaxed": True}}
    releases = set()
    for changed in (table, table.take([5, 4, 3, 2, 1, 0]), table.select(["o", "e", "age", "d"]), table.take([2, 0, 4, 1, 5, 3])):
        made = kh.anonymize(changed, quasi="age", sensitive=["d", "e"], other="o", k=2, seed=7, **settings)
        rows = Counter(tuple(row[name] for name in ("age", "d", "o", "e")) for row in made.table.to_pylist())
        releases.add(frozenset(rows.items()))
    assert len(releases) == 1


@pytest.mark.parametrize("cells", [["1.5", "1.5"], [None, None], ["7", "7"]])
@pytest.mark.parametrize("statistic", ["mean", "both"])
def test_mean_of_a_constant_column(cells, statistic):
    release = kh.anonymize(
        pa.table({"q": pa.array(cells, pa.string())}), quasi="q", type={"q": "decimal"}, statistic={"q": statistic}, k=2
    )
    assert release.table["q.mean"].to_pylist() == cells


def test_audit_warns_about_columns_without_a_role():
    evidence = kh.audit(pa.table({"name": ["x", "y"], "age": [1, 1]}), quasi="age", k=2)
    assert {check.name: check.verdict for check in evidence.checks}["undeclared"] == "warn"
    assert evidence.passed


def test_audit_distinguishes_nanoseconds():
    durations = pa.array([1, 2, 1001, 1002], pa.duration("ns"))
    assert kh.audit(pa.table({"q": durations}), quasi="q", k=2).k == 1


def test_label_that_is_a_value_in_another_line_is_rejected():
    with pytest.raises(kh.RequestError, match="line 1 is also the value of line 3") as caught:
        hierarchies.build([("v", "b", "*"), ("u", "b", "*"), ("b", "c", "*"), ("w", "c", "*")])
    assert "'b'" not in str(caught.value)
    assert hierarchies.build([("Male", "Male", "*"), ("Female", "Female", "*")]).height == 2


def test_unsupported_parquet_columns_are_rejected(tmp_path):
    broken = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")])
    pq.write_table(pa.table({"q": [1, 1], "s": broken}), tmp_path / "in.parquet")
    with pytest.raises(kh.RequestError, match="UTF-8"):
        kh.anonymize(tmp_path / "in.parquet", quasi="q", sensitive="s", k=2)
    uuids = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16] * 2, pa.binary(16)))
    with pytest.raises(kh.RequestError, match="'q' has type"):
        kh.anonymize(pa.table({"q": uuids}), quasi="q", k=2)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipe_as_source_is_rejected(tmp_path):
    os.mkfifo(tmp_path / "ff.csv")
    with pytest.raises(kh.RequestError, match="not a regular file"):
        kh.anonymize(tmp_path / "ff.csv", quasi="q", k=2)


@pytest.mark.parametrize(("redirect", "code"), [(">&-", 0), ("| true", 0)])
def test_closed_stdout_does_not_change_the_result(tmp_path, redirect, code):
    (tmp_path / "in.csv").write_text("q\n1\n1\n", encoding="utf-8")
    command = f"{sys.executable} -m kohort anonymize in.csv -o out.csv --quasi q --k 2 {redirect}; exit ${{PIPESTATUS[0]}}"
    ran = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S607
    complaints = [
        line for line in ran.stderr.splitlines() if not line.startswith("kohort: ")
    ]  # progress lines appear on a busy machine
    assert (ran.returncode, complaints) == (code, [])
    assert (tmp_path / "out.csv").exists()
