"""Measures of loss, compared with sums over cells and with figures of the papers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kohort.utility import loss
from tests import oracles
from tests.published_partitions import EDUCATION_A2, EDUCATION_N4, TEN, partitions, publish, trees

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), database=None)


@QUICK
@given(made=partitions())
def test_measures_match_sums_over_cells(made):
    columns, measures, labels = made
    release, found = publish(columns, labels, hierarchy=trees(columns))
    cells = len(labels) * len(columns)
    plain = list(columns.values())
    texts = oracles.published(plain, measures, labels)
    assert list(zip(*(release[name].to_pylist() for name in columns), strict=True)) == texts
    leaf, height, square = (
        oracles.per_column(plain, measures, labels, what) for what in ("leaf_width", "height_width", "square_error")
    )
    assert found.total_il == pytest.approx(float(sum(height)))
    assert found.height == pytest.approx(float(sum(height) / cells))
    assert found.prec == pytest.approx(float(1 - sum(height) / cells))
    assert found.leaf == pytest.approx(float(sum(leaf) / cells))
    assert found.per_column == pytest.approx({name: float(one / len(labels)) for name, one in zip(columns, leaf, strict=True)})
    assert found.square_error == pytest.approx(float(sum(square)))
    assert (found.dm, found.cavg) == (oracles.discernibility(texts, 2), pytest.approx(float(oracles.mean_size(texts, 2))))
    assert found.dm_clusters == oracles.discernibility(labels, 2)
    assert found.cavg_clusters == pytest.approx(float(oracles.mean_size(labels, 2)))


def test_weights_do_not_change_the_loss():
    columns, labels = {"a": [0, 1, 2, 4], "b": [0, 4, 0, 4]}, [0, 0, 1, 1]
    assert publish(columns, labels, weight={"a": 7, "b": 0})[1] == publish(columns, labels)[1]


def test_clusters_with_the_same_text_are_one_group():
    """Two clusters have the same range and a third another one: groups of 4 and 3 rows."""
    release, found = publish({"a": [1, 5, 9, 1, 5, 9, 9]}, [0, 0, 2, 1, 1, 2, 2])
    assert release["a"].to_pylist() == ["[1 - 5]", "[1 - 5]", "9", "[1 - 5]", "[1 - 5]", "9", "9"]
    assert (found.dm_clusters, found.cavg_clusters) == (4 + 4 + 9, 7 / 3 / 2)
    assert (found.dm, found.cavg) == (16 + 9, 7 / 2 / 2)


def test_cells_of_suppressed_rows_lose_1():
    """Four rows without loss, two suppressed. Group sizes are those of the published rows."""
    release, found = publish({"a": [1, 1, 2, 2, 3, 4], "b": ["x", "x", "y", "y", "x", "z"]}, [0, 0, 1, 1, -1, -1])
    assert release.num_rows == 4
    assert (found.total_il, found.leaf, found.height) == (4, 4 / 12, 4 / 12)
    assert (found.dm, found.cavg, found.square_error) == (8, 1.0, 0.0)


@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=8), k=st.integers(2, 6))
def test_groups_below_k_count_as_suppressed(sizes, k):
    labels = [number for number, size in enumerate(sizes) for _ in range(size)]
    assert loss.discernibility(*np.unique(sizes, return_counts=True), k) == oracles.discernibility(labels, k)


TABLES: dict[int, list[tuple[int, ...]]] = {
    3: [(39, 50), (38, 52), (53, 49), (28, 37)],
    7: [(39, 42), (50, 52), (38, 37), (31, 28), (53, 49)],
    8: [(39, 42), (50, 38, 37), (52, 53), (31, 28, 49)],
}


def ni_xie_qian(table, tree):
    """Publish one of the tables of Ni, Xie, Qian 2017 in its clusters."""
    ages = [age for cluster in TABLES[table] for age in cluster]
    rows = [row for row in TEN if row[3] in ages]
    labels = [next(number for number, cluster in enumerate(TABLES[table]) if row[3] in cluster) for row in rows]
    columns = dict(zip(["education", "race", "sex", "age"], map(list, zip(*rows, strict=True)), strict=True))
    return publish(columns, labels, hierarchy={"education": tree})


@pytest.mark.parametrize(("table", "a2", "n4"), [(3, 0.27, 0.2825), (7, 0.316, 0.326), (8, 0.49, 0.48)])
def test_mean_loss_of_ni_xie_qian(table, a2, n4):
    assert ni_xie_qian(table, EDUCATION_A2)[1].leaf == pytest.approx(a2, abs=5e-5)
    assert ni_xie_qian(table, EDUCATION_N4)[1].leaf == pytest.approx(n4, abs=5e-5)


def test_total_loss_of_ni_xie_qian():
    """12.3733 for Table 7 and 19.7333 for Table 8. Clusters of three rows make it more than the cost of Wang, Liu, Gao 2012."""
    assert ni_xie_qian(7, EDUCATION_A2)[1].total_il == pytest.approx(12.3733, abs=5e-5)
    assert ni_xie_qian(8, EDUCATION_A2)[1].total_il == pytest.approx(19.7333, abs=5e-5)


def test_published_text_of_ni_xie_qian():
    release, _ = ni_xie_qian(8, EDUCATION_A2)
    by_age = dict(zip([row[3] for row in TEN], release.to_pylist(), strict=True))
    assert by_age[52] == {"education": "Senior high", "race": "*", "sex": "Male", "age": "[52 - 53]"}
    assert by_age[49] == {"education": "*", "race": "*", "sex": "Female", "age": "[28 - 49]"}


def test_total_loss_of_wang_liu_gao():
    """Table 2: six rows in three pairs. Births in a pair share only the year, level 3 of 5 of the tree. Total-IL is 3.6."""
    calendar = [
        ("1987-1-8", "1987-1", "1987 Q1", "1987", "1980s", "*"),
        ("1987-5-22", "1987-5", "1987 Q2", "1987", "1980s", "*"),
        ("1988-2-2", "1988-2", "1988 Q1", "1988", "1980s", "*"),
        ("1988-10-14", "1988-10", "1988 Q4", "1988", "1980s", "*"),
        ("1986-3-15", "1986-3", "1986 Q1", "1986", "1980s", "*"),
        ("1986-6-27", "1986-6", "1986 Q2", "1986", "1980s", "*"),
    ]
    columns = {"race": list("bbbbww"), "birth": [row[0] for row in calendar], "sex": list("MMMMFF")}
    release, found = publish(columns, [0, 0, 1, 1, 2, 2], hierarchy={"birth": calendar})
    assert release["birth"].to_pylist() == ["1987", "1987", "1988", "1988", "1986", "1986"]
    assert found.total_il == pytest.approx(3.6)
