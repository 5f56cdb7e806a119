"""Answers of a release to queries."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kohort
from kohort.schema.workload import Predicate, Query, Workload
from kohort.utility.queries.answers import Answers, Questions
from tests.utility.queries.query_tables import answers, published, queries, readable, rows, table_of, true_answer

# --- true answers, unchanged releases, certain answers


@settings(max_examples=60, deadline=None)
@given(rows, queries())
def test_truth_matches_plain_counts(cells, query):
    table = table_of(cells)
    if not readable(table, query):
        return
    found = Questions(Workload((query,)), table, published(table, np.zeros(len(cells), np.int64)).encoded.schema).truth[0]
    assert found == pytest.approx(true_answer(query, table), nan_ok=True)


@settings(max_examples=60, deadline=None)
@given(rows, queries())
def test_unchanged_release_answers_without_error(cells, query):
    """Dates are published as months, so queries on dates are left out."""
    table = table_of(cells)
    if not readable(table, query) or any(p.column == "d" for p in query.where):
        return
    found = answers(published(table, np.arange(len(cells))), query)
    assert found.errors[0] == pytest.approx(0)
    assert found.matched[0]


@settings(max_examples=100, deadline=None)
@given(rows, queries(), st.integers(0, 5))
def test_matched_count_minimum_and_maximum_are_exact(cells, query, groups):
    """For any groups: if no cell overlaps the end of a predicate, it is certain which rows are selected."""
    table = table_of(cells)
    if not readable(table, query) or len(cells) < 2 * groups:
        return
    labels = np.sort(np.arange(len(cells)) % (groups + 1))
    publication = published(table, labels)
    found = answers(publication, query)
    if not found.matched[0]:
        return
    if query.aggregate == "COUNT":
        assert found.estimate[0] == found.truth[0]
    elif query.aggregate in ("MIN", "MAX") and table.column(query.column).null_count == 0:
        assert found.estimate[0] == pytest.approx(found.truth[0], nan_ok=True)


@settings(max_examples=100, deadline=None)
@given(rows, queries())
def test_means_give_exact_sums_and_averages_of_whole_groups(cells, query):
    table = table_of(cells)
    whole = all(p.column not in "nr" for p in query.where)
    if not readable(table, query) or query.aggregate not in ("SUM", "AVG") or not whole:
        return
    if table.column(query.column).null_count:
        return
    publication = published(table, np.arange(len(cells)) // 2 % 3, statistic={"n": "both", "r": "mean"})
    found = answers(publication, query)
    if found.matched[0]:
        assert found.estimate[0] == pytest.approx(found.truth[0], nan_ok=True, abs=1e-6)


# --- examples computed by hand

PATIENTS = pa.table(
    {
        "Age": [35, 35, 36, 37, 37, 38],
        "Sex": ["Male", "Female", "Male", "Male", "Female", "Male"],
        "Zipcode": [53711, 53712, 53711, 53710, 53712, 53711],
        "Disease": ["Flu", "Cancer", "Aids", "Hang Nail", "Hepatitis", "Broken arm"],
    }
)


def test_two_queries_of_murthy_srinivas_are_exact():
    publication = published(
        PATIENTS,
        quasi=["Zipcode", "Sex", "Age"],
        sensitive="Disease",
        other=[],
        allow=None,
        hierarchy={},
        statistic={"Age": "both"},
    )
    male = Predicate("Sex", "=", ("Male",))
    found = answers(publication, Query((male,), "AVG", "Age"), Query((male, Predicate("Age", "<=", (36,)))))
    assert found.estimate.tolist() == found.truth.tolist() == [36.5, 2]
    assert found.matched.all()


def test_values_are_assumed_to_be_evenly_spread():
    table = table_of([(10, 1.0, "a", None, "p", 1), (19, 2.0, "c", None, "q", 2)])
    publication = published(table, np.zeros(2, np.int64))
    found = answers(
        publication,
        Query((Predicate("n", "<", (13,)),)),  # 10, 11, 12 of ten numbers
        Query((Predicate("r", "<=", (1.25,)),)),  # a quarter of the length
        Query((Predicate("t", "in", ("x",)),)),  # two of five leaves
        Query((Predicate("n", "<", (13,)), Predicate("t", "=", ("x",)))),
        Query((Predicate("n", "<", (13,)), Predicate("s", "=", ("p",)))),
        Query((Predicate("n", "between", (12, 15)),), "AVG", "n"),
        Query((Predicate("n", ">=", (15,)),), "MIN", "n"),
    )
    assert found.estimate == pytest.approx([0.6, 0.5, 0.8, 0.24, 0.3, 13.5, 15])
    assert not found.matched.any()
    assert found.predicates == ((False,), (False,), (False,), (False, False), (False, True), (False,), (False,))
    assert found.table().column("predicates_matched").to_pylist()[4] == [False, True]
    assert found.table().column("answer").to_pylist() == found.estimate.tolist()


def test_errors_are_relative_and_weighted():
    requested = Workload((Query((), weight=3.0), Query(()), Query((), "AVG", "n"), Query((), "AVG", "n"), Query(())))
    truth = np.array([10.0, 0.0, np.nan, np.nan, 4.0])
    found = Answers(requested, truth, np.array([15.0, 2.0, np.nan, 3.0, 4.0]), np.zeros(5, np.bool_), ((),) * 5, 100)
    assert found.errors.tolist() == [0.5, 2.0, 0.0, 1.0, 0.0]
    assert found.error == pytest.approx((3 * 0.5 + 2 + 1) / 7)
    assert found.to_dict()["median"] == 0.5
    assert "5 queries" in found.in_words()
    one = Answers(Workload(requested.queries[:1]), truth[:1], np.array([15.0]), np.array([True]), ((),), 100)
    assert one.in_words() == (
        "The release answers the query of the workload with an error of 50.0 %. It is certain which rows the query selects."
    )


def test_very_large_numbers_and_booleans():
    table = table_of([(1, 0.5, "a", date(2020, 1, 1), "p", 1), (2, 0.75, "b", date(2020, 2, 1), "q", 2)])
    table = table.append_column("yes", pa.array(["True", "False"]))
    publication = published(table, other=["o", "yes"])
    requested: list[tuple[str, str, Any]] = [("n", "<", 10**50), ("n", ">", -(10**20)), ("r", "<", 10**300), ("yes", "=", True)]
    found = answers(publication, *(Query((Predicate(name, operator, (value,)),)) for name, operator, value in requested))
    assert found.truth.tolist() == found.estimate.tolist() == [2, 2, 2, 1]


def test_no_query_is_matched_with_means_only_or_suppressed_rows():
    table = pa.table({"n": [1, 2, 3, 4, 90, 91, 92, 300], "t": list("aaaabbbc")})
    both = {"query": [{"where": [["n", "<=", 1]]}, {"where": [["t", "=", "a"]]}]}
    mean = kohort.anonymize(table, quasi=["n", "t"], k=2, method="mondrian", statistic={"n": "mean"}, workload=both, seed=7)
    assert mean.answers is not None
    assert not mean.answers.matched[0]
    fewer = kohort.anonymize(table, quasi=["n", "t"], k=3, method="mondrian", suppress=0.2, workload=both, seed=7)
    assert fewer.answers is not None
    assert not fewer.answers.matched.any()
