"""Gain cuts, compared with a simple reference implementation."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kohort as kh
from kohort import datasets
from kohort.errors import CancelledError
from kohort.methods.search import gain_cuts as splitting
from kohort.methods.search.gain_cuts import split_table
from kohort.progress import Progress
from tests import oracles
from tests.methods.small_tables import encoded, made, prepared, rows_in
from tests.oracles import gain_cuts as plain

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
OBJECTIVES = st.sampled_from(["leaf", "height"])


def parts_of(columns, k, steps, **requested):
    engine = prepared(columns, k, **requested)
    return oracles.groups(split_table(engine.points, engine.constraints, steps, Progress(1)).tolist())


@QUICK
@given(table=plain.requests(), k=st.integers(2, 4), steps=st.sampled_from([1, 20]), objective=OBJECTIVES)
def test_cuts_match_the_oracle(table, k, steps, objective):
    columns, measures, requested = table
    if rows_in(columns) < k:
        return
    costs = plain.Costs(list(columns.values()), measures, list(requested["weight"].values()), objective)
    got = parts_of(columns, k, steps, objective=objective, **requested)
    assert plain.same_groups(got, plain.split(costs, k, steps))
    assert min(map(len, got)) >= k


@settings(QUICK, max_examples=40)
@given(table=plain.requests(most=60), k=st.integers(2, 4), steps=st.sampled_from([1, 2, 20]), objective=OBJECTIVES)
def test_cuts_of_larger_tables_match_the_oracle(table, k, steps, objective):
    """Larger tables reveal a wrong measure or a missing candidate more often than small ones."""
    columns, measures, requested = table
    if rows_in(columns) >= k:
        costs = plain.Costs(list(columns.values()), measures, list(requested["weight"].values()), objective)
        assert plain.same_groups(parts_of(columns, k, steps, objective=objective, **requested), plain.split(costs, k, steps))


def test_a_number_is_cut_where_the_gain_is_largest():
    """The range is 10. The median separates the three lowest rows. Separating the two highest gains more: 6 * 0.7 + 2 * 1."""
    assert sorted(parts_of({"x": [0, 1, 1, 2, 2, 3, 10, 10]}, 2, 1)) == [[0, 1, 2], [3, 4, 5], [6, 7]]


def test_a_tree_node_is_separated_from_the_rest():
    """The leaves of node `de` are between other leaves. The rest is published as * before and after, so it loses nothing."""
    got = parts_of({"tree": ["a", "d", "z", "e", "d", "b"]}, 3, 1)
    assert sorted(got) == [[0, 2, 5], [1, 3, 4]]


def test_a_box_is_separated_where_a_cut_of_one_axis_gains_less():
    """Four equal rows are in a corner. No cut of one axis separates them from both neighbours."""
    columns = {"x": [0, 0, 0, 0, 0, 0, 0, 4, 4, 4, 2, 1], "y": [0, 0, 0, 0, 4, 3, 4, 0, 0, 1, 4, 3]}
    boxes, straight = parts_of(columns, 3, 20), parts_of(columns, 3, 1)
    measures = [oracles.Numbers(column) for column in columns.values()]
    costs = plain.Costs(list(columns.values()), measures)
    assert plain.same_groups(boxes, plain.split(costs, 3, 20))
    assert plain.same_groups(straight, plain.split(costs, 3, 1))
    assert [0, 1, 2, 3] in boxes


@QUICK
@given(table=plain.requests(most=50), k=st.integers(2, 4), steps=st.sampled_from([1, 20]), levels=st.permutations([9, 17, 33]))
def test_laying_out_parts_again_does_not_change_the_groups(table, k, steps, levels):
    columns, _measures, requested = table
    if rows_in(columns) < k:
        return
    found = []
    for least in ((0,), splitting.LEAST, (*sorted(levels[:2], reverse=True), 0)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(splitting, "LEAST", least)
            found.append(parts_of(columns, k, steps, **requested))
    assert plain.same_groups(found[0], found[1])
    assert plain.same_groups(found[0], found[2])


@pytest.mark.parametrize("steps", [1, 20])
def test_laying_out_parts_again_does_not_change_the_groups_of_a_large_table(steps, monkeypatch):
    sample = datasets.hospital(6_000)
    engine = encoded(sample.table, kh.Job.build(sample.job, k=5))
    default = split_table(engine.points, engine.constraints, steps, Progress(1)).tolist()
    monkeypatch.setattr(splitting, "LEAST", (1_000, 50, 0))
    other = split_table(engine.points, engine.constraints, steps, Progress(1)).tolist()
    assert plain.same_groups(oracles.groups(default), oracles.groups(other))
    assert min(Counter(default).values()) >= 5
    assert sorted(set(default)) == list(range(max(default) + 1))


@settings(QUICK, max_examples=30)
@given(table=plain.requests(), k=st.integers(2, 4), steps=st.sampled_from([1, 20]))
def test_a_promise_that_all_groups_keep_does_not_change_the_groups(table, k, steps):
    columns, _measures, requested = table
    rows = rows_in(columns)
    if rows < k:
        return
    without = parts_of(columns, k, steps, **requested)
    secrets = {**columns, "s": [f"s{row}" for row in range(rows)]}
    assert plain.same_groups(without, parts_of(secrets, k, steps, quasi=list(columns), sensitive="s", l=2, **requested))
    persons = {**columns, "u": list(range(rows))}
    assert plain.same_groups(without, parts_of(persons, k, steps, quasi=list(columns), unit="u", **requested))


@settings(QUICK, max_examples=50)
@given(table=plain.requests(most=40), k=st.integers(2, 3), steps=st.sampled_from([1, 20]), data=st.data())
def test_both_sides_of_every_cut_keep_the_promise(table, k, steps, data):
    columns, _measures, requested = table
    rows = rows_in(columns)
    secrets = data.draw(st.lists(st.sampled_from("abc"), min_size=rows, max_size=rows))
    persons = data.draw(st.lists(st.integers(0, rows), min_size=rows, max_size=rows))
    if len(set(secrets)) < 2 or len(set(persons)) < k:
        return
    table = {**columns, "s": secrets, "u": persons}
    for part in parts_of(table, k, steps, quasi=list(columns), sensitive="s", unit="u", l=2, **requested):
        assert len({secrets[row] for row in part}) >= 2
        assert len({persons[row] for row in part}) >= k


@settings(QUICK, max_examples=30)
@given(table=plain.requests(), k=st.integers(2, 4), data=st.data())
def test_a_label_is_an_additional_axis(table, k, data):
    columns, measures, requested = table
    if rows_in(columns) < k:
        return
    cells, costs, requested = plain.with_label(data.draw, columns, measures, requested)
    ways = [plain.split(costs, k, steps) for steps in (1, 20)]
    least = min(ways, key=lambda parts: sum(map(costs.of_part, parts)))
    assert plain.same_groups(oracles.groups(made("top-down", cells, k, **requested)), least)
    assert made("merge", cells, k, **requested) == plain.merge(costs, k)


def test_a_promise_does_not_prevent_all_cuts():
    """Both values are everywhere, so almost every cut has both values on both sides."""
    columns = {"x": list(range(64)), "s": ["a", "b"] * 32}
    parts = parts_of(columns, 2, 20, quasi="x", sensitive="s", l=2)
    assert sorted(len(part) for part in parts) == [2] * 32


@pytest.mark.parametrize("steps", [1, 20])
@pytest.mark.parametrize(
    ("columns", "parts"),
    [
        ({"few": [1, 1, 1, 1, 1, 1]}, 1),
        ({"text": [None] * 6}, 1),
        ({"text": [None, None, None, "x", "x", "x"]}, 2),
        ({"few": [0, 1, 2]}, 1),
        ({"few": [0, 0, 0, 4, 4]}, 1),
        ({"tree": ["a", "a", "a", "b", "b", "b"]}, 2),
        ({"date": ["2020-01-05", "2020-01-25"] * 3}, 1),
    ],
)
def test_number_of_parts_in_special_cases(columns, parts, steps):
    assert len(parts_of(columns, 3, steps)) == parts


def test_cutting_can_be_cancelled():
    engine = prepared({"x": list(range(50))}, 2)
    progress = Progress(1)
    progress.cancel()
    with pytest.raises(CancelledError):
        split_table(engine.points, engine.constraints, 20, progress)
