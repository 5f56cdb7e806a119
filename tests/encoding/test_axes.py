"""Axes: published text and cost of numbers, trees and text."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kohort
from kohort.schema import published_text as published
from tests import oracles
from tests.published_partitions import publish

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), database=None)
PAIRS = [0, 0, 1, 1]


def texts_and_costs(column, labels=PAIRS, **job):
    """Return the published texts of the rows of a one-column table, and its mean height loss and leaf loss."""
    published_table, found = publish({"a": column}, labels, **job)
    return published_table["a"].to_pylist(), found.height, found.leaf


# --- numbers


@pytest.mark.parametrize(
    ("column", "texts", "cost"),
    [
        pytest.param([1, 3, 7, 7], ["[1 - 3]", "7"], 2 / 6 / 2, id="range between members, a single value"),
        pytest.param([-9, -3, -1, 1], ["[-9 - -3]", "[-1 - 1]"], (6 + 2) / 10 / 2, id="negative"),
        pytest.param([0.1, 0.3, 2.5, 2.0], ["[0.1 - 0.3]", "[2 - 2.5]"], (0.2 + 0.5) / 2.4 / 2, id="decimals"),
        pytest.param([-0.0, 0.0, 1e-7, 1e22], ["0", "[1e-07 - 1e+22]"], 1 / 2, id="very small and very large"),
        pytest.param([5, 5, 5, 5], ["5", "5"], 0, id="constant"),
        pytest.param([None, None, 2, 4], [None, "[2 - 4]"], 1 / 2, id="only missing"),
        pytest.param([None, 2, 3, 4], ["*", "[3 - 4]"], (1 + 1 / 2) / 2, id="missing and present"),
        pytest.param([None, 2, 2, 2], ["*", "2"], 1 / 2, id="missing and one value"),
        pytest.param([9 << 53, 9 << 53, 11 << 53, 15 << 53], [f"{9 << 53}", f"[{11 << 53} - {15 << 53}]"], 4 / 6 / 2, id="long"),
        pytest.param([-(2**62), 2**62, 0, 1], [f"[-{2**62} - {2**62}]", "[0 - 1]"], 1 / 2, id="half of all integers"),
        pytest.param(["007", "08", "+9", "-1"], ["[7 - 8]", "[-1 - 9]"], (1 + 10) / 10 / 2, id="text declared integer"),
    ],
)
def test_published_text_and_cost_of_numbers(column, texts, cost):
    job = {"type": {"a": "integer"}} if isinstance(column[0], str) else {}
    found, height, leaf = texts_and_costs(column, **job)
    assert found == [texts[0], texts[0], texts[1], texts[1]]
    assert (height, leaf) == (pytest.approx(cost), pytest.approx(cost))


def test_width_of_integers_too_large_for_doubles():
    assert texts_and_costs([2**60, 2**60 + 1, 2**60 + 2, 2**60 + 4])[1] == pytest.approx((1 + 2) / 4 / 2)


def test_range_too_large_for_doubles_raises_an_error():
    with pytest.raises(kohort.RequestError, match="range"):
        kohort.anonymize(pa.table({"a": [-1.7e308, -1.7e308, 1.7e308, 1.7e308]}), quasi="a", k=2)


@QUICK
@given(column=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=4, max_size=12))
def test_integers_of_any_size_are_published_exactly(column):
    labels = [row % 2 for row in range(len(column))]
    texts, *_ = texts_and_costs(column, labels)
    for value, text in zip(column, texts, strict=True):
        assert re.fullmatch(r"-?\d+|\[-?\d+ - -?\d+\]", text)
        low, *rest = map(int, text.strip("[]").split(" - "))
        high = rest[0] if rest else low
        assert low <= value <= high
        assert {low, high} <= set(column)


@QUICK
@given(column=st.lists(st.floats(-1e300, 1e300, allow_nan=False), min_size=4, max_size=12))
def test_decimals_of_any_size_are_published_exactly(column):
    labels = [row % 2 for row in range(len(column))]
    texts, height, _ = texts_and_costs(column, labels)
    assert 0 <= height <= 1
    for value, text in zip(column, texts, strict=True):
        span = published.interval(text)
        assert span is not None
        assert span.low <= value <= span.high
        assert {span.low, span.high} <= set(column)


# --- more distinct numbers than codes


@pytest.mark.parametrize("method", ["mondrian", pytest.param("auto", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["integers", "decimals"])
def test_bins_publish_true_range_ends(kind, method, monkeypatch):
    """If there are more distinct numbers than codes, published ranges end at true values of the group, and the audit passes.

    Only mondrian runs with the true limit, because `auto` takes ten times as long for the same result.
    """
    codes = 65_535 if method == "mondrian" else 6_553
    monkeypatch.setattr("kohort.encoding.encode.MOST_NUMBERS", codes)
    draw = np.random.default_rng(3)
    values = draw.permutation(np.unique(draw.integers(-(10**9), 10**9, codes + 9_000))[: codes + 4_465]).tolist()
    values = values if kind == "integers" else [value / 1024 for value in values]
    values[:6] = [None] * 6
    table = pa.table({"a": values, "b": draw.integers(0, 2, len(values))})
    release = kohort.anonymize(table, quasi=["a", "b"], k=5, method=method, keep_order=True)
    assert release.evidence.passed
    assert "bins" in release.axes["a"]
    texts, measure, loss = release.table["a"].to_pylist(), oracles.Numbers(values), 0.0
    for rows in oracles.groups(release.labels.tolist()):
        members = [values[row] for row in rows]
        assert {texts[row] for row in rows} == {measure.text(members)}
        loss += len(rows) * float(measure.height_width(members))
    assert release.loss.per_column["a"] == pytest.approx(loss / len(values))


# --- trees

DEEP = (("a", "ab", "abcd", "*"), ("c", "cd", "abcd", "*"), ("z", "*"), ("b", "ab", "abcd", "*"), ("d", "cd", "abcd", "*"))


@pytest.mark.parametrize(
    ("column", "texts", "height", "leaf"),
    [
        pytest.param("aabb", ["a", "b"], 0, 0, id="leaves"),
        pytest.param("abcd", ["ab", "cd"], 1 / 3, 2 / 5, id="parents"),
        pytest.param("acbd", ["abcd", "abcd"], 2 / 3, 4 / 5, id="grandparents"),
        pytest.param("azzz", ["*", "z"], 1 / 2, 1 / 2, id="a short tree row is directly below the root"),
        pytest.param("zzab", ["z", "ab"], 1 / 6, 1 / 5, id="a single leaf of a short tree row costs nothing"),
        pytest.param(["a", None, None, None], ["*", None], 1 / 2, 1 / 2, id="missing and present"),
    ],
)
def test_published_text_and_cost_of_trees(column, texts, height, leaf):
    found = texts_and_costs(list(column), hierarchy={"a": DEEP})
    assert found[0] == [texts[0], texts[0], texts[1], texts[1]]
    assert found[1:] == (pytest.approx(height), pytest.approx(leaf))


def test_tree_rows_of_different_length():
    """`c` is directly below `x`, one level above `a` and `b`. The height of their common ancestor `x` is two."""
    tree = [("a", "ab", "x", "top", "*"), ("b", "ab", "x", "top", "*"), ("c", "x", "top", "*"), ("o", "p", "q", "r", "*")]
    texts, height, leaf = texts_and_costs(["a", "c", "a", "b"], hierarchy={"a": tree})
    assert texts == ["x", "x", "ab", "ab"]
    assert (height, leaf) == (pytest.approx((2 + 1) / 4 / 2), pytest.approx((3 + 2) / 4 / 2))


def test_height_of_a_node_above_short_tree_rows_only():
    tree = [("a", "ab", "*"), ("b", "ab", "*"), ("c", "p", "q", "*")]
    assert texts_and_costs(["a", "b", "c", "c"], hierarchy={"a": tree})[:2] == (["ab", "ab", "c", "c"], pytest.approx(1 / 3 / 2))


def test_tree_with_a_named_root_and_without_a_root():
    assert texts_and_costs(["a", "b", "a", "a"], hierarchy={"a": [("a", "all"), ("b", "all")]})[0][0] == "all"
    assert texts_and_costs(["a", "b", "a", "a"], hierarchy={"a": [("a", "x"), ("b", "y")]})[0][0] == "*"


def test_tree_row_with_only_a_leaf():
    """A tree row with only `z` is read as `z;*`. The tree still has two levels."""
    tree = [("a", "ab", "*"), ("b", "ab", "*"), ("z",)]
    assert texts_and_costs(["a", "b", "a", "b"], hierarchy={"a": tree})[1] == pytest.approx(1 / 2)


def test_text_has_a_flat_tree_sorted_by_bytes():
    """B < a < \u00e4 in UTF-8. Mondrian may cut between any two of them."""
    column = ["\u00e4", "a", "B", "B", "a", "\u00e4"]
    release = kohort.anonymize(pa.table({"a": column}), quasi="a", k=2, method="mondrian", keep_order=True)
    assert release.labels.tolist() == [2, 1, 0, 0, 1, 2]
    assert texts_and_costs(["x", "y", "x", "x"])[0] == ["*", "*", "x", "x"]


@pytest.mark.parametrize("kind", [pa.null(), pa.int64(), pa.float64(), pa.string()], ids=str)
def test_column_with_only_missing_values(kind):
    release = kohort.anonymize(pa.table({"a": pa.nulls(6, kind), "b": [1, 1, 2, 2, 3, 3]}), quasi=["a", "b"], k=2)
    assert release.evidence.k == 2
    assert release.table["a"].null_count == 6
    assert release.loss.leaf == 0


TYPED = {
    "float32": pa.array([0.1, 0.1, 0.7, 0.7], pa.float32()),
    "decimal": pa.array([Decimal("1.10")] * 2 + [Decimal("2.20")] * 2),
    "date": pa.array([dt.date(2020, 1, 1)] * 2 + [dt.date(2021, 1, 1)] * 2),
    "timestamp": pa.array([dt.datetime(2020, 1, 1, tzinfo=dt.UTC)] * 2 + [dt.datetime(2021, 1, 1, tzinfo=dt.UTC)] * 2),
    "time": pa.array([dt.time(1), dt.time(1), dt.time(2), dt.time(2)]),
    "bool": pa.array([True, True, False, False]),
    "dictionary": pa.array(["u", "u", "v", "v"]).dictionary_encode(),
    "large text": pa.array(["1", "1", "2", "2"], pa.large_string()),
    "text view": pa.array(["u", "u", "v", "v"], pa.string_view()),
    "float16": pa.array(np.array([0.5, 0.5, 0.75, 0.75], np.float16)),
}


@pytest.mark.parametrize("kind", TYPED)
@pytest.mark.parametrize("declared", [None, "text"])
def test_release_of_a_typed_column_passes_the_audit(kind, declared, tmp_path):
    job: dict[str, Any] = {"quasi": "a", "sensitive": "s", "k": 2, **({"type": {"a": declared}} if declared else {})}
    table = pa.table({"a": TYPED[kind], "s": TYPED[kind]})
    for name in ("out.csv", "out.parquet"):
        assert kohort.anonymize(table, **job, output=tmp_path / name).evidence.classes == 2
