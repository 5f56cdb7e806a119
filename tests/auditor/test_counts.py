"""The audit's counts, compared with plain Python."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kohort
from kohort.tables import tables


def fits(one, other):
    """Return whether two published combinations match if missing values and * may match any value."""
    return all(a == b or {a, b} & {None, "*"} for a, b in zip(one, other, strict=True))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(
    published=st.lists(st.tuples(*[st.sampled_from([None, "*", "", "a", "b"])] * 3), min_size=1, max_size=30),
    k=st.integers(2, 4),
)
def test_audit_matches_plain_counts(published, k):
    groups = Counter(published)
    candidates = min(sum(count for other, count in groups.items() if fits(one, other)) for one in groups)
    table = pa.table(
        {name: pa.array(values, pa.string()) for name, values in zip("xyz", zip(*published, strict=True), strict=True)}
    )
    evidence = kohort.audit(table, quasi=["x", "y", "z"], k=k, threads=1)
    smallest, wildcard = evidence.checks[:2]
    assert (evidence.rows, evidence.classes, evidence.k) == (len(published), len(groups), min(groups.values()))
    assert evidence.dm == sum(count**2 for count in groups.values())
    assert (smallest.verdict == "pass") == (evidence.k >= k) == evidence.passed
    assert wildcard.found == candidates
    assert candidates >= evidence.k


def test_rows_with_missing_values_are_counted(tmp_path):
    """Three rows of one group and one row with only missing cells: k is 1, in a file and in a table."""
    path = tmp_path / "published.csv"
    path.write_text("age,sex\n[1 - 2],f\n[1 - 2],f\n,\n[1 - 2],f\n", encoding="utf-8")
    for source in (path, tables.read(path)[0]):
        evidence = kohort.audit(source, quasi=["age", "sex"], k=2)
        assert (evidence.rows, evidence.k, evidence.passed) == (4, 1, False)


def test_column_names_are_case_sensitive():
    table = pa.table({"Age": [1, 1, 2, 2], "age": [1, 2, 3, 4]})
    assert kohort.audit(table, quasi=["Age", "age"], k=2).k == 1
    assert kohort.audit(table, quasi=["Age"], k=2).k == 2
