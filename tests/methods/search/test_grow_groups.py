"""Methods that grow groups, compared with simple reference implementations: k-member, gccg, kaca, threshold."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kohort as kh
from kohort.constraints.constraints import Constraints
from kohort.encoding import encode as encoding
from kohort.errors import PromiseError
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.schema import columns as schema
from tests import oracles
from tests.oracles import grow_groups as plain

QUICK = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck), database=None)
SEEDS = st.integers(0, 2**63 - 1)


def partition(columns, method, k, *, seed=0, suppress=0.0, **option):
    """Return the labels of the method itself, before repair and suppression."""
    hierarchy = {"tree": oracles.TREE} if "tree" in columns else {}
    job = Job.build(quasi=list(columns), hierarchy=hierarchy, method=method, option=option, k=k)
    table = pa.table(columns)
    points = encoding.encode(table, schema.resolve(job.columns, table))
    checks = Constraints(job.promise, points.rows, suppress=suppress)
    return job.algorithm.partition(points, checks, job.method_options(), seed, Progress(1)).labels.tolist()


# --- compared with the reference implementations


@QUICK
@given(made=oracles.tables(most=20), k=st.integers(2, 5), seed=SEEDS, random_seeds=st.booleans())
def test_k_member_matches_the_oracle(made, k, seed, random_seeds):
    columns, measures = made
    table = plain.Table(columns.values(), measures)
    if table.rows < k:
        return
    labels = partition(columns, "k-members" if random_seeds else "k-member", k, seed=seed)
    assert labels == plain.k_member(table, k, seed, random_seeds=random_seeds)
    assert all(k <= size < 2 * k for size in Counter(labels).values())


@QUICK
@given(made=oracles.tables(most=24), k=st.integers(2, 5), parts=st.integers(1, 9))
def test_gccg_matches_the_oracle(made, k, parts):
    columns, measures = made
    table = plain.Table(columns.values(), measures)
    if table.rows < k:
        return
    labels = partition(columns, "gccg", k, parts=parts)
    assert labels == plain.gccg(table, k, parts)
    assert all(k <= size < 2 * k for size in Counter(labels).values())


@QUICK
@given(made=oracles.tables(most=20), k=st.integers(2, 5), seed=SEEDS, start=st.sampled_from(["classes", "records"]))
def test_kaca_matches_the_oracle(made, k, seed, start):
    columns, measures = made
    table = plain.Table(columns.values(), measures)
    if table.rows >= k:
        assert partition(columns, "kaca", k, seed=seed, start=start) == plain.kaca(table, k, seed, start=start)


@QUICK
@given(
    made=oracles.tables(most=20),
    k=st.integers(2, 4),
    seed=SEEDS,
    limit=st.sampled_from([0.0, 0.125, 0.25, 0.5, 1.0]),
    share=st.sampled_from([0.0, 0.2, 0.5]),
)
def test_threshold_matches_the_oracle(made, k, seed, limit, share):
    columns, measures = made
    table = plain.Table(columns.values(), measures)
    expected = plain.threshold(table, k, seed, limit, int(share * table.rows + 1e-9))
    if expected is None:
        with pytest.raises(PromiseError, match="threshold"):
            partition(columns, "threshold", k, seed=seed, suppress=share, threshold=limit)
    else:
        assert partition(columns, "threshold", k, seed=seed, suppress=share, threshold=limit) == expected


# --- special cases


def test_a_threshold_of_1_allows_every_group():
    table = pa.table({"a": [0, 100], "b": [1, 2]})
    weights = {"a": 2 / 3, "b": 0.1}
    release = kh.anonymize(table, quasi=["a", "b"], k=2, method="threshold", weight=weights, option={"threshold": 1})
    assert release.summary()["classes"] == 1


def test_an_error_in_a_block_names_the_block():
    table = pa.table({"a": [0] * 20 + [50, 60, 70, 80, 90, 100]})
    with pytest.raises(PromiseError, match=r"In a block of 6 rows: With threshold=0.01 .*--block 0"):
        kh.anonymize(table, quasi="a", k=3, method="threshold", option={"threshold": 0.01}, block=10)


@pytest.mark.parametrize("method", ["mdav", "kmeans-adjusted", "oka", "gccg"])
def test_allowing_suppression_never_raises_the_loss(method):
    table = pa.table({"a": [1] * 300 + [9] * 10, "s": (["x"] * 9 + ["y"]) * 31})
    without, with_budget = (
        kh.anonymize(table, quasi="a", sensitive="s", k=5, l=2, suppress=share, seed=1, method=method) for share in (0, 0.1)
    )
    assert with_budget.loss.leaf <= without.loss.leaf


def test_rows_that_the_promise_needs_are_not_suppressed():
    table = pa.table({"x": [0, 0, 1, 5, 5, 6, 9, 9], "s": list("aaaaaabb")})
    release = kh.anonymize(table, quasi="x", sensitive="s", k=2, l=2, suppress=0.3, method="mdav", seed=7)
    assert release.summary()["suppressed"] <= 2
