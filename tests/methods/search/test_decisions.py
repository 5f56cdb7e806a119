"""Decisions: recording changes no group, and the recorded cuts are a tree that ends in the groups of the method."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from kohort import datasets
from kohort.kernels.cuts.recorded_cuts import DEALT, GAIN, WIDEST, WORKLOAD
from kohort.methods import METHODS, Partition
from kohort.methods.search import gain_cuts
from kohort.methods.search.decisions import Decisions
from kohort.methods.search.improve import regrouping
from kohort.progress import Progress
from kohort.testing.sample_tables import large_table
from tests import oracles
from tests.methods.census_table import QUASI, TABLE
from tests.recorded_runs import prepare, require_tree, rows_of

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
LARGE = large_table()
COLUMNS: dict[str, Any] = {"quasi": LARGE.column_names[:4], "sensitive": "secret"}
QUERIES: dict[str, Any] = {"query": [{"where": [[LARGE.column_names[0], ">", 40]]}, {"where": [[LARGE.column_names[1], ">", 3]]}]}

JOBS: dict[str, dict[str, Any]] = {
    "mondrian": {"method": "mondrian"},
    "mondrian relaxed": {"method": "mondrian", "option": {"relaxed": True}},
    "mondrian l": {"method": "mondrian", "l": 2},
    "mondrian relaxed l": {"method": "mondrian", "l": 2, "option": {"relaxed": True}},
    "mondrian t": {"method": "mondrian", "t": 0.3},
    "mondrian unit": {"method": "mondrian", "unit": "person"},
    "mondrian workload": {"method": "mondrian", "workload": QUERIES},
    "mondrian improved": {"method": "mondrian", "effort": 1},
    "mondrian suppress": {"method": "mondrian", "suppress": 0.05},
    "top-down": {"method": "top-down"},
    "top-down height": {"method": "top-down", "objective": "height", "effort": 0},
    "top-down l": {"method": "top-down", "l": 2, "effort": 0},
    "top-down in blocks": {"method": "top-down", "block": 300},
    "auto": {"method": "auto", "effort": 0},
    "auto t": {"method": "auto", "t": 0.2, "effort": 0, "block": 300},
    "auto suppress": {"method": "auto", "suppress": 0.05, "block": 300},
    "auto workload": {"method": "auto", "workload": QUERIES, "effort": 0, "block": 300},
    "k-member in blocks": {"method": "k-member", "block": 300},
}


def prepared(**requested):
    dropped = [name for name in ("person",) if requested.get("unit") != name]
    return prepare(LARGE, **{"k": 5, **COLUMNS, "drop": dropped, **requested})


def same_groups(one, other):
    return sorted(oracles.groups(one.tolist())) == sorted(oracles.groups(other.tolist()))


# --- recording does not change the groups


@pytest.mark.parametrize("requested", JOBS.values(), ids=JOBS)
def test_labels_are_the_same_with_and_without_recording(requested):
    off = prepared(**requested)
    plain, recorded = off.run(), off.recording().run()
    assert plain.decisions is None
    assert np.array_equal(plain.labels, recorded.labels)
    assert plain.notes == recorded.notes
    assert recorded.decisions is not None
    require_tree(recorded.decisions, LARGE.num_rows)
    assert len(recorded.decisions.middle) >= (3 if "block" in requested else 50)


def test_record_decisions_is_kept_by_take_and_searched():
    columns = {"a": [1, 2] * 5, "y": ["x", "y"] * 5}
    points = prepare(columns, quasi="a", other="y", label="y", objective="class").recording().points
    assert points.label is not None
    assert points.take(np.arange(3)).record_decisions
    assert points.searched().record_decisions
    assert not prepared().points.record_decisions


@pytest.mark.parametrize("method", ["k-member", "merge", "mondrian-1d", "datafly"])
def test_other_methods_record_no_cuts(method):
    few = TABLE.slice(0, 60)
    assert prepare(few, quasi=QUASI, sensitive="s1", k=5, method=method, effort=0).recording().run().decisions is None


# --- the tree


@pytest.mark.parametrize(
    "requested", [requested for name, requested in JOBS.items() if name.startswith(("mondrian", "top-down"))]
)
def test_leaves_are_the_groups_of_the_method(requested):
    made = prepared(**requested).recording().made()
    assert made.decisions is not None
    assert same_groups(made.decisions.leaf_labels(LARGE.num_rows), made.labels)


@QUICK
@given(oracles.tables(), st.integers(2, 4), st.sampled_from(["mondrian", "top-down", "auto"]))
def test_leaves_of_random_tables_are_the_groups_of_the_method(table, k, method):
    columns, _measures = table
    hierarchy = {"tree": oracles.TREE} if "tree" in columns else {}
    assume(len(next(iter(columns.values()))) >= k)
    made = prepare(columns, k=k, method=method, hierarchy=hierarchy).recording().made()
    if made.start == "merge":
        assert made.decisions is None
        return
    assert made.decisions is not None
    require_tree(made.decisions, len(made.labels))
    assert same_groups(made.decisions.leaf_labels(len(made.labels)), made.labels)
    assert np.diff(made.decisions.leaf_ends).min() >= k


@QUICK
@given(oracles.tables(), st.integers(2, 4), st.booleans())
def test_mondrian_cuts_the_widest_axis_that_has_a_valid_cut(table, k, relaxed):
    """The widest axis by the measures of the oracle; ties go to the first column."""
    columns, measures = table
    hierarchy = {"tree": oracles.TREE} if "tree" in columns else {}
    assume(len(next(iter(columns.values()))) >= k)
    ready = prepare(columns, k=k, method="mondrian", hierarchy=hierarchy, option={"relaxed": relaxed}).recording()
    decisions = ready.made().decisions
    assert decisions is not None
    keys = [[measure.key(value) for value in column] for column, measure in zip(columns.values(), measures, strict=True)]
    nodes = decisions.nodes()
    for node in np.flatnonzero(nodes.cut >= 0).tolist():
        part, left = rows_of(decisions, node), rows_of(decisions, int(nodes.left[node]))
        right = rows_of(decisions, int(nodes.right[node]))
        assert sorted(part) == sorted(left + right)
        widths = [
            measure.height_width([column[row] for row in part])
            for column, measure in zip(columns.values(), measures, strict=True)
        ]
        is_constant = all(len({key[row] for row in part}) == 1 for key in keys)
        assert (decisions.reason[nodes.cut[node]] == DEALT) == is_constant
        axis = int(decisions.axes[nodes.cut[node], 0])
        for other in sorted(range(len(widths)), key=lambda other: -widths[other]):
            if other == axis:
                break
            assert not relaxed  # relaxed cuts are possible on every axis
            assert not allows_a_cut([keys[other][row] for row in part], k)
        highest, lowest = max(keys[axis][row] for row in left), min(keys[axis][row] for row in right)
        assert highest <= lowest if relaxed else highest < lowest


def allows_a_cut(keys, k):
    return any(k <= sum(key <= value for key in keys) <= len(keys) - k for value in keys)


@QUICK
@given(oracles.tables(most=60), st.integers(2, 4), st.sampled_from([1, 20]))
def test_recorded_axes_separate_the_two_sides_of_a_cut(table, k, steps):
    """Every row on the right of a cut is outside the left box on at least one recorded axis."""
    columns, _measures = table
    hierarchy = {"tree": oracles.TREE} if "tree" in columns else {}
    assume(len(next(iter(columns.values()))) >= k)
    ready = prepare(columns, k=k, method="top-down", hierarchy=hierarchy)
    cuts = gain_cuts.recorded_splits(ready.points, ready.constraints, steps, Progress(1), record=True)
    assert cuts.decisions is not None
    codes, nodes = ready.points.codes.astype(np.int64), cuts.decisions.nodes()
    for node in np.flatnonzero(nodes.cut >= 0).tolist():
        assert cuts.decisions.reason[nodes.cut[node]] == GAIN
        axes = sorted({axis for axis in cuts.decisions.axes[nodes.cut[node]].tolist() if axis >= 0})
        assert 1 <= len(axes) <= steps
        left = codes[rows_of(cuts.decisions, int(nodes.left[node]))][:, axes]
        right = codes[rows_of(cuts.decisions, int(nodes.right[node]))][:, axes]
        is_inside = ((right >= left.min(axis=0)) & (right <= left.max(axis=0))).all(axis=1)
        assert not is_inside.any()


def test_the_column_with_the_largest_gain_is_recorded():
    """Separating the two highest rows of b gains 6 * 0.7 + 2 * 1. A cut of a gains nothing."""
    ready = prepare({"a": [5] * 8, "b": [0, 1, 1, 2, 2, 3, 10, 10]}, method="top-down").recording()
    decisions = ready.made().decisions
    assert decisions is not None
    nodes = decisions.nodes()
    sides = [sorted(rows_of(decisions, int(side[0]))) for side in (nodes.left, nodes.right)]
    assert sorted(sides) == [[0, 1, 2, 3, 4, 5], [6, 7]]
    assert decisions.axes[0].tolist()[0] == 1
    assert set(decisions.reason.tolist()) == {GAIN}


def test_recorded_reasons_of_mondrian():
    """First the widest column is cut, then equal rows are divided into two halves."""
    made = prepare({"a": [1] * 4 + [9] * 4}, method="mondrian", option={"relaxed": True}).recording().made()
    assert made.decisions is not None
    assert made.decisions.reason.tolist() == [WIDEST, DEALT, DEALT]
    assert made.decisions.axes.tolist() == [[0], [0], [0]]
    assert np.diff(made.decisions.leaf_ends).tolist() == [2, 2, 2, 2]


def test_cuts_for_a_workload_have_their_own_reason():
    """The query separates a at 5. The median is elsewhere, and b is wider."""
    columns = {"a": [1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13], "b": [0, 100] * 6}
    ready = prepare(columns, k=4, method="mondrian", workload={"query": [{"where": [["a", "<=", 5]]}]}).recording()
    decisions = ready.made().decisions
    assert decisions is not None
    assert (decisions.reason[0], decisions.axes[0, 0]) == (WORKLOAD, 0)
    assert sorted(rows_of(decisions, 1)) == [0, 1, 2, 3]
    assert WIDEST in decisions.reason[1:].tolist()


def test_cuts_by_the_label_have_the_number_after_the_last_axis():
    columns = {"a": [1, 2] * 20, "y": ["x"] * 20 + ["y"] * 20}
    ready = prepare(columns, quasi="a", other="y", label="y", objective="class", k=5, method="top-down").recording()
    decisions = ready.made().decisions
    assert decisions is not None
    assert set(decisions.axes[:, 0].tolist()) == {0, 1}


# --- blocks and threads


@pytest.mark.parametrize("method", ["top-down", "auto", "k-member"])
def test_cuts_that_make_blocks_are_part_of_the_tree(method):
    whole = prepared(method=method, block=300, effort=0).recording().run()
    decisions = whole.decisions
    assert decisions is not None
    assert np.count_nonzero(decisions.makes_blocks) == whole.blocks - 1 > 3
    nodes = decisions.nodes()
    above = np.zeros(len(nodes.cut), np.bool_)
    above[0] = True
    for node in np.flatnonzero(nodes.cut >= 0).tolist():  # cuts that make blocks come first, so no other cut is above them
        makes_blocks = bool(decisions.makes_blocks[nodes.cut[node]])
        assert above[node] or not makes_blocks
        above[[nodes.left[node], nodes.right[node]]] = makes_blocks
    assert len(decisions.order) == LARGE.num_rows
    if method == "k-member":
        assert decisions.makes_blocks.all()
    else:
        assert same_groups(decisions.leaf_labels(LARGE.num_rows), whole.labels)


IN_BLOCKS: dict[str, Any] = {"method": "top-down", "k": 20, "block": 5_000, "effort": 0}


@pytest.mark.parametrize("requested", [{"method": "mondrian", "k": 500}, IN_BLOCKS], ids=["mondrian", "top-down in blocks"])
def test_the_recorded_tree_does_not_depend_on_the_number_of_threads(requested):
    table = datasets.census(70_000 if requested["method"] == "mondrian" else 20_000, quasi=3)
    ready = prepare(table, quasi=table.column_names[:3], sensitive="s1", **requested).recording()
    one, two = ready.run(1).decisions, ready.run(2).decisions
    assert one is not None
    assert two is not None
    assert len(one.middle) > 50
    for name in ("order", "first", "middle", "last", "axes", "reason", "makes_blocks"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name


def test_parts_that_are_laid_out_again_are_in_the_same_tree(monkeypatch):
    """Top-down cuts large parts first, then smaller ones. The recorded cuts are one tree."""
    ready = prepared(method="top-down", k=5).recording()
    staged = ready.made()
    monkeypatch.setattr(gain_cuts, "LEAST", (700, 100, 20, 0))
    more = ready.made()
    for made in (staged, more):
        assert made.decisions is not None
        require_tree(made.decisions, LARGE.num_rows)
        assert same_groups(made.decisions.leaf_labels(LARGE.num_rows), made.labels)


def test_rows_that_are_suppressed_before_the_cuts_are_not_in_the_tree():
    """Improvement with suppression suppresses outliers first, then cuts the other rows."""
    columns = {"a": [*range(40), 10_000, 20_000]}
    made = prepare(columns, k=4, method="top-down", suppress=0.05, effort=1).recording().run()
    assert made.decisions is not None
    assert np.flatnonzero(made.labels < 0).tolist() == [40, 41]
    assert sorted(made.decisions.order.tolist()) == list(range(40))
    require_tree(made.decisions, 42)


# --- combining decisions


def by_hand(order, cuts):
    """Return decisions from tuples (first, middle, last, axis), all with the same reason."""
    first, middle, last, axis = (np.array(column, np.int64) for column in zip(*cuts, strict=True))
    none = np.zeros(len(first), np.int64)
    return Decisions(np.array(order), first, middle, last, axis[:, np.newaxis], none, none > 0)


def test_decisions_inside_leaves_become_one_tree():
    outer = by_hand([5, 4, 3, 2, 1, 0], [(0, 4, 6, 0)])  # rows 5 4 3 2 | 1 0
    inside = by_hand([2, 5, 3], [(0, 1, 3, 1)])  # row 4 was suppressed; 2 | 5 3
    grown = outer.grown(np.array([1, 1, 0, 0, 0, 0]), [inside, None])
    assert grown.order.tolist() == [2, 5, 3, 1, 0]
    assert [grown.first.tolist(), grown.middle.tolist(), grown.last.tolist()] == [[0, 0], [3, 1], [5, 3]]
    assert grown.axes[:, 0].tolist() == [0, 1]
    assert grown.leaf_labels(6).tolist() == [2, 2, 0, 1, -1, 1]
    require_tree(grown, 6)
    nodes = grown.nodes()
    assert [nodes.first.tolist(), nodes.last.tolist()] == [[0, 0, 0, 1, 3], [5, 3, 1, 3, 5]]
    assert [nodes.left.tolist(), nodes.right.tolist()] == [[1, 2, -1, -1, -1], [4, 3, -1, -1, -1]]


def test_of_rows_renumbers_labels_and_decisions():
    made = Partition(np.array([0, 0, 1, 1]), decisions=by_hand([0, 1, 2, 3], [(0, 2, 4, 0)]))
    moved = made.of_rows(np.array([3, 0, 2, 1]))
    assert moved.labels.tolist() == [0, 1, 1, 0]
    assert moved.decisions is not None
    assert moved.decisions.leaf_labels(4).tolist() == [0, 1, 1, 0]
    assert Partition(np.array([0, 1])).of_rows(np.array([1, 0])).decisions is None


# --- repair and improvement


def test_merged_counts_invalid_groups(monkeypatch):
    ready = prepare({"a": [1, 1, 1, 5, 5, 6, 9, 9, 9, 30]}, k=2, method="mondrian")
    given_labels = np.array([0, 0, 0, 1, 1, 2, 3, 3, 3, 4])
    fixed = replace(ready.job.algorithm, partition=lambda *_: Partition(given_labels))
    monkeypatch.setitem(METHODS, "mondrian", fixed)
    assert ready.run().merged == 2
    with_budget = ready._replace(constraints=replace(ready.constraints, suppress=0.1)).run()
    assert np.count_nonzero(with_budget.labels < 0) == 1
    assert with_budget.merged == 1
    monkeypatch.setitem(METHODS, "mondrian", replace(fixed, partition=lambda *_: Partition(given_labels // 5)))
    assert ready.run().merged == 0


@pytest.mark.parametrize("requested", [{}, {"block": 300}, {"objective": "square-error", "block": 300}])
def test_improvement_counts_sweeps_and_groups(requested, monkeypatch):
    ran: list[int] = []
    sweep = regrouping._Regrouper.sweep

    def counted(*sweep_of: Any) -> Any:
        ran.append(1)
        return sweep(*sweep_of)

    monkeypatch.setattr(regrouping._Regrouper, "sweep", counted)
    ready = prepared(method="auto", k=20, effort=1, **requested)
    plain = prepared(method="auto", k=20, effort=0, **requested).run()
    improved = ready.run()
    assert plain.improvement is None
    found = improved.improvement
    assert found is not None
    assert found.sweeps == len(ran) > 0 if "objective" not in requested else found.sweeps > 0
    assert found.groups == (plain.labels.max() + 1, improved.labels.max() + 1)
    if "objective" not in requested:
        assert f"from {100 * found.loss[0]:.1f} % to {100 * found.loss[1]:.1f} %" in improved.notes[-1]
