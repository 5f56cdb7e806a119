"""Propensity score: can a model distinguish the release from the original?"""

from __future__ import annotations

import statistics
import sys

import numpy as np
import pyarrow as pa
import pytest

from kohort.errors import MachineError
from tests.utility.drawn_tables import TREES, measured, published, schema_of


def sample_of(seed: int, rows: int) -> pa.Table:
    random = np.random.default_rng(seed)
    age = random.integers(0, 90, rows)
    gone = random.random(rows) < 0.1
    columns = {"age": age, "income": (age * 3 + random.normal(size=rows) * 50).round(2), "c": random.choice(list("abcd"), rows)}
    return pa.table({**columns, "n": pa.array(random.integers(0, 5, rows), mask=gone)})


def test_same_table_has_pmse_0_and_a_sample_has_ratio_1():
    pytest.importorskip("sklearn.linear_model")
    table = sample_of(seed=1, rows=3000)
    schema = schema_of(table)
    assert measured(table, table, schema, propensity=True).propensity.pmse == pytest.approx(0, abs=1e-12)
    ratios = []
    for seed in range(40):
        again = table.take(pa.array(np.random.default_rng(seed).integers(0, table.num_rows, table.num_rows)))
        ratios.append(measured(table, again, schema, propensity=True, seed=seed).propensity.ratio)
    # Three standard errors. With 13 features, the standard deviation of a ratio is 0.4.
    assert statistics.fmean(ratios) == pytest.approx(1, abs=0.2)


def test_score_depends_on_the_seed_and_grows_with_wider_cells():
    pytest.importorskip("sklearn.linear_model")
    table = sample_of(seed=2, rows=2000)
    source, release, schema = published(table)
    one, again, other = (measured(source, release, schema, propensity=True, seed=seed).propensity for seed in (1, 1, 2))
    assert one == again != other
    everything = pa.table(dict.fromkeys(table.column_names, ["*"] * table.num_rows))
    far = measured(table, everything, schema, propensity=True)
    assert one.ratio < far.propensity.ratio
    assert one.pmse < far.propensity.pmse < 0.25
    assert far.to_dict()["propensity"]["ratio"] == far.propensity.ratio
    assert far.in_words().endswith("times as large as that of a random sample of the source.")


def test_evenly_spread_values_are_similar_to_stars():
    pytest.importorskip("sklearn.linear_model")
    each = np.arange(2000)
    table = pa.table({"n": each % 10, "r": each / 7, "z": np.array(["10", "30", "20", "100", "55"])[each // 3 % 5]})
    stars = pa.table(dict.fromkeys(table.column_names, ["*"] * len(each)))
    found = measured(table, stars, schema_of(table, hierarchy={"z": TREES["z"]}), propensity=True)
    assert found.total.total_variation < 0.01
    assert found.propensity.ratio < 3


def test_score_of_perfectly_separable_and_of_constant_tables():
    pytest.importorskip("sklearn.linear_model")
    table = pa.table({"n": [1, 2] * 50, "m": [1, 2] * 50, "c": [None, "a"] * 50})
    found = measured(table, pa.table({"n": ["*"] * 100, "m": ["*"] * 100, "c": ["*"] * 100}), schema_of(table), propensity=True)
    assert 0 < found.propensity.pmse <= 0.25
    constant = pa.table({"n": [1] * 5})
    assert measured(constant, constant, schema_of(constant), propensity=True).propensity.ratio == 0


def test_missing_scikit_learn_is_an_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    table = pa.table({"n": [1, 2, 3]})
    with pytest.raises(MachineError, match=r"kohort\[ml\]"):
        measured(table, table, schema_of(table), propensity=True)
    assert measured(table, table, schema_of(table)).propensity is None
