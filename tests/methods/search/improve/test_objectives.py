"""What improvement optimises: label, height, weight and grid."""

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

# --- what is wanted


def mixed(labels, values):
    """The share of rows that stand in a group in which another value is more frequent."""
    away = sum(len(group) - max(Counter(values[row] for row in group).values()) for group in oracles.groups(labels))
    return away / len(values)


@pytest.mark.parametrize("role", ["other", "quasi"])
def test_labels_mix_less_with_the_objective_class(role):
    sample = datasets.hospital(800)
    table = sample.table.select(["age", "sex", "zip", "diagnosis"])
    quasi = ["age", "sex", "zip"]
    roles = {"quasi": [*quasi, "diagnosis"]} if role == "quasi" else {"quasi": quasi, role: "diagnosis"}
    trees = {name: sample.trees[name] for name in ("sex", "zip")}
    asked: dict[str, Any] = {**roles, "k": 5, "seed": 7, "keep_order": True, "hierarchy": trees}
    values = table["diagnosis"].to_pylist()
    leaf = kh.anonymize(table, **asked)
    label = kh.anonymize(table, objective="class", label="diagnosis", **asked)
    assert mixed(label.labels.tolist(), values) < 0.6 * mixed(leaf.labels.tolist(), values)
    assert label.evidence.passed
    assert label.evidence.k >= 5
    told = label.table["diagnosis"].to_pylist()
    if role == "quasi":  # generalised as any other; the label is not told on top of it
        assert label.table.column_names == leaf.table.column_names
        for group in oracles.groups(label.labels.tolist()):
            inside = {values[row] for row in group}
            assert {told[row] for row in group} == (inside if len(inside) == 1 else {"*"})
    else:
        assert told == values


def test_height_lowers_what_papers_print():
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
def test_a_column_that_weighs_more_loses_less(name, method):
    sample = datasets.hospital(300)
    asked: dict[str, Any] = {"k": 5, "seed": 7, "method": method, "effort": 1}
    usual, heavy = (kh.anonymize(sample.table, sample.job, weight={name: weight}, **asked) for weight in (1, 10))
    assert heavy.loss.per_column[name] < 0.8 * usual.loss.per_column[name]
    assert heavy.loss.leaf > usual.loss.leaf


def test_what_is_published_on_a_grid_is_what_is_improved():
    lost = defaultdict[str, float](float)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        columns = {"age": rng.integers(0, 60, 300).tolist(), "hours": rng.integers(0, 40, 300).tolist()}
        on_grid: dict[str, Any] = {"ranges": "grid", "step": {"age": 10, "hours": 10}}
        asked: dict[str, Any] = {"quasi": ["age", "hours"], "k": 4, "seed": 7, "row_order": "given"}
        table = pa.table(columns)
        aware = kh.anonymize(table, **asked, **on_grid)
        measures = [oracles.NumbersOnGrid(column, "10") for column in columns.values()]
        leaves = oracles.per_column(list(columns.values()), measures, aware.labels.tolist(), "leaf_width")
        assert aware.loss.leaf == pytest.approx(float(sum(leaves)) / 600)
        assert f"to {aware.loss.leaf:.4f}" in aware.notes[-1]
        lost["aware"] += aware.loss.leaf
        lost["unaware"] += publish(columns, kh.anonymize(table, **asked).labels.tolist(), **{"k": 4, **on_grid})[1].leaf
    assert lost["aware"] < 0.9 * lost["unaware"]
