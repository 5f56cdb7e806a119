"""Top-down cuts and merging from below against plain readings of what they say, and what `auto` makes of both."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import kohort as kh
from kohort import datasets
from kohort.engines.memory import MemoryEngine
from kohort.errors import CancelledError
from kohort.methods import METHODS
from kohort.methods.search import gain_cuts as splitting
from kohort.methods.search.gain_cuts import split_table
from kohort.progress import Progress
from tests import oracles
from tests import splitting_oracles as plain

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
OBJECTIVES = st.sampled_from(["leaf", "height"])


def prepared(columns, k, quasi=None, **asked):
    """An engine that has encoded the columns as they stand."""
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    hierarchy = {"tree": oracles.TREE} if "tree" in table.column_names else {}
    job = kh.Job.build(quasi=quasi or table.column_names, hierarchy=hierarchy, row_order="given", **{"k": k, **asked})
    return encoded(table, job)


def encoded(table, job):
    progress = Progress(1)
    progress._inside.a_task = True  # as inside a task: no thread for each of many small pieces of work
    engine = MemoryEngine(job, progress)
    engine.read(table)
    engine.encode()
    return engine


def parts_of(columns, k, steps, **asked):
    engine = prepared(columns, k, **asked)
    return oracles.groups(split_table(engine._points, engine._constraints, steps, Progress(1)).tolist())


def made(method, columns, k, **asked):
    """What the method itself makes, before anything is finished or improved."""
    engine = prepared(columns, k, **asked)
    found = METHODS[method].partition(engine._points, engine._constraints, METHODS[method].options(), 7, Progress(1))
    return found.labels.tolist()


def rows_in(columns):
    return len(next(iter(columns.values())))


# --- top-down


@QUICK
@given(table=plain.asked(), k=st.integers(2, 4), steps=st.sampled_from([1, 20]), objective=OBJECTIVES)
def test_cuts_are_those_of_the_plain_reading(table, k, steps, objective):
    columns, measures, asked = table
    if rows_in(columns) < k:
        return
    costs = plain.Costs(list(columns.values()), measures, list(asked["weight"].values()), objective)
    got = parts_of(columns, k, steps, objective=objective, **asked)
    assert plain.same_groups(got, plain.split(costs, k, steps))
    assert min(map(len, got)) >= k


@settings(QUICK, max_examples=40)
@given(table=plain.asked(most=60), k=st.integers(2, 4), steps=st.sampled_from([1, 2, 20]), objective=OBJECTIVES)
def test_larger_tables_too(table, k, steps, objective):
    """In these a wrong measure, or a candidate that is passed over, shows more often than in small ones."""
    columns, measures, asked = table
    if rows_in(columns) >= k:
        costs = plain.Costs(list(columns.values()), measures, list(asked["weight"].values()), objective)
        assert plain.same_groups(parts_of(columns, k, steps, objective=objective, **asked), plain.split(costs, k, steps))


def test_by_hand_a_number_is_cut_where_most_is_gained():
    """Range 10. The median would cut off the three lowest; cutting off the two highest gains more: 6 * 0.7 + 2 * 1."""
    assert sorted(parts_of({"x": [0, 1, 1, 2, 2, 3, 10, 10]}, 2, 1)) == [[0, 1, 2], [3, 4, 5], [6, 7]]


def test_by_hand_a_node_leaves_the_rest():
    """`de` stands between other leaves: the rest is published as * before and after, and loses nothing by it."""
    got = parts_of({"tree": ["a", "d", "z", "e", "d", "b"]}, 3, 1)
    assert sorted(got) == [[0, 2, 5], [1, 3, 4]]


def test_by_hand_a_box_leaves_where_a_straight_cut_gains_less():
    """Four equal rows in a corner that no single cut sets free from both neighbours."""
    columns = {"x": [0, 0, 0, 0, 0, 0, 0, 4, 4, 4, 2, 1], "y": [0, 0, 0, 0, 4, 3, 4, 0, 0, 1, 4, 3]}
    boxes, straight = parts_of(columns, 3, 20), parts_of(columns, 3, 1)
    measures = [oracles.Numbers(column) for column in columns.values()]
    costs = plain.Costs(list(columns.values()), measures)
    assert plain.same_groups(boxes, plain.split(costs, 3, 20))
    assert plain.same_groups(straight, plain.split(costs, 3, 1))
    assert [0, 1, 2, 3] in boxes


@QUICK
@given(table=plain.asked(), k=st.integers(2, 4), objective=OBJECTIVES)
def test_the_method_is_the_better_of_both_ways(table, k, objective):
    columns, measures, asked = table
    if rows_in(columns) < k:
        return
    costs = plain.Costs(list(columns.values()), measures, list(asked["weight"].values()), objective)
    straight, boxes = (plain.split(costs, k, steps) for steps in (1, 20))
    least = min((straight, boxes), key=lambda parts: sum(map(costs.of_part, parts)))
    assert plain.same_groups(oracles.groups(made("top-down", columns, k, objective=objective, **asked)), least)


@QUICK
@given(table=plain.asked(most=50), k=st.integers(2, 4), steps=st.sampled_from([1, 20]), levels=st.permutations([9, 17, 33]))
def test_laying_parts_out_anew_changes_nothing(table, k, steps, levels):
    columns, _measures, asked = table
    if rows_in(columns) < k:
        return
    found = []
    for least in ((0,), splitting.LEAST, (*sorted(levels[:2], reverse=True), 0)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(splitting, "LEAST", least)
            found.append(parts_of(columns, k, steps, **asked))
    assert plain.same_groups(found[0], found[1])
    assert plain.same_groups(found[0], found[2])


@pytest.mark.parametrize("steps", [1, 20])
def test_laying_parts_out_anew_changes_nothing_in_a_large_table(steps, monkeypatch):
    sample = datasets.hospital(6_000)
    engine = encoded(sample.table, kh.Job.build(sample.job, k=5))
    usual = split_table(engine._points, engine._constraints, steps, Progress(1)).tolist()
    monkeypatch.setattr(splitting, "LEAST", (1_000, 50, 0))
    other = split_table(engine._points, engine._constraints, steps, Progress(1)).tolist()
    assert plain.same_groups(oracles.groups(usual), oracles.groups(other))
    assert min(Counter(usual).values()) >= 5
    assert sorted(set(usual)) == list(range(max(usual) + 1))


@settings(QUICK, max_examples=30)
@given(table=plain.asked(), k=st.integers(2, 4), steps=st.sampled_from([1, 20]))
def test_a_promise_that_all_groups_keep_changes_nothing(table, k, steps):
    columns, _measures, asked = table
    rows = rows_in(columns)
    if rows < k:
        return
    without = parts_of(columns, k, steps, **asked)
    secrets = {**columns, "s": [f"s{row}" for row in range(rows)]}
    assert plain.same_groups(without, parts_of(secrets, k, steps, quasi=list(columns), sensitive="s", l=2, **asked))
    persons = {**columns, "u": list(range(rows))}
    assert plain.same_groups(without, parts_of(persons, k, steps, quasi=list(columns), unit="u", **asked))


@settings(QUICK, max_examples=50)
@given(table=plain.asked(most=40), k=st.integers(2, 3), steps=st.sampled_from([1, 20]), data=st.data())
def test_both_sides_of_every_cut_keep_the_promise(table, k, steps, data):
    columns, _measures, asked = table
    rows = rows_in(columns)
    secrets = data.draw(st.lists(st.sampled_from("abc"), min_size=rows, max_size=rows))
    persons = data.draw(st.lists(st.integers(0, rows), min_size=rows, max_size=rows))
    if len(set(secrets)) < 2 or len(set(persons)) < k:
        return
    table = {**columns, "s": secrets, "u": persons}
    for part in parts_of(table, k, steps, quasi=list(columns), sensitive="s", unit="u", l=2, **asked):
        assert len({secrets[row] for row in part}) >= 2
        assert len({persons[row] for row in part}) >= k


@settings(QUICK, max_examples=30)
@given(table=plain.asked(), k=st.integers(2, 4), data=st.data())
def test_a_label_is_one_axis_more(table, k, data):
    columns, measures, asked = table
    if rows_in(columns) < k:
        return
    cells, costs, asked = plain.with_label(data.draw, columns, measures, asked)
    ways = [plain.split(costs, k, steps) for steps in (1, 20)]
    least = min(ways, key=lambda parts: sum(map(costs.of_part, parts)))
    assert plain.same_groups(oracles.groups(made("top-down", cells, k, **asked)), least)
    assert made("merge", cells, k, **asked) == plain.merge(costs, k)


def test_a_promise_does_not_stop_all_cuts():
    """Both values lie everywhere, so that nearly any cut leaves both on either side."""
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
def test_corners(columns, parts, steps):
    assert len(parts_of(columns, 3, steps)) == parts


def test_cuts_stop_when_told():
    engine = prepared({"x": list(range(50))}, 2)
    progress = Progress(1)
    progress.cancel()
    with pytest.raises(CancelledError):
        split_table(engine._points, engine._constraints, 20, progress)


# --- merging


@QUICK
@given(table=plain.asked(most=30), k=st.integers(2, 5), objective=OBJECTIVES)
@example(table=({"few": [0, 4, 0, 4, 1]}, [oracles.Numbers([0, 4])], {"weight": {"few": 1}}), k=2, objective="leaf")
def test_merging_is_the_plain_reading(table, k, objective):
    columns, measures, asked = table
    if rows_in(columns) < k:
        return
    costs = plain.Costs(list(columns.values()), measures, list(asked["weight"].values()), objective)
    assert made("merge", columns, k, objective=objective, **asked) == plain.merge(costs, k)


def test_merging_more_classes_than_a_neighbourhood_holds():
    rng = np.random.default_rng(4)
    columns = {"few": rng.integers(0, 64, 150).tolist(), "half": (rng.integers(0, 32, 150) / 2).tolist()}
    columns["few"][:2], columns["half"][:2] = [0, 64], [0.0, 16.0]
    costs = plain.Costs(list(columns.values()), [oracles.Numbers(column) for column in columns.values()])
    for k in (2, 5):
        assert made("merge", columns, k) == plain.merge(costs, k)


def test_by_hand_the_smallest_class_merges_first():
    """The single 5 goes to the eights, which is 4 * 3/8 against 3 * 5/8; two zeros are then left, and only one to merge with."""
    assert made("merge", {"few": [4, 4, 4, 5, 8, 8, 8]}, 3) == [0, 0, 0, 0, 1, 1, 1]
    assert made("merge", {"few": [0, 0, 5, 8, 8, 8]}, 3) == [0] * 6


# --- auto


def starts_of(columns, k, **asked):
    engine = prepared(columns, k, **asked)
    return METHODS["auto"].partition(engine._points, engine._constraints, METHODS["auto"].options(), 7, Progress(1))


@QUICK
@given(table=plain.asked(), k=st.integers(2, 6), objective=OBJECTIVES)
def test_auto_takes_the_start_that_loses_least(table, k, objective):
    columns, measures, asked = table
    if rows_in(columns) < k:
        return
    costs = plain.Costs(list(columns.values()), measures, list(asked["weight"].values()), objective)
    found = starts_of(columns, k, objective=objective, **asked)
    assert found.starts == (("top-down", "merge") if k <= 4 else ("top-down",))
    lost = {name: costs.total(made(name, columns, k, objective=objective, **asked)) for name in found.starts}
    assert costs.total(found.labels.tolist()) == lost[found.start] == min(lost.values())


@pytest.mark.parametrize(("k", "starts"), [(2, {"top-down", "merge"}), (4, {"top-down", "merge"}), (5, {"top-down"})])
def test_small_k_tries_merging(k, starts):
    assert set(starts_of({"x": list(range(40)), "y": [7 * n % 40 for n in range(40)]}, k).starts) == starts


def test_a_dear_promise_tries_other_starts():
    """The value follows the number, so that cuts part the values; where it does not, cuts are as good as without it."""
    x = list(range(60))
    dear = {"x": x, "s": ["a" if n < 30 else "b" for n in x]}
    cheap = {"x": x, "s": ["ab"[n % 2] for n in x]}
    asked: dict[str, Any] = {"quasi": "x", "sensitive": "s"}
    assert "k-member" in starts_of(dear, 5, t=0.2, **asked).starts
    assert "merge" in starts_of(dear, 5, l=2, **asked).starts
    assert starts_of(cheap, 6, t=0.4, **asked).starts == ("top-down",)
    assert starts_of(cheap, 5, l=2, **asked).starts == ("top-down",)
    assert starts_of({"x": x}, 5).starts == ("top-down",)


def test_square_error_starts_with_mdav():
    found = starts_of({"x": list(range(40))}, 3, objective="square-error")
    assert (found.start, found.starts) == ("mdav", ("mdav",))
    assert found.labels.tolist() == made("mdav", {"x": list(range(40))}, 3)
