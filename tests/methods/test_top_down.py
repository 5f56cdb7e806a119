"""The method `top-down`."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import oracles
from tests.methods.small_tables import made, rows_in
from tests.oracles import gain_cuts as plain

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
OBJECTIVES = st.sampled_from(["leaf", "height"])


@QUICK
@given(table=plain.requests(), k=st.integers(2, 4), objective=OBJECTIVES)
def test_top_down_returns_the_better_of_single_axis_and_box_cuts(table, k, objective):
    columns, measures, requested = table
    if rows_in(columns) < k:
        return
    costs = plain.Costs(list(columns.values()), measures, list(requested["weight"].values()), objective)
    straight, boxes = (plain.split(costs, k, steps) for steps in (1, 20))
    least = min((straight, boxes), key=lambda parts: sum(map(costs.of_part, parts)))
    assert plain.same_groups(oracles.groups(made("top-down", columns, k, objective=objective, **requested)), least)
