"""Incognito and Datafly, compared with simple reference implementations."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kohort
from kohort import datasets, testing
from kohort.errors import CancelledError, PromiseError, RequestError
from kohort.methods import METHODS, incognito
from kohort.methods.search.full_domain_levels import FullDomain
from kohort.progress import Progress
from tests import oracles
from tests.methods.full_domain import PERSON, SECRET, labels_of, partitioned, run_of
from tests.oracles import full_domain as plain

pytestmark = pytest.mark.slow  # compiling the kernels takes long

BOTH = pytest.mark.parametrize("method", ["incognito", "datafly"])
QUICK = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck), database=None)


def expected(columns, measures, method, is_valid, budget, weights=None):
    """Return the labels, vector and levels of the reference implementation."""
    made = levels_of(columns, measures)
    cells = list(columns.values())
    if method == "incognito":
        vector, out = plain.incognito(cells, measures, made, is_valid, budget, weights or [1] * len(cells))
    else:
        vector, out = plain.datafly(cells, made, is_valid, budget)
    return plain.labels(cells, measures, made, vector, out), vector, made


def levels_of(columns, measures):
    pairs = zip(columns.items(), measures, strict=True)
    return [plain.levels(column, measure, oracles.TREE if name == "tree" else None) for (name, column), measure in pairs]


def of_size(k):
    return lambda part, _table: len(part) >= k


# --- compared with the reference implementations


@BOTH
@QUICK
@given(made=oracles.tables(most=30), k=st.integers(2, 5), suppress=st.sampled_from([0, 0, 0.1, 0.3]), doubled=st.booleans())
def test_labels_and_text_match_the_oracle(method, made, k, suppress, doubled):
    columns, measures = made
    rows = len(next(iter(columns.values())))
    k, budget = min(k, rows), int(Fraction(str(suppress)) * rows)
    weights = [2 if doubled and number == 0 else 1 for number in range(len(columns))]
    engine, groups = run_of(columns, method, k, suppress=suppress, weight=dict(zip(columns, weights, strict=True)))
    labels, vector, levels = expected(columns, measures, method, of_size(k), budget, weights)
    assert groups.labels().tolist() == labels
    table, _evidence = engine.publish(groups).release_table()
    kept = [row for row in range(rows) if labels[row] >= 0]
    texts = Counter(
        tuple(
            measure.text(level[at][column[row]])
            for column, measure, level, at in zip(columns.values(), measures, levels, vector, strict=True)
        )
        for row in kept
    )
    assert Counter(tuple(row[name] for name in columns) for row in table.to_pylist()) == texts


@QUICK
@given(made=oracles.tables(most=30), k=st.integers(2, 5), suppress=st.sampled_from([0, 0.2]))
def test_exactly_the_anonymous_vectors_are_found(made, k, suppress):
    columns, measures = made
    rows = len(next(iter(columns.values())))
    k, budget = min(k, rows), int(Fraction(str(suppress)) * rows)
    engine = partitioned(columns, "datafly", k, suppress=suppress)
    table = FullDomain(engine.encoded.points, engine.encoded.constraints, Progress(1))
    levels = levels_of(columns, measures)
    assert table.heights == tuple(map(len, levels))
    anonymous = {
        vector
        for vector in plain.vectors(levels)
        if sum(len(part) for part in plain.classes(list(columns.values()), levels, vector).values() if len(part) < k) <= budget
    }
    assert {tuple(vector) for vector in np.argwhere(incognito.anonymous_vectors(table, Progress(1))).tolist()} == anonymous


def keeps(k, promise, secrets, persons):
    """Return a function that says whether some rows keep k and one promise in a release of a table, by definition."""
    name, parameter = promise

    def counts(part):
        return Counter(value for _person, value in {(persons[row], secrets[row]) for row in part})

    def is_valid(part, table):
        held, size = counts(part), len({persons[row] for row in part})
        if size < k:
            return False
        if name == "l":
            return len(held) >= parameter
        if name == "alpha":
            return max(held.values()) <= Fraction(str(parameter)) * size
        everybody = counts(table)
        gaps = (Fraction(held[value], held.total()) - Fraction(count, everybody.total()) for value, count in everybody.items())
        return sum(gap for gap in gaps if gap > 0) <= Fraction(str(parameter))

    return is_valid


@BOTH
@settings(QUICK, max_examples=50)
@given(
    made=oracles.tables(most=30),
    k=st.integers(2, 4),
    promise=st.sampled_from([("l", 2), ("l", 3), ("alpha", 0.5), ("alpha", 0.7), ("t", 0.2), ("t", 0.35)]),
    suppress=st.sampled_from([0, 0.2, 0.4]),
    draw=st.randoms(use_true_random=False),
    by_person=st.booleans(),
)
def test_all_promises_are_checked(method, made, k, promise, suppress, draw, by_person):
    """With sensitive values, with suppressed rows (which change the frequencies), and with people who have several rows."""
    columns, measures = made
    rows = len(next(iter(columns.values())))
    secrets = [draw.choice("wxyz") for _ in range(rows)]
    persons = [draw.randrange(rows) for _ in range(rows)] if by_person else list(range(rows))
    is_valid = keeps(k, promise, secrets, persons)
    if not is_valid(range(rows), range(rows)):
        return
    table = {**columns, SECRET: secrets, PERSON: persons}
    unit = {"unit": [PERSON]} if by_person else {}
    engine = partitioned(table, method, k, suppress=suppress, **{promise[0]: promise[1]}, **unit)
    labels, _vector, _levels = expected(columns, measures, method, is_valid, int(Fraction(str(suppress)) * rows))
    assert engine.labels().tolist() == labels


@BOTH
@settings(QUICK, max_examples=20)
@given(table=testing.tables(least=12), k=st.integers(2, 5), ranges=st.sampled_from(["tight", "grid"]))
def test_equal_values_are_published_identically(method, table, k, ranges):
    job = testing.job_for(METHODS[method], {}, k, ranges=ranges, suppress=0.2)
    release = kohort.anonymize(table, job, keep_order=True)
    source = table.take(np.flatnonzero(release.labels >= 0))
    for name in testing.QUASI:
        pairs = set(
            zip((None if cell == "" else cell for cell in source[name].to_pylist()), release.table[name].to_pylist(), strict=True)
        )
        assert len({cell for cell, _text in pairs}) == len(pairs)


def test_incognito_chooses_the_least_loss_not_the_lowest_levels():
    """One of the two columns must be generalised. The first loses 1 per cell, the second only 1/4 at its first level."""
    columns = {"x": ["a", "b"] * 4, "tree": ["v0", "v0", "v1", "v1", "v2", "v2", "v3", "v3"]}
    tree = [(f"v{leaf}", "even" if leaf < 2 else "odd", "*") for leaf in range(4)]
    job: dict[str, Any] = {"quasi": ["x", "tree"], "hierarchy": {"tree": tree}, "k": 2, "keep_order": True}
    release = kohort.anonymize(pa.table(columns), method="incognito", **job)
    assert release.table.to_pydict() == {"x": ["a", "b"] * 4, "tree": ["even"] * 4 + ["odd"] * 4}
    assert kohort.anonymize(pa.table(columns), method="incognito", weight={"tree": 3}, **job).table["x"].to_pylist() == ["*"] * 8


@BOTH
def test_rows_are_suppressed_only_as_far_as_allowed(method):
    columns = {"a": ["x"] * 9 + ["y"]}
    assert labels_of(columns, method, 2) == [0] * 10
    assert labels_of(columns, method, 2, suppress=0.09) == [0] * 10
    assert labels_of(columns, method, 2, suppress=0.1) == [0] * 9 + [-1]
    assert labels_of({"a": ["x", "y", "z"]}, method, 2, suppress=1) == [0] * 3  # never all rows are suppressed


def test_a_suppressed_row_costs_its_whole_weight():
    """Suppressing one of 12 rows costs 2 cells. Halving the first column costs more: 10/32 of 12 cells and 2/32."""
    ages = [0, 0, 0, 10, 10, 10, 22, 22, 22, 32, 32]
    assert labels_of({"a": [*ages, 1], "b": ["x"] * 12}, "incognito", 2, suppress=0.1)[-1] == -1
    assert labels_of({"a": [*ages, 1], "b": ["x"] * 12}, "incognito", 2, suppress=0.1, weight={"b": 9})[-1] >= 0


def test_ties_go_to_the_smallest_vector():
    """(1, 0) costs 9 for each of ten rows and 10 for one suppressed row. (0, 1) costs 10 for each row, which is the same."""
    columns = {"a": list("vvwwxxyyzz"), "b": list("prprprprpq")}
    assert labels_of(columns, "incognito", 2, suppress=0.1, weight={"a": 9, "b": 10}) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert labels_of(columns, "incognito", 2, suppress=0.1, weight={"a": 89, "b": 100})[-1] == -1


@BOTH
def test_a_table_without_rows_has_no_groups_and_fewer_than_k_rows_are_an_error(method):
    engine = partitioned({"a": [1, 2, 3]}, method, 3)
    points, checks = engine.encoded.points.take(np.arange(0)), engine.encoded.constraints.take(np.arange(0))
    options = METHODS[method].options()
    made = METHODS[method].partition(points, checks, options, 0, Progress(1))
    assert made.labels.size == 0
    assert made.boxes is not None
    assert made.boxes[0].shape == (0, 1)
    few = np.arange(2)
    with pytest.raises(PromiseError):
        METHODS[method].partition(engine.encoded.points.take(few), engine.encoded.constraints.take(few), options, 0, Progress(1))


def test_too_many_combinations_of_levels_are_an_error():
    columns = {f"a{number}": list(range(64)) for number in range(9)}
    with pytest.raises(RequestError, match="134,217,728"):
        labels_of(columns, "incognito", 2)
    assert labels_of(columns, "datafly", 64) == [0] * 64


def test_codes_that_need_more_than_one_word():
    """Nine columns of 9 bits do not fit into 64 bits. All columns are equal, so the groups are those of one column."""
    column = [value // 2 for value in range(1_000)]
    columns = {f"a{number}": column for number in range(9)}
    assert labels_of(columns, "datafly", 2) == column


def test_the_search_can_be_cancelled():
    engine = partitioned(datasets.census(2_000, quasi=5).drop_columns("s1"), "datafly", 5)
    progress = Progress(1)
    table = FullDomain(engine.encoded.points, engine.encoded.constraints, progress)
    progress.cancel()
    with pytest.raises(CancelledError):
        incognito.anonymous_vectors(table, progress)


# --- Adult


def test_loss_on_adult(public_data):
    del public_data
    sample = datasets.adult()
    best, other = (kohort.anonymize(sample.table, sample.job, method=method, k=5) for method in ("incognito", "datafly"))
    assert best.loss.leaf == pytest.approx(0.5939, abs=1e-4)
    assert best.loss.leaf <= other.loss.leaf
    assert min(best.evidence.k, other.evidence.k) >= 5


def test_number_of_groups_in_table_10_of_ni_xie_qian(public_data):
    """Ni, Xie, Qian 2017 print 36 groups for k = 3 and 4, and 20 from k = 5 on. They do not give the levels of age.

    With the levels of kohort, k = 4 gives 40 groups instead of 36.
    """
    folder = public_data / "adult"
    trees = {name: folder / "hierarchies" / f"{name}.csv" for name in ("education", "race", "sex")}
    job: dict[str, Any] = {"quasi": ["education", "race", "sex", "age"], "sensitive": "workclass", "hierarchy": trees}
    found = [
        kohort.anonymize(folder / "adult_gccg5_30725.csv.gz", method="incognito", k=k, **job).evidence.classes for k in (4, 5, 10)
    ]
    assert found == [40, 20, 20]


@BOTH
def test_a_finer_recoding_can_be_valid_where_a_coarser_one_is_not(method):
    """A valid group can become invalid when suppressed rows join it. So an invalid recoding does not rule out finer ones."""
    under_one, under_another = oracles.TREE[0], oracles.TREE[-1]
    extra = next(line for line in oracles.TREE[1:] if line[1] == under_one[1] != under_another[1])
    values = [under_one[0]] * 10 + [extra[0]] * 2 + [under_another[0]] * 10
    engine = partitioned(
        {"tree": values, SECRET: ["w", "x"] * 5 + ["w"] * 2 + ["y", "z"] * 5}, method, 2, alpha=0.5, suppress=0.2
    )
    assert sorted(engine.labels().tolist()) == [-1] * 2 + [0] * 10 + [1] * 10
