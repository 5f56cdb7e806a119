"""Wrong files, trees, jobs and command lines in large numbers; `make fuzz CASES=20000 SEED=...` runs more."""

from __future__ import annotations

import os
import shutil

import pytest

from tests import fuzzing
from tests.fuzzing import RARE, Case, Ran

SEED = int(os.environ.get("KOHORT_FUZZ_SEED", "20261116"))
CASES = int(os.environ.get("KOHORT_FUZZ_CASES", "1600"))  # so that every change on the lists is made at least once
FIRST = 150  # cases of `make test`
CHUNK = 25  # cases a test: enough of them to spread over the cores, few enough to find the one


@pytest.mark.parametrize("first", [pytest.param(n, marks=pytest.mark.slow if n >= FIRST else ()) for n in range(0, CASES, CHUNK)])
def test_wrong_requests_are_refused_cleanly(tmp_path, first):
    """No crash, no half file, no cell in a message, no success for what is wrong."""
    failed = []
    for number in range(first, min(first + CHUNK, CASES)):
        folder = tmp_path / str(number)
        folder.mkdir()
        judged = fuzzing.try_case(SEED, number, folder)
        failed += [str(judged)] if judged.complaints else []
        shutil.rmtree(folder)
    assert not failed, "\n".join(["", *failed])


ASKED = Case("", ("anonymize", "in.csv", "-o", "out.csv"), "wrong", makes=("out.csv",))
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
def test_the_judge_sees(tmp_path, fault):
    assert fault in "; ".join(fuzzing.judge(ASKED, FAULTS[fault], {}, tmp_path))


@pytest.mark.parametrize("left", ["out.csv", ".kohort-0123456789abcdef.part", "scratch/kohort-0123456789abcdef", "in.csv"])
def test_the_judge_looks_into_the_folder(tmp_path, left):
    (tmp_path / "scratch").mkdir()
    (tmp_path / "in.csv").write_text("before", encoding="utf-8")
    before = fuzzing.snapshot(tmp_path)
    refused = Ran(2, "", "Error: no")
    assert fuzzing.judge(ASKED, refused, before, tmp_path) == []
    (tmp_path / left).write_text("after", encoding="utf-8")
    assert left in "; ".join(fuzzing.judge(ASKED, refused, before, tmp_path))


def test_the_judge_reads_the_release(tmp_path):
    """A release in which somebody stands alone, or somebody is lost, is no success."""
    asked = Case("", ("anonymize", "in.csv", "-o", "out.csv", "--quasi", "q", "--k", "2"), "unclear", makes=("out.csv",))
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
        found = "; ".join(fuzzing.judge(asked, Ran(0, "audit passed", ""), before, tmp_path))
        assert (fault in found) if fault else not found


def test_requests_are_right_but_for_what_was_changed(tmp_path):
    """Else everything would be refused for some other reason, and nothing would be tried."""
    verdicts = []
    for number in range(640):
        folder = tmp_path / str(number)
        folder.mkdir()
        verdicts.append(fuzzing.make(SEED, number, folder).verdict)
    assert verdicts.count("right") >= 8
    assert verdicts.count("wrong") >= 350
    assert verdicts.count("unclear") >= 150
