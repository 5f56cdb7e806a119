"""Constraints on groups, compared with plain counts."""

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
    """How many persons hold each value in these rows."""
    holders = defaultdict(set)
    for row in rows:
        holders[promise_oracles.MISSING if values[row] is None else values[row]].add(persons[row])
    return {value: len(who) for value, who in holders.items()}


def plain(values, persons, k: int, asked: dict[str, Any]):
    """A function that says whether these rows may stand, by plain counts."""
    table = histogram(values, persons, range(len(values)))
    whole = sum(table.values())
    order = sorted(table, key=lambda value: (value != promise_oracles.MISSING, value))
    distances = {
        "equal": promise_oracles.equal_distance,
        "ordered": lambda counts, _table: promise_oracles.ordered_distance(counts, {value: table[value] for value in order}),
        "tree": lambda counts, table: promise_oracles.tree_distance(counts, table, TREE),
    }

    def stands(rows):
        size = len({persons[row] for row in rows})
        counts = histogram(values, persons, rows)
        total = sum(counts.values())
        q = {value: counts.get(value, 0) / max(total, 1) for value in table}
        p = {value: count / whole for value, count in table.items()}
        if size < k:
            return False
        if "alpha" in asked:
            limits: dict[str, float] = asked["alpha"] if isinstance(asked["alpha"], dict) else {"default": asked["alpha"]}
            if any(count > limits.get(value, limits["default"]) * size + 1e-9 for value, count in counts.items()):
                return False
        if len(counts) < asked.get("l", 0):
            return False
        if "entropy_l" in asked and promise_oracles.entropy_l(counts) < asked["entropy_l"] - 1e-9:
            return False
        if "recursive_l" in asked and not promise_oracles.is_recursive(counts, *asked["recursive_l"]):
            return False
        if "t" in asked:
            distance = distances[asked.get("t_distance", "equal")](counts, table)
            if distance > asked["t"] + 1e-9:
                return False
        if "beta" in asked:
            for v in counts:
                limit = asked["beta"] if asked["beta_kind"] == "basic" else min(asked["beta"], -math.log(p[v]))
                if q[v] / p[v] - 1 > limit + 1e-9:
                    return False
        return not ("delta" in asked and any(q[v] == 0 or abs(math.log2(q[v] / p[v])) >= asked["delta"] - 1e-10 for v in table))

    return stands


def bound(values, persons, k, asked, extra=()):
    """The product's checks for a column of sensitive values, beside others without a promise of their own."""
    table = pa.table({"q": [0] * len(values), "s": pa.array(values, pa.string()), "u": persons, **dict(extra)})
    if asked.get("t_distance") == "ordered":
        asked = {**asked, "hierarchy": {"s": "order:a,b,c,d,e,f"}}
    elif asked.get("t_distance") == "tree":
        asked = {**asked, "hierarchy": {"s": TREE}}
    distinct_persons = len(set(persons)) < len(persons)
    job = Job.build(quasi="q", sensitive="s", k=k, **({"unit": "u"} if distinct_persons else {"drop": "u"}), **asked)
    made = schema.resolve(job.columns, table, measured=job.measured())
    secrets = sensitive.encode_sensitive(table, made, job.sensitive_promises())
    return Constraints(job.promise, len(values), secrets, sensitive.encode_units(table, made))


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("rows_each", [1, 3], ids=["rows", "persons"])
@QUICK
@given(data=st.data())
def test_groups_keep_promises_as_plain_counts_say(promise, rows_each, data):
    values = ["a", *data.draw(st.lists(VALUES, min_size=5, max_size=40))]
    persons = data.draw(st.permutations([row // rows_each for row in range(len(values))]))
    labels = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values))))
    labels = np.unique(labels, return_inverse=True)[1]
    k, asked = data.draw(st.integers(2, 4)), data.draw(PROMISES[promise])
    stands = plain(values, persons, k, asked)
    checks = bound(values, persons, k, asked)
    expected = [stands(np.flatnonzero(labels == group).tolist()) for group in range(labels.max() + 1)]
    assert checks.valid_groups(labels).tolist() == expected
    assert checks.valid_groups(np.zeros_like(labels)).tolist() == [stands(range(len(values)))]
    shuffled = np.random.default_rng(1).permutation(len(values))
    assert checks.take(shuffled).valid_groups(labels[shuffled]).tolist() == expected
    try:
        checks.require_whole_table()
        whole = True
    except PromiseError:
        whole = False
    assert whole == stands(range(len(values)))


@pytest.mark.parametrize("relaxed", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["strict", "relaxed"])
@pytest.mark.parametrize("rows_each", [1, 2], ids=["rows", "persons"])
@pytest.mark.parametrize("promise", PROMISES)
@settings(QUICK, max_examples=15)
@given(data=st.data(), made=oracles.tables())
def test_mondrian_under_a_promise_matches_the_oracle(promise, rows_each, relaxed, data, made):
    columns, measures = made
    rows = len(next(iter(columns.values())))
    values = ["a", *data.draw(st.lists(VALUES, min_size=rows - 1, max_size=rows - 1))]
    persons = [row // rows_each for row in range(rows)]
    k, asked = data.draw(st.integers(2, 3)), data.draw(PROMISES[promise])
    checks = bound(values, persons, k, asked)
    try:
        checks.require_whole_table()
    except PromiseError:
        return
    stands = plain(values, persons, k, asked)
    plain_labels = oracles.mondrian(list(columns.values()), measures, k, relaxed=relaxed, stands=stands)
    table = pa.table(columns)
    hierarchy = {"tree": oracles.TREE} if "tree" in columns else {}
    option = {"relaxed": relaxed}
    job = Job.build(method="mondrian", quasi=list(columns), hierarchy=hierarchy, k=k, option=option, row_order="given")
    points = encoding.encode(table, schema.resolve(job.columns, table))
    labels = job.algorithm.partition(points, checks, job.method_options(), 0, Progress(1)).labels
    assert labels.tolist() == plain_labels


def test_what_cannot_be_bound_is_said():
    with pytest.raises(RequestError, match="alpha names 1 value"):
        bound(["a", "b"] * 4, range(8), 2, {"alpha": {"zz": 0.5}})
    table = pa.table({"q": [1] * 4, "s": list("abab"), "u": ["x", "x", None, ""]})
    job = Job.build(quasi="q", sensitive="s", unit="u", k=2)
    with pytest.raises(RequestError, match="empty in 2 row"):
        sensitive.encode_units(table, schema.resolve(job.columns, table))
    job = Job.build(quasi="q", sensitive="s", drop="u", k=2, t=0.2, t_distance="ordered")
    with pytest.raises(RequestError, match="holds text, which has no order"):
        sensitive.encode_sensitive(table, schema.resolve(job.columns, table), job.sensitive_promises())
    job = Job.build(quasi="q", sensitive="s", drop="u", k=2, t=0.2, t_distance="tree")
    with pytest.raises(RequestError, match="has no tree for t_distance=tree"):
        sensitive.encode_sensitive(table, schema.resolve(job.columns, table), job.sensitive_promises())
