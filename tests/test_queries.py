"""Queries: the truth, what a release answers, when that is exact, and what is said of bad workloads."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kohort
from kohort.engines.memory import MemoryEngine
from kohort.errors import RequestError
from kohort.job.job import Job
from kohort.methods import Partition
from kohort.progress import Progress
from kohort.schema.workload import AGGREGATES, OPERATORS, Predicate, Query, Workload
from kohort.utility.queries.answers import Answers, Questions
from kohort.utility.queries.random_workload import random_workload

TREE = [("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*"), ("e", "y", "*")]
ROLES = {"quasi": ["n", "r", "t", "d"], "sensitive": ["s"], "other": ["o"]}


def engine_of(table: pa.Table, labels: np.ndarray | None = None, **asked) -> MemoryEngine:
    """Published: by the method asked for, or in the groups given."""
    job = Job.build(**{"hierarchy": {"t": TREE}, **ROLES, "k": 2, "method": "mondrian", "seed": 1, "allow": ["o"], **asked})
    engine = MemoryEngine(job, Progress(1))
    engine.read(table)
    engine.encode()
    if labels is None:
        engine.partition()
    else:
        engine._partition = Partition(labels)
    engine.publish()
    return engine


def answers(engine: MemoryEngine, *queries: Query) -> Answers:
    return engine.ask(Questions(Workload(queries), engine._table, engine._schema))


# --- tables and questions

optional = st.none() | st.integers(-5, 30)
rows = st.lists(
    st.tuples(
        optional,
        st.none() | st.integers(0, 40).map(lambda n: n / 8),
        st.none() | st.sampled_from("abcde"),
        st.none() | st.integers(0, 200).map(lambda n: date(2019, 11, 1) + timedelta(days=n)),
        st.sampled_from("pqr"),
        st.integers(0, 9),
    ),
    min_size=4,
    max_size=30,
)


def made(cells) -> pa.Table:
    n, r, t, d, s, o = zip(*cells, strict=True)
    types = (pa.int64(), pa.float64(), pa.string(), pa.date32(), pa.string(), pa.int64())
    columns = [pa.array(column, kind) for column, kind in zip((n, r, t, d, s, o), types, strict=True)]
    return pa.table(columns, names=["n", "r", "t", "d", "s", "o"])


VALUES = {
    "n": st.integers(-8, 33),
    "r": st.integers(-2, 44).map(lambda n: n / 8),
    "t": st.sampled_from([*"abcde", "x", "y"]),
    "d": st.integers(-20, 230).map(lambda n: date(2019, 11, 1) + timedelta(days=n)),
    "s": st.sampled_from("pqr"),
    "o": st.integers(0, 9),
}


@st.composite
def predicates(draw) -> Predicate:
    column = draw(st.sampled_from(list(VALUES)))
    operator = draw(st.sampled_from(["=", "in"] if column in "ts" else OPERATORS))
    many = {"between": 2, "in": 3}.get(operator, 1)
    values = draw(st.lists(VALUES[column], min_size=many, max_size=many))
    return Predicate(column, operator, tuple(sorted(values) if operator == "between" else values))


@st.composite
def queries(draw) -> Query:
    where = tuple(draw(st.lists(predicates(), max_size=3)))
    aggregate = draw(st.sampled_from(AGGREGATES))
    return Query(where, aggregate, None if aggregate == "COUNT" else draw(st.sampled_from("nro")))


def holds(predicate: Predicate, value):
    """In Python, record by record."""
    if value is None:
        return False
    if predicate.column == "t":
        below = {"x": "ab", "y": "cde"}
        return any(value in below.get(str(asked), str(asked)) for asked in predicate.values)
    first, last = predicate.values[0], predicate.values[-1]
    return {
        "=": value == first, "<": value < first, "<=": value <= first, ">": value > first, ">=": value >= first,
        "between": first <= value <= last, "in": value in predicate.values,
    }[predicate.operator]  # fmt: skip


def true_answer(query: Query, table: pa.Table):
    records = [record for record in table.to_pylist() if all(holds(p, record[p.column]) for p in query.where)]
    if query.aggregate == "COUNT":
        return len(records)
    numbers = [record[query.column] for record in records if record[query.column] is not None]
    if not numbers:
        return math.nan
    return {"SUM": sum(numbers), "AVG": sum(numbers) / len(numbers), "MIN": min(numbers), "MAX": max(numbers)}[query.aggregate]


def readable(table: pa.Table, query: Query) -> bool:
    """Values that a column without a tree does not hold are refused; a column of nothing but missing is text."""
    seen = set(table.column("s").to_pylist())
    typed = all(table.column(name).null_count < table.num_rows for name in "nrtd")
    return typed and all(p.column != "s" or seen.issuperset(p.values) for p in query.where)


# --- truth, identity, matching


@settings(max_examples=60, deadline=None)
@given(rows, queries())
def test_the_truth_is_what_counting_records_gives(cells, query):
    table = made(cells)
    if not readable(table, query):
        return
    found = Questions(Workload((query,)), table, engine_of(table, np.zeros(len(cells), np.int64))._schema).truth[0]
    assert found == pytest.approx(true_answer(query, table), nan_ok=True)


@settings(max_examples=60, deadline=None)
@given(rows, queries())
def test_records_published_as_they_are_answer_without_error(cells, query):
    """Dates are told by months, so only whole months can be asked for."""
    table = made(cells)
    if not readable(table, query) or any(p.column == "d" for p in query.where):
        return
    found = answers(engine_of(table, np.arange(len(cells))), query)
    assert found.errors[0] == pytest.approx(0)
    assert found.matched[0]


@settings(max_examples=100, deadline=None)
@given(rows, queries(), st.integers(0, 5))
def test_a_matched_count_is_exact_and_so_are_least_and_largest(cells, query, groups):
    """Whatever the groups: where no cell straddles a predicate, who is in and who is out is known."""
    table = made(cells)
    if not readable(table, query) or len(cells) < 2 * groups:
        return
    labels = np.sort(np.arange(len(cells)) % (groups + 1))
    engine = engine_of(table, labels)
    found = answers(engine, query)
    if not found.matched[0]:
        return
    if query.aggregate == "COUNT":
        assert found.estimate[0] == found.truth[0]
    elif query.aggregate in ("MIN", "MAX") and table.column(query.column).null_count == 0:
        assert found.estimate[0] == pytest.approx(found.truth[0], nan_ok=True)


@settings(max_examples=100, deadline=None)
@given(rows, queries())
def test_means_answer_sums_and_averages_of_whole_classes(cells, query):
    table = made(cells)
    whole = all(p.column not in "nr" for p in query.where)
    if not readable(table, query) or query.aggregate not in ("SUM", "AVG") or not whole:
        return
    if table.column(query.column).null_count:
        return
    engine = engine_of(table, np.arange(len(cells)) // 2 % 3, statistic={"n": "both", "r": "mean"})
    found = answers(engine, query)
    if found.matched[0]:
        assert found.estimate[0] == pytest.approx(found.truth[0], nan_ok=True, abs=1e-6)


# --- by hand

PATIENTS = pa.table(
    {
        "Age": [35, 35, 36, 37, 37, 38],
        "Sex": ["Male", "Female", "Male", "Male", "Female", "Male"],
        "Zipcode": [53711, 53712, 53711, 53710, 53712, 53711],
        "Disease": ["Flu", "Cancer", "Aids", "Hang Nail", "Hepatitis", "Broken arm"],
    }
)


def test_the_two_queries_of_paper_002_come_out_exactly():
    engine = engine_of(
        PATIENTS,
        quasi=["Zipcode", "Sex", "Age"],
        sensitive="Disease",
        other=[],
        allow=None,
        hierarchy={},
        statistic={"Age": "both"},
    )
    male = Predicate("Sex", "=", ("Male",))
    found = answers(engine, Query((male,), "AVG", "Age"), Query((male, Predicate("Age", "<=", (36,)))))
    assert found.estimate.tolist() == found.truth.tolist() == [36.5, 2]
    assert found.matched.all()


def test_values_are_taken_as_evenly_spread():
    table = made([(10, 1.0, "a", None, "p", 1), (19, 2.0, "c", None, "q", 2)])
    engine = engine_of(table, np.zeros(2, np.int64))
    found = answers(
        engine,
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


def test_errors_are_relative_and_weighed():
    asked = Workload((Query((), weight=3.0), Query(()), Query((), "AVG", "n"), Query((), "AVG", "n"), Query(())))
    truth = np.array([10.0, 0.0, np.nan, np.nan, 4.0])
    found = Answers(asked, truth, np.array([15.0, 2.0, np.nan, 3.0, 4.0]), np.zeros(5, np.bool_), ((),) * 5, 100)
    assert found.errors.tolist() == [0.5, 2.0, 0.0, 1.0, 0.0]
    assert found.error == pytest.approx((3 * 0.5 + 2 + 1) / 7)
    assert found.to_dict()["median"] == 0.5
    assert "5 queries" in found.in_words()
    one = Answers(Workload(asked.queries[:1]), truth[:1], np.array([15.0]), np.array([True]), ((),), 100)
    assert one.in_words() == "The query of the workload is matched; its error is 50.0%."


# --- workloads as files


def test_a_workload_survives_its_file(tmp_path):
    asked = Workload(
        (
            Query((Predicate("n", "between", (1, 5)), Predicate("t", "in", ("a", "b"))), weight=2.5),
            Query((Predicate("d", ">=", (date(2020, 1, 31),)),), "AVG", "r"),
        )
    )
    asked.save(tmp_path / "w.toml")
    assert Workload.load(tmp_path / "w.toml") == asked
    assert asked.columns == ["n", "t", "d", "r"]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"where": [["nn", "=", 1]]}, "Query 2: there is no column 'nn'. Did you mean 'n'?"),
        ({"where": [["i", "=", 1]]}, "Query 2: column 'i' is not published, its role is identifier."),
        ({"where": [["n", "<", 10**400]]}, "Query 2: 'n' holds numbers of 64 bits; compare it with such."),
        ({"where": [["r", ">", float("nan")]]}, "Query 2: 'r' holds numbers of 64 bits; compare it with such."),
        ({"where": [["n", "=", 10**50]]}, "Query 2: no value of 'n' is asked for: it holds numbers of 64 bits."),
        ({"where": [["n", "between", 3.2, 3.8]]}, "Query 2: no value of 'n' is asked for: it holds whole numbers."),
        ({"where": [["d", "<", "2020-01-01T10:00"]]}, "Query 2: 'd' holds dates; leave the time of day out."),
        ({"where": [["d", "<", datetime(2020, 1, 1, 10, tzinfo=UTC)]]}, "Query 2: 'd' holds dates; leave the time of day out."),
        ({"where": ["n", "<", 3]}, 'Query 2: where must be a list of lists, also for one predicate: [["age", ">=", 30]].'),
        ({"where": [], "weight": 10**400}, "Query 2: the weight must be a number above 0, below 1e+100."),
        ({"where": [["n", "=", "young"]]}, "Query 2: 'n' holds numbers; compare it with numbers."),
        ({"where": [["d", "<", "soon"]]}, "Query 2: 'd' holds dates; compare it with dates such as 2019-03-31."),
        ({"where": [["t", "<", "b"]]}, "Query 2: 't' holds text, which has no order; ask of it with = or in."),
        ({"where": [["t", "=", "zz"]]}, "Query 2: 't' has no value or label 'zz'."),
        ({"where": [["n", "between", 9, 3]]}, "Query 2: no value of 'n' is asked for: give the smaller value first."),
        ({"where": [["n", "=", 1.5]]}, "Query 2: no value of 'n' is asked for: it holds whole numbers."),
        ({"where": [["n", "between", 9]]}, "Query 2: between on 'n' takes two values, the smaller first."),
        ({"where": [["n", "~", 9]]}, "Query 2: on 'n' the operator must be one of = < <= > >= between in."),
        ({"where": [["n"]]}, 'Query 2: a predicate is a list of column, operator and value(s): ["age", "between", 30, 39].'),
        ({"where": [], "wheight": 2}, "Query 2 has no setting 'wheight'. Did you mean 'weight'?"),
        ({"where": [], "weight": -1}, "Query 2: the weight must be a number above 0, below 1e+100."),
        ({"where": [], "aggregate": "MEAN"}, "Query 2: the aggregate must be one of COUNT, SUM, AVG, MIN, MAX."),
        ({"where": [], "aggregate": "AVG"}, "Query 2 needs the column to take the AVG of."),
        ({"where": [], "column": "n"}, "Query 2 counts records: leave the column out."),
        ({"where": [], "aggregate": "SUM", "column": "t"}, "Query 2: 't' does not hold numbers, so it has no SUM."),
        (7, "Query 2 is not a table: [[query]] and below it where = [...]."),
    ],
)
def test_a_mistake_is_told_with_the_number_of_its_query(query, told):
    table = made([(1, 0.5, "a", date(2020, 1, 1), "p", 1), (2, 0.75, "b", date(2020, 2, 1), "q", 2)])
    table = table.append_column("i", pa.array(["x", "y"]))
    with pytest.raises(RequestError) as refused:
        engine_of(table, identifier="i", workload={"query": [{"where": [["n", ">", 0]]}, query]})
    assert str(refused.value) == told


def test_numbers_of_any_size_and_truth_values_are_understood():
    table = made([(1, 0.5, "a", date(2020, 1, 1), "p", 1), (2, 0.75, "b", date(2020, 2, 1), "q", 2)])
    table = table.append_column("yes", pa.array(["True", "False"]))
    engine = engine_of(table, other=["o", "yes"])
    asked: list[tuple[str, str, Any]] = [("n", "<", 10**50), ("n", ">", -(10**20)), ("r", "<", 10**300), ("yes", "=", True)]
    found = answers(engine, *(Query((Predicate(name, operator, (value,)),)) for name, operator, value in asked))
    assert found.truth.tolist() == found.estimate.tolist() == [2, 2, 2, 1]


def test_of_an_empty_column_nothing_can_be_asked():
    table = pa.table({"n": [1, 2, 3, 4], "gone": pa.array([None] * 4, pa.string())})
    with pytest.raises(RequestError, match="Query 1: 'gone' has no value or label 'x'"):
        kohort.anonymize(table, quasi=["n", "gone"], k=2, workload={"query": [{"where": [["gone", "=", "x"]]}]})


def test_a_mean_alone_and_who_was_left_out_leave_no_query_matched():
    table = pa.table({"n": [1, 2, 3, 4, 90, 91, 92, 300], "t": list("aaaabbbc")})
    both = {"query": [{"where": [["n", "<=", 1]]}, {"where": [["t", "=", "a"]]}]}
    mean = kohort.anonymize(table, quasi=["n", "t"], k=2, method="mondrian", statistic={"n": "mean"}, workload=both, seed=7)
    assert mean.answers is not None
    assert not mean.answers.matched[0]
    fewer = kohort.anonymize(table, quasi=["n", "t"], k=3, method="mondrian", suppress=0.2, workload=both, seed=7)
    assert fewer.answers is not None
    assert not fewer.answers.matched.any()


def test_all_mistakes_come_at_once(tmp_path):
    (tmp_path / "w.toml").write_text('[[query]]\nwhere = [["a"]]\n[[query]]\nweight = 0\n')
    with pytest.raises(RequestError, match="2 mistakes"):
        Workload.load(tmp_path / "w.toml")
    for text, told in (("query = 3", "list of queries"), ("[[query", "not proper TOML")):
        (tmp_path / "w.toml").write_text(text)
        with pytest.raises(RequestError, match=told):
            Workload.load(tmp_path / "w.toml")
    with pytest.raises(RequestError, match="cannot be read"):
        Workload.load(tmp_path / "none.toml")


# --- random workloads


def test_random_queries_are_about_as_many_records_as_asked():
    random = np.random.default_rng(5)
    table = made(
        [
            (int(n), float(r), str(t), date(2020, 1, 1) + timedelta(days=int(d)), "p", 1)
            for n, r, t, d in zip(
                random.integers(0, 100, 3_000), random.random(3_000), random.choice(list("abcde"), 3_000),
                random.integers(0, 400, 3_000), strict=True,
            )
        ]
    )  # fmt: skip
    engine = engine_of(table, np.zeros(3_000, np.int64))
    drawn = random_workload(table, engine._schema, queries=60, selectivity=0.1, seed=3)
    share = Questions(drawn, table, engine._schema).truth / 3_000
    assert 0.08 < np.median(share) < 0.2
    assert share.min() > 0
    assert all(2 <= len(query.where) <= 3 for query in drawn.queries)
    assert drawn == random_workload(table, engine._schema, queries=60, selectivity=0.1, seed=3)
    assert drawn != random_workload(table, engine._schema, queries=60, selectivity=0.1, seed=4)
    with pytest.raises(RequestError, match="selectivity"):
        random_workload(table, engine._schema, selectivity=0)
