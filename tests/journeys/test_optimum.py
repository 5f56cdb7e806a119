"""Test that no method has less loss than the best partition of a very small table."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kohort.engines.memory import MemoryEngine
from kohort.errors import PromiseError
from kohort.job.job import Job
from kohort.methods import METHODS
from kohort.progress import Progress
from tests import oracles
from tests.oracles import grow_groups as plain

QUICK_METHODS = ("auto", "mondrian", "k-member")
QUICK = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), database=None)


def total_il(columns, method, k):
    """Return the loss of a method; None if it cannot keep the promise."""
    hierarchy = {"tree": oracles.TREE} if "tree" in columns else {}
    engine = MemoryEngine(Job.build(quasi=list(columns), hierarchy=hierarchy, method=method, k=k, seed=7), Progress(1))
    encoded = engine.encode(pa.table(columns))
    try:
        made = engine.partition(encoded)
    except PromiseError:
        assert method == "threshold"
        return None
    return engine.publish(made).result.loss.total_il


@pytest.mark.parametrize(
    "method", [pytest.param(name, marks=() if name in QUICK_METHODS else pytest.mark.slow) for name in METHODS]
)
@QUICK
@given(made=oracles.tables(most=8), k=st.integers(2, 4))
def test_no_method_has_less_loss_than_the_best_partition(method, made, k):
    columns, measures = made
    table = plain.Table(columns.values(), measures)
    if table.rows < k:
        return
    loss = total_il(columns, method, k)
    assert loss is None or loss >= float(plain.least_loss(table, k)) - 1e-9


def test_least_loss_matches_all_partitions_of_five_rows():
    """The partitions are listed here, independently of the search."""
    columns, k = {"half": [-4.0, 4.0, 0.5, 0.0, -3.5]}, 2
    table = plain.Table(columns.values(), [oracles.Numbers(columns["half"])])
    rows = set(range(5))
    splits = [[*rows]], *([[*pair], [*(rows - {*pair})]] for pair in combinations(rows, 2))
    assert plain.least_loss(table, k) == min(sum(map(table.loss, groups)) for groups in splits)
    assert plain.least_loss(table, k) == 2 * Fraction(1, 16) + 3 * Fraction(1, 2)
    assert total_il(columns, "k-member", k) == pytest.approx(float(plain.least_loss(table, k)))
