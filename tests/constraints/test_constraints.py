"""Constraints on groups, compared with simple counts in Python."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kohort.constraints.constraints import Constraints
from kohort.encoding import encode as encoding
from kohort.encoding import sensitive
from kohort.errors import PromiseError, RequestError
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.schema import columns as schema
from tests import oracles
from tests.oracles import promises as promise_oracles

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
TREE = [
    ("a", "ab", "*"),
    ("b", "ab", "*"),
    ("c", "c", "*"),
    ("d", "de", "def", "*"),
    ("e", "de", "def", "*"),
    ("f", "f", "def", "*"),
]
SHARES = st.sampled_from([0.2, 0.25, 1 / 3, 0.5, 0.6, 0.75, 0.9])
PROMISES = {
    "alpha": st.fixed_dictionaries({"alpha": SHARES}),
    "alphas": st.fixed_dictionaries({"alpha": st.fixed_dictionaries({"default": SHARES, "a": SHARES})}),
    "l": st.fixed_dictionaries({"l": st.integers(2, 4)}),
    "entropy_l": st.fixed_dictionaries({"entropy_l": st.sampled_from([1.2, 2.0, 2.5, 3.0])}),
    "recursive_l": st.fixed_dictionaries({"recursive_l": st.tuples(st.integers(2, 4), st.sampled_from([0.5, 1.0, 2.0, 3.0]))}),
    "t": st.fixed_dictionaries({"t": SHARES}),
    "ordered": st.fixed_dictionaries({"t": SHARES, "t_distance": st.just("ordered")}),
    "tree": st.fixed_dictionaries({"t": SHARES, "t_distance": st.just("tree")}),
    "beta": st.fixed_dictionaries(
        {"beta": st.sampled_from([0.5, 1.0, 3.0]), "beta_kind": st.sampled_from(["basic", "enhanced"])}
    ),
    "delta": st.fixed_dictionaries({"delta": st.sampled_from([0.5, 1.0, 2.0])}),
}
VALUES = st.sampled_from(["a", "b", "c", "d", "e", "f", None])


def histogram(values, persons, rows):
    """Return the number of people with each value in these rows."""
    holders = defaultdict(set)
    for row in rows:
        holders[promise_oracles.MISSING if values[row] is None else values[row]].add(persons[row])
    return {value: len(holding) for value, holding in holders.items()}


def plain(values, persons, k: int, requested: dict[str, Any]):
    """Return a function that checks with simple counts whether rows are a valid group."""
    table = histogram(values, persons, range(len(values)))
    whole = sum(table.values())
    order = sorted(table, key=lambda value: (value != promise_oracles.MISSING, value))
    distances = {
        "equal": promise_oracles.equal_distance,
        "ordered": lambda counts, _table: promise_oracles.ordered_distance(counts, {value: table[value] for value in order}),
        "tree": lambda counts, table: promise_oracles.tree_distance(counts, table, TREE),
    }

    def is_valid(rows):
        size = len({persons[row] for row in rows})
        counts = histogram(values, persons, rows)
        total = sum(counts.values())
        q = {value: counts.get(value, 0) / max(total, 1) for value in table}
        p = {value: count / whole for value, count in table.items()}
        if size < k:
            return False
        if "alpha" in requested:
            limits: dict[str, float] = (
                requested["alpha"] if isinstance(requested["alpha"], dict) else {"default": requested["alpha"]}
            )
            if any(count > limits.get(value, limits["default"]) * size + 1e-9 for value, count in counts.items()):
                return False
        if len(counts) < requested.get("l", 0):
            return False
        if "entropy_l" in requested and promise_oracles.entropy_l(counts) < requested["entropy_l"] - 1e-9:
            return False
        if "recursive_l" in requested and not promise_oracles.is_recursive(counts, *requested["recursive_l"]):
            return False
        if "t" in requested:
            distance = distances[requested.get("t_distance", "equal")](counts, table)
            if distance > requested["t"] + 1e-9:
                return False
        if "beta" in requested:
            for v in counts:
                limit = requested["beta"] if requested["beta_kind"] == "basic" else min(requested["beta"], -math.log(p[v]))
                if q[v] / p[v] - 1 > limit + 1e-9:
                    return False
        return not (
            "delta" in requested and any(q[v] == 0 or abs(math.log2(q[v] / p[v])) >= requested["delta"] - 1e-10 for v in table)
        )

    return is_valid


def bound(values, persons, k, requested, extra=()):
    """Return the constraints of kohort for a sensitive column. `extra` are further columns without promises."""
    table = pa.table({"q": [0] * len(values), "s": pa.array(values, pa.string()), "u": persons, **dict(extra)})
    if requested.get("t_distance") == "ordered":
        requested = {**requested, "hierarchy": {"s": "order:a,b,c,d,e,f"}}
    elif requested.get("t_distance") == "tree":
        requested = {**requested, "hierarchy": {"s": TREE}}
    distinct_persons = len(set(persons)) < len(persons)
    job = Job.build(quasi="q", sensitive="s", k=k, **({"unit": "u"} if distinct_persons else {"drop": "u"}), **requested)
    made = schema.resolve(job.columns, table, measured=job.measured())
    sensitive_columns = sensitive.encode_sensitive(table, made, job.sensitive_promises())
    return Constraints(job.promise, len(values), sensitive_columns, sensitive.encode_units(table, made))


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("rows_each", [1, 3], ids=["rows", "people"])
@QUICK
@given(data=st.data())
def test_valid_groups_match_simple_counts(promise, rows_each, data):
    values = ["a", *data.draw(st.lists(VALUES, min_size=5, max_size=40))]
    persons = data.draw(st.permutations([row // rows_each for row in range(len(values))]))
    labels = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values))))
    labels = np.unique(labels, return_inverse=True)[1]
    k, requested = data.draw(st.integers(2, 4)), data.draw(PROMISES[promise])
    is_valid = plain(values, persons, k, requested)
    constraints = bound(values, persons, k, requested)
    expected = [is_valid(np.flatnonzero(labels == group).tolist()) for group in range(labels.max() + 1)]
    assert constraints.valid_groups(labels).tolist() == expected
    assert constraints.valid_groups(np.zeros_like(labels)).tolist() == [is_valid(range(len(values)))]
    shuffled = np.random.default_rng(1).permutation(len(values))
    assert constraints.take(shuffled).valid_groups(labels[shuffled]).tolist() == expected
    try:
        constraints.require_whole_table()
        whole = True
    except PromiseError:
        whole = False
    assert whole == is_valid(range(len(values)))


@pytest.mark.parametrize("relaxed", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["strict", "relaxed"])
@pytest.mark.parametrize("rows_each", [1, 2], ids=["rows", "people"])
@pytest.mark.parametrize("promise", PROMISES)
@settings(QUICK, max_examples=15)
@given(data=st.data(), made=oracles.tables())
def test_mondrian_under_a_promise_matches_the_oracle(promise, rows_each, relaxed, data, made):
    columns, measures = made
    rows = len(next(iter(columns.values())))
    values = ["a", *data.draw(st.lists(VALUES, min_size=rows - 1, max_size=rows - 1))]
    persons = [row // rows_each for row in range(rows)]
    k, requested = data.draw(st.integers(2, 3)), data.draw(PROMISES[promise])
    constraints = bound(values, persons, k, requested)
    try:
        constraints.require_whole_table()
    except PromiseError:
        return
    is_valid = plain(values, persons, k, requested)
    plain_labels = oracles.mondrian(list(columns.values()), measures, k, relaxed=relaxed, is_valid=is_valid)
    table = pa.table(columns)
    hierarchy = {"tree": oracles.TREE} if "tree" in columns else {}
    option = {"relaxed": relaxed}
    job = Job.build(method="mondrian", quasi=list(columns), hierarchy=hierarchy, k=k, option=option, row_order="given")
    points = encoding.encode(table, schema.resolve(job.columns, table))
    labels = job.algorithm.partition(points, constraints, job.method_options(), 0, Progress(1)).labels
    assert labels.tolist() == plain_labels


def test_errors_for_columns_that_cannot_be_encoded():
    with pytest.raises(RequestError, match="alpha has limits for 1 value"):
        bound(["a", "b"] * 4, range(8), 2, {"alpha": {"zz": 0.5}})
    table = pa.table({"q": [1] * 4, "s": list("abab"), "u": ["x", "x", None, ""]})
    job = Job.build(quasi="q", sensitive="s", unit="u", k=2)
    with pytest.raises(RequestError, match="empty in 2 row"):
        sensitive.encode_units(table, schema.resolve(job.columns, table))
    job = Job.build(quasi="q", sensitive="s", drop="u", k=2, t=0.2, t_distance="ordered")
    with pytest.raises(RequestError, match="contains text, which has no order"):
        sensitive.encode_sensitive(table, schema.resolve(job.columns, table), job.sensitive_promises())
    job = Job.build(quasi="q", sensitive="s", drop="u", k=2, t=0.2, t_distance="tree")
    with pytest.raises(RequestError, match="has no tree for t_distance=tree"):
        sensitive.encode_sensitive(table, schema.resolve(job.columns, table), job.sensitive_promises())
