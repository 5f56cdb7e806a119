"""Workload files: reading, writing, and messages about mistakes."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pyarrow as pa
import pytest

import kohort
from kohort.errors import RequestError
from kohort.schema.workload import Predicate, Query, Workload
from tests.utility.queries.query_tables import published, table_of

# --- workloads as files


def test_saved_workload_loads_as_the_same_workload(tmp_path):
    workload = Workload(
        (
            Query((Predicate("n", "between", (1, 5)), Predicate("t", "in", ("a", "b"))), weight=2.5),
            Query((Predicate("d", ">=", (date(2020, 1, 31),)),), "AVG", "r"),
        )
    )
    workload.save(tmp_path / "w.toml")
    assert Workload.load(tmp_path / "w.toml") == workload
    assert workload.columns == ["n", "t", "d", "r"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"where": [["nn", "=", 1]]}, "Query 2: there is no column 'nn'. Known: n, r, t, d, s, o."),
        ({"where": [["i", "=", 1]]}, "Query 2: column 'i' is not published. Its role is identifier."),
        ({"where": [["n", "<", 10**400]]}, "Query 2: column 'n' has 64-bit numbers. Compare it with such a number."),
        ({"where": [["r", ">", float("nan")]]}, "Query 2: column 'r' has 64-bit numbers. Compare it with such a number."),
        (
            {"where": [["n", "=", 10**50]]},
            "Query 2: the condition on column 'n' can never be true: the column has 64-bit numbers.",
        ),
        (
            {"where": [["n", "between", 3.2, 3.8]]},
            "Query 2: the condition on column 'n' can never be true: the column has whole numbers.",
        ),
        ({"where": [["d", "<", "2020-01-01T10:00"]]}, "Query 2: column 'd' has dates. Leave out the time of day."),
        (
            {"where": [["d", "<", datetime(2020, 1, 1, 10, tzinfo=UTC)]]},
            "Query 2: column 'd' has dates. Leave out the time of day.",
        ),
        ({"where": ["n", "<", 3]}, 'Query 2: where must be a list of lists, also for one condition: [["age", ">=", 30]].'),
        ({"where": [], "weight": 10**400}, "Query 2: weight must be a number greater than 0 and less than 10^100."),
        ({"where": [["n", "=", "young"]]}, "Query 2: column 'n' has numbers. Compare it with a number."),
        ({"where": [["d", "<", "soon"]]}, "Query 2: column 'd' has dates. Compare it with a date such as 2019-03-31."),
        ({"where": [["t", "<", "b"]]}, "Query 2: column 't' has text, which has no order. Use = or in."),
        ({"where": [["t", "=", "zz"]]}, "Query 2: column 't' has no value or label 'zz'."),
        (
            {"where": [["n", "between", 9, 3]]},
            "Query 2: the condition on column 'n' can never be true: give the smaller value first.",
        ),
        ({"where": [["n", "=", 1.5]]}, "Query 2: the condition on column 'n' can never be true: the column has whole numbers."),
        ({"where": [["n", "between", 9]]}, "Query 2: the operator between for column 'n' needs two values, the smaller first."),
        ({"where": [["n", "~", 9]]}, "Query 2: the operator for column 'n' must be one of: = < <= > >= between in."),
        (
            {"where": [["n"]]},
            'Query 2: a condition must be a list of a column, an operator and values: ["age", "between", 30, 39].',
        ),
        ({"where": [], "wheight": 2}, "Query 2 has no setting 'wheight'. Did you mean 'weight'?"),
        ({"where": [], "weight": -1}, "Query 2: weight must be a number greater than 0 and less than 10^100."),
        ({"where": [], "aggregate": "MEAN"}, "Query 2: aggregate must be one of COUNT, SUM, AVG, MIN, MAX."),
        ({"where": [], "aggregate": "AVG"}, "Query 2: AVG needs a column. Set column."),
        ({"where": [], "column": "n"}, "Query 2: COUNT counts rows, so it takes no column. Remove column."),
        (
            {"where": [], "aggregate": "SUM", "column": "t"},
            "Query 2: SUM needs numbers, but column 't' does not have any. Use COUNT.",
        ),
        (7, "Query 2 is not a table. Write [[query]], and in the next line where = [...]."),
    ],
)
def test_message_names_the_number_of_the_query(query, message):
    table = table_of([(1, 0.5, "a", date(2020, 1, 1), "p", 1), (2, 0.75, "b", date(2020, 2, 1), "q", 2)])
    table = table.append_column("i", pa.array(["x", "y"]))
    with pytest.raises(RequestError) as caught:
        published(table, identifier="i", workload={"query": [{"where": [["n", ">", 0]]}, query]})
    assert str(caught.value) == message


def test_query_of_an_empty_column_is_an_error():
    table = pa.table({"n": [1, 2, 3, 4], "gone": pa.array([None] * 4, pa.string())})
    with pytest.raises(RequestError, match="Query 1: column 'gone' has no value or label 'x'"):
        kohort.anonymize(table, quasi=["n", "gone"], k=2, workload={"query": [{"where": [["gone", "=", "x"]]}]})


def test_all_mistakes_are_reported_at_once(tmp_path):
    (tmp_path / "w.toml").write_text('[[query]]\nwhere = [["a"]]\n[[query]]\nweight = 0\n')
    with pytest.raises(RequestError, match="2 mistakes"):
        Workload.load(tmp_path / "w.toml")
    for text, message in (("query = 3", r"must contain \[\[query\]\] tables"), ("[[query", "not valid TOML")):
        (tmp_path / "w.toml").write_text(text)
        with pytest.raises(RequestError, match=message):
            Workload.load(tmp_path / "w.toml")
    with pytest.raises(RequestError, match=r"There is no workload file .*none.toml'"):
        Workload.load(tmp_path / "none.toml")
