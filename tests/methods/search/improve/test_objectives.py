"""Objectives of improvement: label, height, weight and grid."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import kohort as kh
from kohort import datasets
from tests import oracles
from tests.published_partitions import publish


def mixed(labels, values):
    """Return the share of rows whose value is not the most frequent one in their group."""
    away = sum(len(group) - max(Counter(values[row] for row in group).values()) for group in oracles.groups(labels))
    return away / len(values)


@pytest.mark.parametrize("role", ["other", "quasi"])
def test_the_objective_class_mixes_labels_less(role):
    sample = datasets.hospital(800)
    table = sample.table.select(["age", "sex", "zip", "diagnosis"])
    quasi = ["age", "sex", "zip"]
    roles = {"quasi": [*quasi, "diagnosis"]} if role == "quasi" else {"quasi": quasi, role: "diagnosis"}
    trees = {name: sample.trees[name] for name in ("sex", "zip")}
    requested: dict[str, Any] = {**roles, "k": 5, "seed": 7, "keep_order": True, "hierarchy": trees}
    values = table["diagnosis"].to_pylist()
    leaf = kh.anonymize(table, **requested)
    label = kh.anonymize(table, objective="class", label="diagnosis", **requested)
    assert mixed(label.labels.tolist(), values) < 0.6 * mixed(leaf.labels.tolist(), values)
    assert label.evidence.passed
    assert label.evidence.k >= 5
    published = label.table["diagnosis"].to_pylist()
    if role == "quasi":  # the label is generalised like any quasi-identifier and not published a second time
        assert label.table.column_names == leaf.table.column_names
        for group in oracles.groups(label.labels.tolist()):
            inside = {values[row] for row in group}
            assert {published[row] for row in group} == (inside if len(inside) == 1 else {"*"})
    else:
        assert published == values


def test_the_objective_height_lowers_the_height_loss():
    lost = defaultdict[str, float](float)
    for seed in range(1, 4):
        sample = datasets.hospital(300, seed)
        for objective in ("leaf", "height"):
            release = kh.anonymize(sample.table, sample.job, k=5, seed=7, objective=objective)
            lost[objective] += release.loss.total_il
            lost[f"{objective}, by leaves"] += release.loss.leaf
    assert lost["height"] < lost["leaf"]
    assert lost["leaf, by leaves"] < lost["height, by leaves"]


@pytest.mark.parametrize("name", ["age", "zip", "occupation"])
@pytest.mark.parametrize("method", ["auto", "gccg"])
def test_a_column_with_a_higher_weight_loses_less(name, method):
    sample = datasets.hospital(300)
    requested: dict[str, Any] = {"k": 5, "seed": 7, "method": method, "effort": 1}
    usual, heavy = (kh.anonymize(sample.table, sample.job, weight={name: weight}, **requested) for weight in (1, 10))
    assert heavy.loss.per_column[name] < 0.8 * usual.loss.per_column[name]
    assert heavy.loss.leaf > usual.loss.leaf


def test_improvement_uses_the_ranges_published_on_a_grid():
    lost = defaultdict[str, float](float)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        columns = {"age": rng.integers(0, 60, 300).tolist(), "hours": rng.integers(0, 40, 300).tolist()}
        on_grid: dict[str, Any] = {"ranges": "grid", "step": {"age": 10, "hours": 10}}
        requested: dict[str, Any] = {"quasi": ["age", "hours"], "k": 4, "seed": 7, "row_order": "given"}
        table = pa.table(columns)
        aware = kh.anonymize(table, **requested, **on_grid)
        measures = [oracles.NumbersOnGrid(column, "10") for column in columns.values()]
        leaves = oracles.per_column(list(columns.values()), measures, aware.labels.tolist(), "leaf_width")
        assert aware.loss.leaf == pytest.approx(float(sum(leaves)) / 600)
        assert f"to {100 * aware.loss.leaf:.1f} %" in aware.notes[-1]
        lost["aware"] += aware.loss.leaf
        lost["unaware"] += publish(columns, kh.anonymize(table, **requested).labels.tolist(), **{"k": 4, **on_grid})[1].leaf
    assert lost["aware"] < 0.9 * lost["unaware"]
