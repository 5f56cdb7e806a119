"""Homogeneity of sensitive values within groups."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kohort as kh
from kohort.auditor.homogeneity import Homogeneity, expected_single_valued
from tests.homogeneity_tables import TABLE_2

TABLE_4 = {"Brain Cancer": [0.25, 0, 0.5], "Malaria": [0.5, 0.5, 0.25], "Heart Disease": [0.25, 0.5, 0.25]}
ROLES: dict[str, Any] = {"quasi": ["PID", "STATE", "AGE"], "sensitive": "DISEASE"}
SE_BY_N = {2: 125, 3: 24.6914, 5: 3.2, 10: 0.2}  # for n = 10,000 and k = 5; case 1 of Mohapatra, Patra continues to 60,000
SE_BY_K = {  # for n = 60,000, case 2 of Mohapatra, Patra
    2: {2: 15000, 3: 5000, 4: 1875, 5: 750, 6: 312.5, 8: 58.5938, 10: 11.7188},
    3: {2: 10000, 3: 2222.22, 4: 555.556, 5: 148.148, 6: 41.1523, 8: 3.42936, 10: 0.304832},
    5: {2: 6000, 3: 800, 4: 120, 5: 19.2, 6: 3.2, 8: 0.096, 10: 0.003072},
    10: {2: 3000, 3: 200, 4: 15, 5: 1.2, 6: 0.1, 8: 0.00075, 10: 6e-06},
}


def alphas(found: Homogeneity) -> dict[str, float]:
    return {one.value.label: one.alpha for one in found.alphas}


def by_label(found: Homogeneity) -> dict[str, list[float]]:
    assert found.matrix is not None
    return {value.label: row for value, row in zip(found.matrix.values, found.matrix.rows(), strict=True)}


# --- figures of Mohapatra, Patra


def test_tables_3_and_4_of_mohapatra_patra():
    (found,) = kh.audit(pa.table(TABLE_2), **ROLES, k=3).homogeneity
    assert alphas(found) == {"Malaria": 0.5, "Heart Disease": 0.5, "Brain Cancer": 0.5}
    assert (found.max, found.min, found.spread) == (0.5, 0.5, 0)
    assert by_label(found) == TABLE_4
    assert found.matrix is not None
    assert [group.name for group in found.matrix.groups] == ["E1", "E2", "E3"]
    assert found.matrix.groups[0].label == "PID=1210**; STATE=*; AGE=<30"
    assert found.se.formula == found.se.unequal == pytest.approx(1 / 9)
    assert (found.alike_classes, found.alike_share, found.base_rate) == (0, 0, 5 / 12)


def test_rare_value_keeps_its_figures_but_not_its_name():
    """Three rows have Brain Cancer, so it is not named at k = 4."""
    (found,) = kh.audit(pa.table(TABLE_2), **ROLES, k=4).homogeneity
    assert alphas(found) == {"Malaria": 0.5, "Heart Disease": 0.5, "held by fewer than 4": 0.5}
    assert by_label(found)["held by fewer than 4"] == TABLE_4["Brain Cancer"]
    assert found.to_dict()["alphas"][-1] == {"value": "held by fewer than 4", "alpha": 0.5, "rows": 3, "pooled": 1}


@pytest.mark.parametrize("values", SE_BY_K)
def test_expected_groups_of_mohapatra_patra(values):
    for times in range(1, 7):
        assert expected_single_valued([values], 10_000 * times, 5) == pytest.approx(times * SE_BY_N[values], rel=1e-5)
    for k, se in SE_BY_K[values].items():
        assert expected_single_valued([values], 60_000, k) == pytest.approx(se, rel=1e-5)


def test_expected_groups_of_extreme_sizes():
    assert expected_single_valued([10**6, 10**6], 10**9, 10**6) == 0
    assert expected_single_valued([1], 10**6, 10**3) == 1000


# --- comparison with plain Python

cells = st.sampled_from(["a", "b", "c", "rare", "?", "", None])
tables = st.lists(
    st.tuples(st.sampled_from(["x", "y", None]), st.sampled_from(["1", "2"]), cells, cells), min_size=1, max_size=40
)


def groups_of(rows: list[tuple[Any, ...]]) -> list[list[tuple[Any, ...]]]:
    groups = defaultdict(list)
    for row in rows:
        groups[row[:2]].append(tuple(None if cell in ("", "?") else cell for cell in row[2:]))
    return list(groups.values())


def single_valued(groups: list[list[tuple[Any, ...]]], *columns: int) -> list[int]:
    """Return the sizes of the groups with a single value in each of these columns."""
    return [len(one) for one in groups if all(len({row[column] for row in one}) == 1 for column in columns)]


def shown(value: str | None, held: int, k: int) -> str:
    return f"held by fewer than {k}" if held < k else "(missing)" if value is None else value


@settings(max_examples=40)
@given(rows=tables, k=st.integers(2, 6))
def test_figures_match_plain_counts(rows, k):
    names = ["q", "r", "s", "t"]
    table = pa.table({name: pa.array(column, pa.string()) for name, column in zip(names, zip(*rows, strict=True), strict=True)})
    evidence = kh.audit(table, quasi=["q", "r"], sensitive=["s", "t"], missing="?", k=k, threads=1)
    groups, n = groups_of(rows), len(rows)
    sizes = [len(one) for one in groups]
    counts = [Counter(row[column] for one in groups for row in one) for column in (0, 1)]
    for column, found in enumerate(evidence.homogeneity):
        shares = {value: [sum(row[column] == value for row in one) / len(one) for one in groups] for value in counts[column]}
        expected: dict[str, float] = {}
        weights: dict[str, list[float]] = {}
        for value, held in counts[column].items():
            label = shown(value, held, k)
            expected[label] = max(expected.get(label, 0), *shares[value])
            weights[label] = [one + more for one, more in zip(weights.get(label, [0] * len(groups)), shares[value], strict=True)]
        assert alphas(found) == expected
        assert [one.alpha for one in found.alphas] == sorted(expected.values(), reverse=True)
        assert by_label(found) == {label: pytest.approx(row) for label, row in weights.items()}
        assert (found.max, found.min) == (max(map(max, shares.values())), min(map(max, shares.values())))
        assert found.values == len(counts[column])
        same = single_valued(groups, column)
        assert found.alike_classes == len(same)
        assert found.alike_share == pytest.approx(sum(same) / n)
        assert found.base_rate == max(counts[column].values()) / n
    together = evidence.homogeneity_all
    assert together is not None
    same = single_valued(groups, 0, 1)
    assert together.alike_classes == len(same)
    assert together.alike_share == pytest.approx(sum(same) / n)
    assert together.base_rate == max(Counter(row for one in groups for row in one).values()) / n
    for se, columns in ((evidence.homogeneity[0].se, [0]), (evidence.homogeneity[1].se, [1]), (together.se, [0, 1])):
        values = math.prod(len(counts[column]) for column in columns)
        assert se.formula == pytest.approx(values / values ** min(sizes) * n / min(sizes))
        assert se.unequal == pytest.approx(sum(values / values**size for size in sizes))
        drawn = [math.prod(sum((held / n) ** size for held in counts[c].values()) for c in columns) for size in sizes]
        assert se.predicted == pytest.approx(sum(drawn))
        assert se.observed == len(single_valued(groups, *columns))


def test_pooled_values_share_a_node_but_not_their_alpha():
    """Two rare values make up one group. Together they have all of its rows, but each only half."""
    table = pa.table({"q": ["x"] * 2 + ["y"] * 4, "s": ["one", "two"] + ["many"] * 4})
    (found,) = kh.audit(table, quasi="q", sensitive="s", k=2).homogeneity
    assert alphas(found) == {"many": 1, "held by fewer than 2": 0.5}
    assert by_label(found) == {"many": [0, 1], "held by fewer than 2": [1, 0]}
    assert found.alike_classes == 1


def test_labels_of_numbers_and_nan():
    table = pa.table({"q": ["x"] * 6, "s": [1.0, 1.0, 2.5, 2.5, math.nan, None]})
    (found,) = kh.audit(table, quasi="q", sensitive="s", k=2).homogeneity
    assert set(alphas(found)) == {"1", "2.5", "(missing)"}


def test_homogeneity_has_no_verdict():
    table = pa.table({"q": ["x"] * 3, "s": ["same"] * 3})
    evidence = kh.audit(table, quasi="q", sensitive="s", k=2)
    assert evidence.passed
    assert evidence.homogeneity[0].alike_share == 1
    assert kh.audit(table, quasi="q", k=2).homogeneity == ()
    assert kh.audit(table.slice(0, 0), quasi="q", sensitive="s", k=2).homogeneity == ()


def test_groups_are_numbered_by_first_appearance():
    """Many rows, so that several threads read them."""
    place = np.random.default_rng(3).integers(0, 400, 200_000)
    table = pa.table({"q": place.astype(str), "s": (place % 7).astype(str)})
    (found,) = kh.audit(table, quasi="q", sensitive="s", k=2, threads=4).homogeneity
    assert found.matrix is not None
    assert [group.label for group in found.matrix.groups] == [f"q={one}" for one in dict.fromkeys(place.tolist())]
