"""The audit's counts, compared with plain Python."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kohort
from kohort.tables import tables

# --- audit() of a table that is there


def fits(one, other):
    """Whether two published combinations do not contradict each other when missing and * may be anything."""
    return all(a == b or {a, b} & {None, "*"} for a, b in zip(one, other, strict=True))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(
    told=st.lists(st.tuples(*[st.sampled_from([None, "*", "", "a", "b"])] * 3), min_size=1, max_size=30),
    k=st.integers(2, 4),
)
def test_audit_matches_plain_counts(told, k):
    classes = Counter(told)
    candidates = min(sum(count for other, count in classes.items() if fits(one, other)) for one in classes)
    table = pa.table({name: pa.array(values, pa.string()) for name, values in zip("xyz", zip(*told, strict=True), strict=True)})
    evidence = kohort.audit(table, quasi=["x", "y", "z"], k=k, threads=1)
    smallest, wildcard = evidence.checks[:2]
    assert (evidence.rows, evidence.classes, evidence.k) == (len(told), len(classes), min(classes.values()))
    assert evidence.dm == sum(count**2 for count in classes.values())
    assert (smallest.verdict == "pass") == (evidence.k >= k) == evidence.passed
    assert wildcard.found == candidates
    assert candidates >= evidence.k


def test_rows_with_missing_values_are_counted(tmp_path):
    """Three rows of one class, one row whose cells are all missing: k is 1, in a file as in a table."""
    path = tmp_path / "told.csv"
    path.write_text("age,sex\n[1 - 2],f\n[1 - 2],f\n,\n[1 - 2],f\n", encoding="utf-8")
    for source in (path, tables.read(path)[0]):
        evidence = kohort.audit(source, quasi=["age", "sex"], k=2)
        assert (evidence.rows, evidence.k, evidence.passed) == (4, 1, False)


def test_columns_that_differ_in_case_only_are_two():
    table = pa.table({"Age": [1, 1, 2, 2], "age": [1, 2, 3, 4]})
    assert kohort.audit(table, quasi=["Age", "age"], k=2).k == 1
    assert kohort.audit(table, quasi=["Age"], k=2).k == 2
