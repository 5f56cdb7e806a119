"""Suppression: which rows are suppressed, and how they are published."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kohort
import kohort as kh
from kohort import testing
from kohort.constraints.constraints import Constraints
from kohort.errors import PromiseError
from kohort.job.job import Job
from kohort.methods import METHODS
from kohort.methods.search.finish.suppress import suppress_failing
from tests import oracles
from tests.job_promises import settings_of
from tests.oracles import promises as promise_oracles


def test_invalid_groups_are_suppressed_smallest_first_within_the_budget():
    labels = np.repeat(np.arange(5), [3, 9, 2, 4, 9])
    checks = Constraints(Job.build(quasi="q", k=5).promise, len(labels))
    gone = {budget: np.unique(labels[suppress_failing(checks, labels, budget) < 0]).tolist() for budget in range(11)}
    assert gone == {0: [], 1: [], 2: [2], 3: [2], 4: [2], 5: [0, 2], 6: [0, 2], 7: [0, 2], 8: [0, 2], 9: [0, 2, 3], 10: [0, 2, 3]}


def test_a_suppressed_row_has_empty_cells_in_the_preview():
    table = pa.table({"age": [20, 21, 22, 23, 24, 999], "s": list("abcabc")})
    release = kh.anonymize(table, quasi="age", sensitive="s", k=2, suppress=0.2, method="mondrian", seed=7)
    assert np.flatnonzero(release.labels < 0).tolist() == [5]
    before, after = release.preview([4, 5])
    assert before["age"].to_pylist() == [24, 999]
    assert after.to_pylist()[1] == {"age": None, "s": None}
    assert after["age"][0].as_py().startswith("[")


QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
MONDRIAN = METHODS["mondrian"]


# --- suppression


def keep(release, table):
    """Return the source rows that were not suppressed."""
    return table.take(np.flatnonzero(release.labels >= 0))


@pytest.mark.slow
@QUICK
@given(
    table=testing.tables(least=12),
    k=st.integers(2, 4),
    share=st.sampled_from([0.0, 0.05, 0.1, 0.24, 0.5]),
    l=st.sampled_from([None, 2, 3]),
)
def test_suppression_stays_within_its_limit(table, k, share, l):  # noqa: E741
    job = testing.job_for(MONDRIAN, {}, k, suppress=share, l=l, keep_order=True)
    try:
        release = kohort.anonymize(table, job)
    except PromiseError:
        return
    gone = np.count_nonzero(release.labels < 0)
    assert gone <= Fraction(str(share)) * table.num_rows
    assert release.table.num_rows == table.num_rows - gone
    assert release.table.column("secret").to_pylist() == keep(release, table).column("secret").to_pylist()
    assert promise_oracles.broken(release.table, testing.QUASI, k, settings_of(job)) == []
    assert release.loss.total_il <= kohort.anonymize(table, job, suppress=0).loss.total_il + 1e-6


def outliers(count):
    """Return 200 rows with similar ages and some rows with much higher ages."""
    ages = [30 + row % 4 for row in range(200)] + [90 + 3 * row for row in range(count)]
    return pa.table(
        {"age": ages, "sex": ["f", "m"] * (len(ages) // 2), "disease": (["gout", "mumps", "ebola"] * len(ages))[: len(ages)]}
    )


def test_outliers_are_suppressed():
    """Fewer than k outliers widen a group of younger people. Without them the other rows lose almost nothing."""
    table = outliers(4)
    requested: dict[str, Any] = {"quasi": ["age", "sex"], "sensitive": "disease", "k": 5, "seed": 7}
    whole, without = (kohort.anonymize(table, **requested, suppress=share) for share in (0, 0.02))
    assert np.flatnonzero(without.labels < 0).tolist() == [200, 201, 202, 203]
    assert without.loss.total_il < whole.loss.total_il
    assert without.table.num_rows == 200


def one_outlier_each(wards):
    """Return ten rows per ward, one of them with a much higher age: too few for a group, too old for the other groups."""
    rows = range(10 * wards)
    return pa.table(
        {
            "ward": [f"w{row // 10}" for row in rows],
            "age": [30 + row % 3 if row % 10 else 95 for row in rows],
            "disease": [("gout", "mumps", "ebola")[(row // 10 + row) % 3] for row in rows],
        }
    )


@pytest.mark.parametrize("wards", [4, 8])
def test_suppressed_rows_are_published_as_one_group_if_it_is_valid(wards):
    table, quasi = one_outlier_each(wards), ["ward", "age"]
    requested: dict[str, Any] = {"k": 5, "l": 2, "suppress": 0.1, "method": "mondrian"}
    job = Job.build(quasi=quasi, sensitive="disease", **requested, seed=7, keep_order=True)
    left, starred = (kohort.anonymize(table, job, suppressed=how) for how in ("leave", "star"))
    gone = np.flatnonzero(left.labels < 0)
    assert gone.tolist() == list(range(0, 10 * wards, 10))
    assert starred.summary()["suppressed"] == left.summary()["suppressed"] == wards
    assert starred.loss.total_il == pytest.approx(left.loss.total_il)  # a cell of * and a suppressed cell cost the same
    assert left.table.num_rows == 9 * wards
    if wards < 5:
        assert starred.table.equals(left.table)
        return
    assert starred.table.num_rows == table.num_rows
    assert starred.table.column("disease").to_pylist() == table.column("disease").to_pylist()
    published = [(row["ward"], row["age"]) for row in starred.table.to_pylist()]
    assert [row for row, cells in enumerate(published) if cells == ("*", "*")] == gone.tolist()
    assert promise_oracles.broken(starred.table, quasi, 5, {"disease": {"l": 2}}) == []


@pytest.mark.slow
@QUICK
@given(table=testing.tables(least=12), k=st.integers(2, 4), share=st.sampled_from([0.1, 0.3, 0.5]), l=st.sampled_from([2, 3]))
def test_suppressed_rows_are_published_only_if_their_group_is_valid(table, k, share, l):  # noqa: E741
    job = testing.job_for(MONDRIAN, {}, k, suppress=share, l=l, keep_order=True)
    try:
        left, starred = (kohort.anonymize(table, job, suppressed=how) for how in ("leave", "star"))
    except PromiseError:
        return
    assert promise_oracles.broken(starred.table, testing.QUASI, k, settings_of(job)) == []
    gone = np.flatnonzero(left.labels < 0)
    secrets = {value or None for value in table.take(gone).column("secret").to_pylist()}
    if starred.table.num_rows == table.num_rows:
        assert {tuple(row.values()) for row in starred.table.take(gone).select(testing.QUASI).to_pylist()} <= {("*",) * 5}
    else:
        assert starred.table.equals(left.table)
        assert len(gone) < k or len(secrets) < l, "they could have been published"


def least_loss_greedily(columns, measures, labels, k, budget):
    """Suppress the row that lowers the total loss most, while there is one. Return the loss and the number of rows."""
    groups = [list(rows) for rows in oracles.groups(labels)]
    cost_of_gone = Fraction(len(columns))

    def loss(rows):
        return len(rows) * sum(
            (measure.height_width([column[row] for row in rows]) for column, measure in zip(columns, measures, strict=True)),
            Fraction(0),
        )

    def key(row):
        return tuple(measure.key(column[row]) for column, measure in zip(columns, measures, strict=True)), row

    gone = 0
    while gone < budget:
        options = [
            (loss(rows) - loss([other for other in rows if other != row]) - cost_of_gone, group, row)
            for group, rows in enumerate(groups)
            if len(rows) > k
            for row in rows
        ]
        lowering = [option for option in options if option[0] > 0]
        if not lowering:
            break
        most = max(option[0] for option in lowering)
        _gain, group, row = min((option for option in lowering if option[0] == most), key=lambda option: key(option[2]))
        groups[group].remove(row)
        gone += 1
    return sum(map(loss, groups), Fraction(0)) + gone * cost_of_gone, gone


@st.composite
def tiny(draw):
    """Draw a number, a tree or both, with few rows. Ranges are powers of two, so that equal losses are exactly equal."""
    rows = draw(st.integers(4, 14))
    number = draw(st.lists(st.integers(0, 16) | st.just(0), min_size=rows, max_size=rows))
    leaf = draw(st.lists(st.sampled_from([row[0] for row in oracles.TREE[:-1]]), min_size=rows, max_size=rows))
    made = {"few": [*number, 0, 16], "tree": [*leaf, "a", "z"]}
    names = draw(st.sampled_from([("few",), ("tree",), ("few", "tree"), ("tree", "few")]))
    return {name: made[name] for name in names}


@pytest.mark.slow
@settings(QUICK, max_examples=120)
@given(columns=tiny(), k=st.integers(2, 4), share=st.sampled_from([0.1, 0.2, 0.35, 0.5, 1.0]))
def test_suppression_matches_the_oracle(columns, k, share):
    rows = len(next(iter(columns.values())))
    measures = [oracles.measure_of(name, column) for name, column in columns.items()]
    hierarchy = {"tree": oracles.TREE} if "tree" in columns else {}
    requested = Job.build(method="mondrian", quasi=list(columns), hierarchy=hierarchy, k=k, seed=7)
    before = kohort.anonymize(pa.table(columns), requested)
    after = kohort.anonymize(pa.table(columns), requested, suppress=share)
    expected, gone = least_loss_greedily(
        list(columns.values()), measures, before.labels.tolist(), k, math.floor(Fraction(str(share)) * rows)
    )
    assert after.loss.total_il == pytest.approx(float(expected), abs=1e-6)
    assert np.count_nonzero(after.labels < 0) == gone


def test_promises_hold_for_the_rows_that_are_published():
    """t compares groups with the published rows, not with all rows of the source."""
    dice = np.random.default_rng(8)
    table = pa.table(
        {"age": dice.integers(0, 60, 300), "disease": dice.choice(["gout", "mumps", "ebola"], 300, p=[0.6, 0.3, 0.1])}
    )
    trees = {"disease": (("gout", "*"), ("mumps", "*"), ("ebola", "*"))}
    every: list[dict[str, Any]] = [{"t": 0.15}, {"beta": 0.6}, {"delta": 1.2}, {"t": 0.1, "t_distance": "ordered"}]
    for requested in every:
        tree = trees if "t" in requested else {}
        job = Job.build(quasi="age", sensitive="disease", hierarchy=tree, k=4, suppress=0.2, seed=7, **requested)
        release = kohort.anonymize(table, job)
        assert promise_oracles.broken(release.table, ["age"], 4, {"disease": requested}, trees=trees) == []
