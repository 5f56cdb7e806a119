"""Random small tables and queries on them."""

from __future__ import annotations

import math
from datetime import date, timedelta

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from kohort.engines.memory import MemoryEngine, MemoryPartition, MemoryPublication
from kohort.job.job import Job
from kohort.methods import Partition
from kohort.progress import Progress
from kohort.schema.workload import AGGREGATES, OPERATORS, Predicate, Query, Workload
from kohort.utility.queries.answers import Answers, Questions

TREE = [("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*"), ("e", "y", "*")]
ROLES = {"quasi": ["n", "r", "t", "d"], "sensitive": ["s"], "other": ["o"]}


def published(table: pa.Table, labels: np.ndarray | None = None, **requested) -> MemoryPublication:
    """Publish a table by the requested method or in the given groups."""
    job = Job.build(**{"hierarchy": {"t": TREE}, **ROLES, "k": 2, "method": "mondrian", "seed": 1, "allow": ["o"], **requested})
    engine = MemoryEngine(job, Progress(1))
    encoded = engine.encode(table)
    return engine.publish(engine.partition(encoded) if labels is None else MemoryPartition(encoded, Partition(labels)))


def answers(publication: MemoryPublication, *queries: Query) -> Answers:
    encoded = publication.encoded
    return publication.ask(Questions(Workload(queries), encoded.table, encoded.schema))


# --- tables and queries

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


def table_of(cells) -> pa.Table:
    n, r, t, d, s, o = zip(*cells, strict=True)
    types = (pa.int64(), pa.float64(), pa.string(), pa.date32(), pa.string(), pa.int64())
    columns = [pa.array(column, value_type) for column, value_type in zip((n, r, t, d, s, o), types, strict=True)]
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
    """Return whether the predicate holds for a value, in plain Python."""
    if value is None:
        return False
    if predicate.column == "t":
        below = {"x": "ab", "y": "cde"}
        return any(value in below.get(str(value_or_label), str(value_or_label)) for value_or_label in predicate.values)
    first, last = predicate.values[0], predicate.values[-1]
    return {
        "=": value == first, "<": value < first, "<=": value <= first, ">": value > first, ">=": value >= first,
        "between": first <= value <= last, "in": value in predicate.values,
    }[predicate.operator]  # fmt: skip


def true_answer(query: Query, table: pa.Table):
    rows_selected = [row for row in table.to_pylist() if all(holds(p, row[p.column]) for p in query.where)]
    if query.aggregate == "COUNT":
        return len(rows_selected)
    numbers = [row[query.column] for row in rows_selected if row[query.column] is not None]
    if not numbers:
        return math.nan
    return {"SUM": sum(numbers), "AVG": sum(numbers) / len(numbers), "MIN": min(numbers), "MAX": max(numbers)}[query.aggregate]


def readable(table: pa.Table, query: Query) -> bool:
    """Return whether the query fits the table.

    A value that does not occur in a column without a tree is an error. A column of only missing values is text.
    """
    seen = set(table.column("s").to_pylist())
    typed = all(table.column(name).null_count < table.num_rows for name in "nrtd")
    return typed and all(p.column != "s" or seen.issuperset(p.values) for p in query.where)
