"""The method `merge`, compared with a simple reference implementation."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests import oracles
from tests.methods.small_tables import made, rows_in
from tests.oracles import gain_cuts as plain

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
OBJECTIVES = st.sampled_from(["leaf", "height"])


@QUICK
@given(table=plain.requests(most=30), k=st.integers(2, 5), objective=OBJECTIVES)
@example(table=({"few": [0, 4, 0, 4, 1]}, [oracles.Numbers([0, 4])], {"weight": {"few": 1}}), k=2, objective="leaf")
def test_merging_matches_the_oracle(table, k, objective):
    columns, measures, requested = table
    if rows_in(columns) < k:
        return
    costs = plain.Costs(list(columns.values()), measures, list(requested["weight"].values()), objective)
    assert made("merge", columns, k, objective=objective, **requested) == plain.merge(costs, k)


def test_merging_more_groups_than_a_neighbourhood_has():
    rng = np.random.default_rng(4)
    columns = {"few": rng.integers(0, 64, 150).tolist(), "half": (rng.integers(0, 32, 150) / 2).tolist()}
    columns["few"][:2], columns["half"][:2] = [0, 64], [0.0, 16.0]
    costs = plain.Costs(list(columns.values()), [oracles.Numbers(column) for column in columns.values()])
    for k in (2, 5):
        assert made("merge", columns, k) == plain.merge(costs, k)


def test_the_smallest_group_merges_first():
    """In the second table the 5 merges with the 8s, because 4 * 3/8 is less than 3 * 5/8. Then the 0s merge with that group."""
    assert made("merge", {"few": [4, 4, 4, 5, 8, 8, 8]}, 3) == [0, 0, 0, 0, 1, 1, 1]
    assert made("merge", {"few": [0, 0, 5, 8, 8, 8]}, 3) == [0] * 6
