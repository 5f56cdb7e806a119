"""Levels of full-domain generalisation: intervals, trees, dates and missing values."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import kohort
from kohort.encoding.number_axis import Grid, NumericAxis
from kohort.methods.search.full_domain_levels import Levels
from tests.methods.full_domain import PERSON, SECRET, labels_of

pytestmark = pytest.mark.slow  # compiling the kernels takes long

BOTH = pytest.mark.parametrize("method", ["incognito", "datafly"])


@BOTH
def test_missing_values_join_other_values_only_at_the_last_level(method):
    columns = {"a": [1, 2, 3, 4, None, None]}
    table = kohort.anonymize(pa.table(columns), quasi="a", k=2, method=method, keep_order=True).table
    assert table["a"].to_pylist() == ["[1 - 2]", "[1 - 2]", "[3 - 4]", "[3 - 4]", None, None]
    table = kohort.anonymize(pa.table({"a": [1, 2, 3, 4, 5, None]}), quasi="a", k=2, method=method, keep_order=True).table
    assert table["a"].to_pylist() == ["*"] * 6
    table = kohort.anonymize(pa.table({"a": [1, 2, 3, 4, 5]}), quasi="a", k=3, method=method, keep_order=True).table
    assert table["a"].to_pylist() == ["[1 - 5]"] * 5


@BOTH
def test_a_node_with_one_child_is_published_as_the_child(method):
    tree = [("a", "ab", "top"), ("b", "ab", "top"), ("c", "only c", "top")]
    job: dict[str, Any] = {"quasi": "x", "hierarchy": {"x": tree}, "k": 2, "method": method, "keep_order": True}
    table = kohort.anonymize(pa.table({"x": ["a", "b", "c", "c"]}), **job).table
    assert table["x"].to_pylist() == ["ab", "ab", "c", "c"]
    assert kohort.anonymize(pa.table({"x": ["a", "b", "b", "c"]}), **job).table["x"].to_pylist() == ["top"] * 4


@BOTH
def test_dates_have_intervals_too(method):
    days = ["2019-01-05", "2019-02-07", "2019-11-01", "2019-12-24"]
    table = kohort.anonymize(pa.table({"d": days}), quasi="d", k=2, method=method, keep_order=True).table
    assert table["d"].to_pylist() == ["[2019-01 - 2019-02]"] * 2 + ["[2019-11 - 2019-12]"] * 2


def test_intervals_divide_the_range_not_the_number_of_values():
    axis = NumericAxis("a", np.array([0, 1, 2, 3, 4, 5, 6, 64]), np.array([0, 1, 2, 3, 4, 5, 6, 64]))
    levels = Levels.of(axis, 1, some_missing=True)
    assert levels.low.tolist() == [list(range(9)), [0, *[1] * 7, 8], [0, *[1] * 7, 8], [0] * 9]
    assert levels.high.tolist() == [list(range(9)), [0, *[7] * 7, 8], [0, *[7] * 7, 8], [8] * 9]


def test_intervals_with_the_same_text_are_joined():
    """Eighths of 0..16 are all published as [0 - 50], except 4, because 5 does not occur. Intervals between them join too."""
    numbers = np.array([0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])
    levels = Levels.of(NumericAxis("a", numbers, numbers, grid=Grid(Decimal(50))), 1, some_missing=False)
    assert levels.low.tolist() == [list(range(17)), *[[0, *[1] * 16]] * 4]
    levels = Levels.of(NumericAxis("a", numbers, numbers), 1, some_missing=False)
    assert [len(set(level)) - 1 for level in levels.low.tolist()] == [16, 8, 4, 2, 1]


def test_finer_levels_can_be_valid_where_coarser_ones_are_not():
    """Two people have x and y at 0, and y and x at 1. In one group both people have both values."""
    columns = {"a": [0, 0, 1, 1, 8, 8, 9, 9], SECRET: list("xyyxzwzw"), PERSON: [1, 2, 1, 2, 3, 4, 5, 6]}
    assert labels_of(columns, "incognito", 2, alpha=0.5, unit=[PERSON]) == [0, 0, 1, 1, 2, 2, 3, 3]
