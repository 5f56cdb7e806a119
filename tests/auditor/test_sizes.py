"""Group sizes counted in persons."""

from __future__ import annotations

from kohort.auditor import sizes
from tests.auditor.checked_groups import evidence_of

# --- persons


def test_persons_are_counted_once():
    """Two persons with four rows: k is 2, and the one with flu everywhere holds half of the class."""
    columns = {"a": ["x"] * 4, "s": ["flu", "flu", "flu", "gout"]}
    evidence = evidence_of(columns, {"s": {"alpha": 0.5, "l": 2}}, persons=["p", "p", "p", "q"], k=3)
    assert [(check.found, check.verdict) for check in evidence.checks] == [(2, "fail"), (2, "fail"), (0.5, "pass"), (2, "pass")]
    assert (evidence.k, evidence.rows, evidence.dm) == (2, 4, 16)


def test_one_person_in_two_classes_that_may_be_one():
    evidence = evidence_of({"a": ["*", "x", "x"], "s": ["1", "2", "3"]}, {}, persons=["p", "p", "q"])
    assert [check.found for check in evidence.checks] == [1, 2]


def test_too_many_persons_to_pair(monkeypatch):
    monkeypatch.setattr(sizes, "MOST_PERSONS_PAIRED", 2)
    evidence = evidence_of({"a": ["*", "x", "x"], "s": ["1", "2", "3"]}, {}, persons=["p", "p", "q"])
    assert (evidence.checks[1].found, evidence.checks[1].verdict) == (None, "not run")
