"""Improvement never raises the loss and keeps every promise."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kohort as kh
from kohort import datasets
from kohort.errors import PromiseError
from kohort.methods.search.improve import regrouping
from kohort.progress import Progress
from tests import oracles
from tests.methods.search.improve.improved_tables import clouds, improved, labels_of
from tests.methods.small_tables import made, rows_in
from tests.oracles import gain_cuts as plain
from tests.oracles import grow_groups as growing_oracles
from tests.oracles import promises as promise_oracles

QUICK = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), database=None)
METHODS_TRIED = ("auto", "top-down", "merge", "mondrian", "k-member", "gccg", "oka", "mdav")
PROMISES: tuple[dict[str, Any], ...] = (
    {},
    {"l": 2},
    {"t": 0.3},
    {"t": 0.4, "t_distance": "ordered"},
    {"alpha": 0.7},
    {"entropy_l": 1.5},
    {"recursive_l": (2, 2.0)},
    {"beta": 1.5},
)


def costs_of(columns, measures, requested, objective="leaf"):
    return plain.Costs(list(columns.values()), measures, list(requested["weight"].values()), objective)


def require_sound(labels, k, secrets=None, promise=None, persons=None):
    """Require groups 0, 1, ... without gaps, each with at least k and with the promise on the sensitive values kept."""
    kept = [row for row, label in enumerate(labels) if label >= 0]
    assert sorted({labels[row] for row in kept}) == list(range(len({labels[row] for row in kept})))
    group = pa.table({"g": [labels[row] for row in kept], "s": [secrets[row] if secrets else "" for row in kept]})
    kept_persons = [persons[row] for row in kept] if persons else None
    assert promise_oracles.broken(group, ["g"], k, {"s": promise} if promise else {}, persons=kept_persons) == []


@st.composite
def starts(draw, rows, k):
    """Draw any arrangement of groups of at least k rows, with some rows suppressed."""
    out = draw(st.integers(0, rows - k)) if draw(st.booleans()) else 0
    groups = draw(st.integers(1, (rows - out) // k))
    return draw(st.permutations([-1] * out + [number % groups for number in range(rows - out)]))


# --- the loss never rises, and all promises are kept


@st.composite
def promised(draw):
    """Draw a table with a sensitive column, a promise for it, and other settings."""
    columns, measures, requested = draw(plain.requests(most=30))
    rows = rows_in(columns)
    secrets = draw(st.lists(st.sampled_from(["1", "2", "3", "4"]), min_size=rows, max_size=rows))
    promise = draw(st.sampled_from(PROMISES))
    requested |= {"quasi": list(columns), "sensitive": "s", "objective": draw(st.sampled_from(["leaf", "height"])), **promise}
    return columns, measures, secrets, promise, {"k": draw(st.integers(2, 4)), **requested}


def require_no_worse(method, columns, measures, secrets, promise, requested):
    cells = {**columns, "s": secrets}
    try:
        before = labels_of(cells, method=method, effort=0, **requested)
    except PromiseError:
        return  # all rows as one group do not keep the promise
    after = labels_of(cells, method=method, effort=1, **requested)
    costs = costs_of(columns, measures, requested, requested["objective"])
    assert costs.total(after) <= costs.total(before)
    require_sound(after, requested["k"], secrets, promise)


@pytest.mark.parametrize("method", ["auto", "mondrian"])  # the slow test has the others: each compiles its own kernels
@settings(QUICK, max_examples=6)
@given(case=promised())
def test_improvement_never_raises_the_loss_of_a_method(method, case):
    require_no_worse(method, *case)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS_TRIED)
@settings(QUICK, max_examples=60)
@given(case=promised())
def test_improvement_never_raises_the_loss_of_any_method(method, case):
    require_no_worse(method, *case)


@settings(QUICK, max_examples=25)
@given(table=plain.requests(most=40), k=st.integers(2, 4), rounds=st.integers(1, 2), seed=st.integers(0, 5), data=st.data())
def test_improvement_of_any_groups_keeps_suppressed_rows_and_never_raises_the_loss(table, k, rounds, seed, data):
    columns, measures, requested = table
    if rows_in(columns) < k:
        return
    before = data.draw(starts(rows_in(columns), k))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regrouping, "CELL", data.draw(st.sampled_from([2, 3, 500])))
        patch.setattr(regrouping, "POOL", data.draw(st.sampled_from([1, 5, 13, 8_192])))
        after = improved(columns, k, before, rounds=rounds, seed=seed, **requested)
    costs = costs_of(columns, measures, requested)
    assert costs.total(after) <= costs.total(before)
    assert [label < 0 for label in after] == [label < 0 for label in before]
    require_sound(after, k)


@settings(QUICK, max_examples=20)
@given(case=promised(), data=st.data())
def test_improvement_counts_people(case, data):
    """If people have several rows, two valid groups can be invalid as one group. So pools must be checked too."""
    columns, measures, secrets, promise, requested = case
    rows = rows_in(columns)
    persons = data.draw(st.lists(st.integers(0, rows // 2), min_size=rows, max_size=rows))
    cells = {**columns, "s": secrets, "u": persons}
    try:
        before = labels_of(cells, unit="u", method="mondrian", effort=0, **requested)
    except PromiseError:
        return
    require_sound(before, requested["k"], secrets, promise, persons)
    after = improved(cells, labels=before, unit="u", **requested)
    require_sound(after, requested["k"], secrets, promise, persons)
    costs = costs_of(columns, measures, requested, requested["objective"])
    assert costs.total(after) <= costs.total(before)


@settings(QUICK, max_examples=12)
@given(table=plain.requests(most=30), k=st.integers(2, 4), method=st.sampled_from(["auto", "mondrian"]), data=st.data())
def test_improvement_with_a_label_never_raises_the_total_loss(table, k, method, data):
    columns, measures, requested = table
    if rows_in(columns) < k:
        return
    cells, costs, requested = plain.with_label(data.draw, columns, measures, requested)
    requested["method"] = method
    before, after = (labels_of(cells, k, effort=effort, **requested) for effort in (0, 1))
    assert costs.total(after) <= costs.total(before)
    require_sound(after, k)


@pytest.mark.parametrize("promise", PROMISES[1:], ids=str)
def test_a_promise_is_kept_although_the_objective_favours_groups_that_break_it(promise):
    """Equal sensitive values are close together, so groups without the promise have only one value."""
    columns = clouds(240)
    secrets = ["1" if x < -0.5 else "2" if x < 0 else "3" if x < 0.5 else "4" for x in columns["x"]]
    cells = {**columns, "s": secrets}
    requested: dict[str, Any] = {"quasi": ["x", "y"], "sensitive": "s", "method": "auto", "effort": 1}
    free, kept = labels_of(cells, 4, **requested), labels_of(cells, 4, **requested, **promise)
    require_sound(kept, 4, secrets, promise)
    with pytest.raises(AssertionError):
        require_sound(free, 4, secrets, promise)
    before = labels_of(cells, 4, **{**requested, "effort": 0}, **promise)
    costs = plain.Costs(list(columns.values()), [oracles.Numbers(column) for column in columns.values()])
    assert costs.total(kept) <= costs.total(before)
    if not {"t", "beta"} & set(promise):  # groups that must resemble the whole table can hardly be cut again
        assert costs.total(kept) < 0.9 * costs.total(before)


def test_a_pool_that_is_not_valid_as_one_group_does_not_change():
    """Five people have five values, a different one in each of five groups. In one of four merged groups, 80 % have each value.

    All five groups span the same numbers, so merging them would not raise the loss. The other groups do improve.
    """
    square = [((person + group) % 5, person, group) for group in range(5) for person in range(5)]
    far = [(100 + n, n, 5 + n % 8) for n in range(5, 45)]
    x, persons, before = (list(column) for column in zip(*square, *far, strict=True))
    cells = {"x": x, "s": [f"s{number}" for number in x], "u": persons}
    require_sound(before, 5, cells["s"], {"alpha": 0.5}, persons)
    after = improved(cells, 5, before, rounds=2, quasi="x", sensitive="s", unit="u", alpha=0.5)
    require_sound(after, 5, cells["s"], {"alpha": 0.5}, persons)
    assert plain.same_groups(oracles.groups(after[:25]), oracles.groups(before[:25]))
    assert not plain.same_groups(oracles.groups(after), oracles.groups(before))


def test_groups_in_blocks_are_improved():
    table = datasets.census(400, quasi=4)
    columns = {name: table[name].to_pylist() for name in table.column_names[:4]}
    secrets = [str(cell) for cell in table["s1"].to_pylist()]
    costs = plain.Costs(list(columns.values()), [oracles.Numbers(column) for column in columns.values()])
    cells = {**columns, "s": secrets}
    requested: dict[str, Any] = {"quasi": list(columns), "sensitive": "s", "l": 3, "block": 80}
    for method in ("auto", "mdav"):
        before, after = (labels_of(cells, 5, effort=effort, method=method, **requested) for effort in (0, 1))
        assert costs.total(after) < costs.total(before)
        require_sound(after, 5, secrets, {"l": 3})


def test_improvement_with_suppression_keeps_promises_that_compare_with_the_release():
    sample = datasets.hospital(200)
    requested: dict[str, Any] = {"suppress": 0.05, "k": 4, "t": {"diagnosis": 0.4}, "l": {"diagnosis": 2}, "seed": 7}
    for method in ("auto", "gccg", "top-down"):
        release = kh.anonymize(sample.table, sample.job, method=method, effort=1, keep_order=True, **requested)
        assert release.summary()["suppressed"] <= 10
        promise: dict[str, Any] = {"diagnosis": {"t": 0.4, "l": 2}}
        assert promise_oracles.broken(release.table, sample.job.names("quasi"), 4, promise) == []


# --- results do not depend on threads or the order of rows


@pytest.mark.parametrize("method", METHODS_TRIED)
@pytest.mark.slow
def test_effort_0_returns_the_groups_of_the_method(method):
    columns = clouds(90)
    assert labels_of(columns, 3, method=method, effort=0) == made(method, columns, 3)
    assert labels_of(columns, 3, method=method, effort=1) != made(method, columns, 3)


def test_the_result_depends_on_the_seed_and_not_on_the_threads(monkeypatch):
    monkeypatch.setattr(regrouping, "CELL", 8)
    cells: list[int] = []
    cut = regrouping.cells_of

    def counted(*args):
        found = cut(*args)
        cells.append(len(found))
        return found

    monkeypatch.setattr(regrouping, "cells_of", counted)
    start = [row // 3 for row in range(120)]
    columns = clouds(120, s=["ab"[row % 2] for row in range(120)])
    for promise in ({"other": "s"}, {"sensitive": "s", "l": 2}):
        one, same, other = (
            improved(columns, 3, start, quasi=["x", "y"], seed=seed, progress=Progress(threads), **promise)
            for seed, threads in ((1, 1), (1, 4), (2, 1))
        )
        assert one == same != other
    assert min(cells) > 3


@pytest.mark.parametrize("method", ["auto", "mondrian", "oka"])
def test_threads_do_not_change_a_release_in_blocks(method):
    sample = datasets.hospital(300)
    one, same = (
        kh.anonymize(sample.table, sample.job, k=4, method=method, effort=1, block=60, seed=7, threads=threads).labels.tolist()
        for threads in (1, 4)
    )
    assert one == same


@pytest.mark.parametrize(
    "requested",
    [
        *({"method": method, "effort": 1} for method in METHODS_TRIED),
        {"method": "auto", "objective": "height", "effort": 2},
        {"method": "auto", "objective": "class", "label": "zip"},
        {"method": "auto", "l": {"diagnosis": 2}, "suppress": 0.05},
    ],
    ids=str,
)
def test_the_order_of_rows_does_not_change_the_release(requested):
    sample = datasets.hospital(150)
    shuffled = sample.table.take(np.random.default_rng(3).permutation(150))
    one, other = (
        Counter(map(str, kh.anonymize(table, sample.job, k=4, seed=7, **requested).table.to_pylist()))
        for table in (sample.table, shuffled)
    )
    assert one == other


# --- how much loss is left


class ByLeaves(growing_oracles.Table):
    """A table whose loss is the leaf loss."""

    def width(self, rows):
        key = frozenset(rows)
        if key not in self._known:
            parts = zip(self.columns, self.measures, strict=True)
            self._known[key] = sum(m.leaf_width([column[row] for row in rows]) for column, m in parts)
        return self._known[key]


def tiny(seed):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(6, 10))
    columns = {
        "few": rng.integers(0, 30, rows).tolist(),
        "half": (rng.integers(-20, 20, rows) / 2).tolist(),
        "tree": rng.choice([row[0] for row in oracles.TREE[:-1]], rows).tolist(),
    }
    measures = [oracles.Numbers(columns["few"]), oracles.Numbers(columns["half"]), oracles.Categories([], oracles.TREE)]
    return columns, measures


def against_the_best(seeds):
    """Yield for each tiny table the loss of auto divided by the least loss of all possible groups of at least k rows."""
    for seed in seeds:
        columns, measures = tiny(seed)
        table, k = ByLeaves(columns.values(), measures), 2 + seed % 3
        loss = sum(map(table.loss, oracles.groups(labels_of(columns, k, method="auto", effort=2))))
        yield loss / growing_oracles.least_loss(table, k)


def test_tiny_tables_are_close_to_the_least_possible_loss():
    ratios = list(against_the_best(range(12)))
    assert min(ratios) >= 1
    assert np.mean([float(ratio) for ratio in ratios]) < 1.03


@pytest.mark.slow
def test_most_tiny_tables_reach_the_least_possible_loss():
    """Measured: 52 of 60 reach it. The loss is 0.8 % higher on average and 24 % at worst."""
    ratios = [float(ratio) for ratio in against_the_best(range(60))]
    assert min(ratios) >= 1
    assert max(ratios) < 1.4
    assert np.mean(ratios) < 1.02
    assert ratios.count(1) >= 45


@pytest.mark.slow
@pytest.mark.parametrize("k", [3, 5, 20])
def test_auto_loses_much_less_than_mondrian(k):
    sample = datasets.hospital(2_000)
    auto, mondrian = (kh.anonymize(sample.table, sample.job, k=k, method=method, seed=7) for method in ("auto", "mondrian"))
    assert auto.loss.leaf < 0.5 * mondrian.loss.leaf


@pytest.mark.parametrize("method", ["top-down", "merge", "mondrian", "k-member", "gccg"])
def test_improvement_lowers_the_loss_of_every_method(method):
    sample = datasets.hospital(500)
    before, after = (kh.anonymize(sample.table, sample.job, k=5, method=method, seed=7, effort=effort) for effort in (0, 1))
    assert after.loss.leaf < 0.9 * before.loss.leaf
