"""Test many wrong files, trees, jobs and command lines. `make fuzz CASES=20000 SEED=...` runs more."""

from __future__ import annotations

import os
import shutil

import pytest

from tests import fuzzing
from tests.fuzzing import RARE, Case, Ran

SEED = int(os.environ.get("KOHORT_FUZZ_SEED", "20261116"))
CASES = int(os.environ.get("KOHORT_FUZZ_CASES", "1600"))  # enough that every change on the lists occurs at least once
FIRST = 150  # number of cases in `make test`
CHUNK = 25  # cases per test: small enough to distribute tests over the cores and to find the failing case


@pytest.mark.parametrize("first", [pytest.param(n, marks=pytest.mark.slow if n >= FIRST else ()) for n in range(0, CASES, CHUNK)])
def test_wrong_requests_are_rejected_without_side_effects(tmp_path, first):
    """There is no crash, no incomplete file, no cell in a message, and no success for a wrong request."""
    failed = []
    for number in range(first, min(first + CHUNK, CASES)):
        folder = tmp_path / str(number)
        folder.mkdir()
        judged = fuzzing.try_case(SEED, number, folder)
        failed += [str(judged)] if judged.complaints else []
        shutil.rmtree(folder)
    assert not failed, "\n".join(["", *failed])


REQUEST = Case("", ("anonymize", "in.csv", "-o", "out.csv"), "wrong", makes=("out.csv",))
FAULTS = {
    "crash": Ran(None, "", "", "ValueError at x.py:1"),
    "exit code 3": Ran(3, "", "Error: disk full"),
    "exit code 0": Ran(0, "audit passed", ""),
    "no message": Ran(2, "", "oh"),
    "writes to stdout": Ran(2, "audit passed", "Error: no"),
    "traceback": Ran(2, "", "Error: no\nTraceback (most recent call last)"),
    "a cell on stderr": Ran(2, "", f"Error: line 3 holds {RARE!r}"),
    "a cell on stdout": Ran(2, "born 1907-03-04", "Error: no"),
    "a library": Ran(2, "", "Error: no\n/arrow/cpp/src/arrow/io/interfaces.cc:323: Error ignored"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_judge_finds_wrong_results(tmp_path, fault):
    assert fault in "; ".join(fuzzing.judge(REQUEST, FAULTS[fault], {}, tmp_path))


@pytest.mark.parametrize("left", ["out.csv", ".kohort-0123456789abcdef.part", "scratch/kohort-0123456789abcdef", "in.csv"])
def test_judge_finds_changed_files(tmp_path, left):
    (tmp_path / "scratch").mkdir()
    (tmp_path / "in.csv").write_text("before", encoding="utf-8")
    before = fuzzing.snapshot(tmp_path)
    refused = Ran(2, "", "Error: no")
    assert fuzzing.judge(REQUEST, refused, before, tmp_path) == []
    (tmp_path / left).write_text("after", encoding="utf-8")
    assert left in "; ".join(fuzzing.judge(REQUEST, refused, before, tmp_path))


def test_judge_finds_wrong_releases(tmp_path):
    """A release with a unique row, or with a lost or changed row, is no success."""
    request = Case("", ("anonymize", "in.csv", "-o", "out.csv", "--quasi", "q", "--k", "2"), "unclear", makes=("out.csv",))
    (tmp_path / "in.csv").write_text("q,disease\n1,a\n1,b\n2,c\n2,d\n", encoding="utf-8")
    before = fuzzing.snapshot(tmp_path)
    releases = {
        "1,a\n1,b\n2,c\n2,d": "",
        "1,a\n1,b\n1,c\n2,d": "not 2-anonymous",
        "1,a\n1,b": "4 rows",
        "1,a\n1,b\n1,c\n1,c": "sensitive",
    }
    for rows, fault in releases.items():
        (tmp_path / "out.csv").write_text(f"q,disease\n{rows}\n", encoding="utf-8")
        found = "; ".join(fuzzing.judge(request, Ran(0, "audit passed", ""), before, tmp_path))
        assert (fault in found) if fault else not found


def test_cases_have_all_expected_results(tmp_path):
    """If all requests were wrong for another reason, the changes would not be tested."""
    verdicts = []
    for number in range(640):
        folder = tmp_path / str(number)
        folder.mkdir()
        verdicts.append(fuzzing.make(SEED, number, folder).verdict)
    assert verdicts.count("right") >= 8
    assert verdicts.count("wrong") >= 350
    assert verdicts.count("unclear") >= 150
