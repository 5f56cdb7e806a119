"""Group sizes counted in people."""

from __future__ import annotations

from kohort.auditor import sizes
from tests.auditor.checked_groups import evidence_of


def test_each_person_counts_once():
    """Two people with four rows: k is 2, and the person with flu is half of the group."""
    columns = {"a": ["x"] * 4, "s": ["flu", "flu", "flu", "gout"]}
    evidence = evidence_of(columns, {"s": {"alpha": 0.5, "l": 2}}, persons=["p", "p", "p", "q"], k=3)
    assert [(check.found, check.verdict) for check in evidence.checks] == [(2, "fail"), (2, "fail"), (0.5, "pass"), (2, "pass")]
    assert (evidence.k, evidence.rows, evidence.dm) == (2, 4, 16)


def test_person_in_two_matching_groups_counts_once():
    evidence = evidence_of({"a": ["*", "x", "x"], "s": ["1", "2", "3"]}, {}, persons=["p", "p", "q"])
    assert [check.found for check in evidence.checks] == [1, 2]


def test_wildcard_is_not_run_for_too_many_people(monkeypatch):
    monkeypatch.setattr(sizes, "MOST_PERSONS_PAIRED", 2)
    evidence = evidence_of({"a": ["*", "x", "x"], "s": ["1", "2", "3"]}, {}, persons=["p", "p", "q"])
    assert (evidence.checks[1].found, evidence.checks[1].verdict) == (None, "not run")
