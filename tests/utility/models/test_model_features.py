"""Features of a release for models."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from kohort.utility.aligned import AlignedTables
from kohort.utility.models import model_features as features
from kohort.utility.models.model_features import features_of, matrices, predictors, target_of
from tests.utility.models.releases import PETS, bound, people

ROLES = {"identifier": ["name"], "quasi": ["age", "pet"], "sensitive": ["ill", "cost"], "hierarchy": {"pet": PETS}}


# --- features


def both_features(table, release, name, **requested):
    original, released = features_of(AlignedTables(pa.table(table), pa.table(release), bound(pa.table(table), **requested)), name)
    return features.features(original, original).tolist(), features.features(released, original).tolist()


def test_number_is_the_middle_of_its_interval():
    before, after = both_features(
        {"n": [10, 20, 30, None, 50]}, {"n": ["[10 - 20]", "20", "*", None, "[-10 - 10]"]}, "n", quasi="n"
    )
    assert before == [[0.0], [0.25], [0.5], [0.5], [1.0]]
    assert after == [[0.125], [0.25], [0.5], [0.5], [-0.25]]


def test_mean_is_used_instead_of_the_middle():
    table = {"n": [10, 20, 40, 50]}
    means = ["12.5", "12.5", "*", None]
    _, both = both_features(
        table, {"n": ["[10 - 20]", "[10 - 20]", "*", None], "n.mean": means}, "n", quasi="n", statistic={"n": "both"}
    )
    _, alone = both_features(table, {"n.mean": means}, "n", quasi="n", statistic={"n": "mean"})
    assert both == alone == [[0.0625], [0.0625], [0.5], [0.5]]


def test_decimals_with_a_comma():
    before, after = both_features({"n": ["0,5", "1,0", "2,5"]}, {"n": ["[0,5 - 1,5]", "1", "*"]}, "n", quasi="n")
    assert (before, after) == ([[0.0], [0.25], [1.0]], [[0.25], [0.25], [0.5]])


def test_numbers_and_days_with_a_tree_are_numbers():
    before, after = both_features(
        {"n": [0, 4, 5, 10]}, {"n": ["[0 - 4]", "[0 - 4]", "5", "*"]}, "n", quasi="n", hierarchy={"n": "interval:5"}
    )
    assert before == [[0.0], [pytest.approx(0.4)], [0.5], [1.0]]
    assert after == [[pytest.approx(0.2)], [pytest.approx(0.2)], [0.5], [pytest.approx(0.475)]]  # the mean of its leaves
    days = {"d": ["2020-01-01", "2020-01-31", "2020-03-01"]}
    before, after = both_features(days, {"d": ["2020-01", "2020-01", "[2020-01 - 2020-03]"]}, "d", quasi="d")
    assert before == [[0.0], [0.5], [1.0]]
    assert after == [[0.25], [0.25], [0.75]]


def test_category_has_a_feature_for_each_node_above_it():
    table = {"pet": ["cat", "newt", "carp", "hare", None]}
    release = {"pet": ["furred", "other", "*", "hare", None]}
    before, after = both_features(table, release, "pet", quasi="pet", hierarchy={"pet": PETS})
    # cat, furred, dog, hare, carp (the only leaf of scaled), newt (the only leaf of other)
    hare, newt, nothing = [0, 1, 0, 1, 0, 0], [0, 0, 0, 0, 0, 1], [0] * 6
    assert before == [[1, 1, 0, 0, 0, 0], newt, [0, 0, 0, 0, 1, 0], hare, nothing]
    assert after == [[0, 1, 0, 0, 0, 0], newt, nothing, hare, nothing]


def test_value_with_the_name_of_a_node():
    tree = [("kitten", "cat", "*"), ("cat", "cat", "*"), ("dog", "*")]
    before, after = both_features({"pet": ["cat", "dog"]}, {"pet": ["cat", "dog"]}, "pet", quasi="pet", hierarchy={"pet": tree})
    # kitten, node cat, leaf cat, dog
    assert (before, after) == ([[0, 1, 1, 0], [0, 0, 0, 1]], [[0, 1, 0, 0], [0, 0, 0, 1]])


def test_nodes_with_most_rows_become_features(monkeypatch):
    monkeypatch.setattr(features, "MOST_NODES", 3)
    table = {"pet": ["cat", "dog", "newt", "newt", "carp", "carp", "carp"]}
    before, _after = both_features(table, table, "pet", quasi="pet", hierarchy={"pet": PETS})
    furred, carp, newt = np.eye(3).tolist()
    assert before == [furred, furred, newt, newt, carp, carp, carp]


def test_unchanged_columns():
    table = pa.table({"q": ["a", "b"], "n": [1.5, 3.5], "t": ["*", "x"], "b": [True, None]})
    aligned = AlignedTables(table, table, bound(table, quasi="q", other=["n", "t", "b"]))
    before, after = matrices(aligned, predictors(aligned), np.array([1, 0]))
    assert before.tolist() == after.tolist() == [[0, 1, 1, 0, 1, 0], [1, 0, 0, 1, 0, 1]]  # a, b, n, *, x, true
    assert before.dtype == np.float32


def test_predictors_exclude_identifiers_sensitive_and_unreadable_columns():
    table = people(10).append_column("scan", pa.array([b"x"] * 10)).append_column("visits", pa.array([[1]] * 10))
    requested = {**ROLES, "sensitive": ["cost"], "other": ["ill", "scan", "visits"]}
    assert predictors(AlignedTables(table, table, bound(table, **requested))) == ["age", "pet", "ill"]
    assert predictors(AlignedTables(table, table, bound(table, **requested)), "age") == ["pet", "ill"]


# --- targets


def test_only_single_values_of_a_quasi_identifier_are_learned():
    table = pa.table({"n": list(range(12)), "q": ["x"] * 12})
    release = pa.table({"n": ["0", "[1 - 2]", "*", None, *map(str, range(4, 12))], "q": ["x"] * 12})
    requested = target_of(AlignedTables(table, release, bound(table, quasi=["n", "q"])), "n")
    assert requested.released.tolist() == [0, -1, -1, -1, *range(4, 12)]
    assert requested.original.tolist() == list(range(12))
    assert requested.numbers is not None
    mean = bound(table, quasi=["n", "q"], statistic={"n": "mean"})
    assert set(target_of(AlignedTables(table, release.rename_columns(["n.mean", "q"]), mean), "n").released.tolist()) == {-1}


def test_few_numbers_are_categories():
    table = pa.table({"n": [*range(10), None], "q": ["x"] * 11})
    requested = target_of(AlignedTables(table, table, bound(table, quasi="q", other="n")), "n")
    assert (requested.numbers, requested.classes, requested.original.tolist()) == (None, 10, [*range(10), -1])
