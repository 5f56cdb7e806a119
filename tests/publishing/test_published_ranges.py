"""Test that ranges are widened to published ends, and labels to labels at or above published ones."""

from __future__ import annotations

import numpy as np
import pytest

from kohort.methods import Partition
from kohort.publishing.boxes import boxes_of
from kohort.publishing.published_ranges import ranges_of
from tests import oracles
from tests.recorded_runs import prepare


def ranges(column, labels, low, high, **requested):
    """Return ranges from `low` to `high` for a release with these groups. None means missing."""
    ready = prepare({"a": column}, **requested)
    axis = ready.points.axes[0]
    boxes = boxes_of(ready.points, Partition(np.array(labels)), ready.schema)
    codes = dict(zip(column, ready.points.codes[:, 0].astype(np.int64).tolist(), strict=True))
    first, last = (np.array([codes[value] for value in values], np.int64) for values in (low, high))
    return ranges_of(axis, ready.schema.columns["a"], boxes, 0, first, last)


NUMBERS = [0, 1, 2, 3, 4, 5, 6, 7]


def test_numbers_are_widened_to_published_ends():
    found = ranges(NUMBERS, [-1, 0, 0, 0, 1, 1, 1, -1], [2, 2, 1, 5, 3], [2, 5, 6, 5, 4])
    assert found.texts() == ["[1 - 3]", "[1 - 6]", "[1 - 6]", "[4 - 6]", "[3 - 4]"]
    assert found.widths("leaf").tolist() == [0.4, 1.0, 1.0, 0.4, 0.2]


def test_numbers_beyond_the_published_ends_stop_at_the_outermost_end():
    found = ranges(NUMBERS, [-1, 0, 0, 0, 1, 1, 1, -1], [0, 0, 7, 5], [7, 0, 7, 7])
    assert found.texts() == ["[1 - 6]", "1", "6", "[4 - 6]"]
    assert found.widths("leaf").tolist() == [1.0, 0.0, 0.0, 0.4]


def test_ranges_with_missing_values_are_stars():
    column = [None, 1, 2, 3]
    found = ranges(column, [0, 0, 1, 1], [None, None, 2], [None, 3, 3])
    assert found.texts() == ["*", "*", "[2 - 3]"]
    assert found.widths("leaf").tolist() == [1.0, 1.0, 1.0]  # no published group has only missing values
    shown = ranges(column, [0, 1, 1, 1], [None, None], [None, 3], k=2)
    assert shown.widths("leaf").tolist() == [0.0, 1.0]
    assert shown.texts() == ["*", "*"]


@pytest.mark.parametrize("requested", [{"statistic": {"a": "mean"}}, {"suppress": 0.5}], ids=["only means", "all groups are *"])
def test_columns_without_published_ranges_are_stars(requested):
    column, labels = ([None, 1, 2, 3], [0, 0, -1, -1]) if "suppress" in requested else (NUMBERS, [0] * 4 + [1] * 4)
    found = ranges(column, labels, [1, 1], [1, 3], **requested)
    assert found.texts() == ["*", "*"]
    assert found.widths("leaf").tolist() == [1.0, 1.0]


def test_ends_on_a_grid_are_multiples_or_published_values():
    found = ranges([3, 7, 12, 18, 25, 25.5], [0, 0, 1, 1, 2, 2], [3, 7, 12], [3, 12, 25.5], ranges="grid", step={"a": 10})
    assert found.texts() == ["[0 - 10]", "[0 - 20]", "[10 - 30]"]


def test_dates_are_widened_to_published_months_and_years():
    days = ["2019-01-05", "2019-02-05", "2019-03-05", "2019-04-05", "2021-07-09", "2023-07-09"]
    found = ranges(days, [0, 0, 0, 0, 1, 1], [days[1], days[1], days[3]], [days[1], days[3], days[5]])
    assert found.texts() == ["[2019-01 - 2019-04]", "[2019-01 - 2019-04]", "[2019 - 2023]"]


def test_labels_are_at_or_above_published_labels():
    """Published are a (one row) and de (rows d and e). The node ab is above a. The label b is not published."""
    column = ["a", "b", "c", "d", "e", "z"]
    tree = {"a": oracles.TREE}
    found = ranges(column, [0, -1, -1, 1, 1, -1], ["a", "b", "a", "c", "d", "z"], ["a", "b", "b", "c", "d", "z"], hierarchy=tree)
    assert found.texts() == ["a", "ab", "ab", "abc", "de", "*"]
    assert found.widths("height").tolist() == [0.0, 0.25, 0.25, 0.5, 0.25, 1.0]


def test_text_without_a_tree_is_published_text_or_a_star():
    found = ranges(["x", "y", "z", "w"], [0, 1, 2, 2], ["w", "x", "y"], ["w", "x", "z"])
    assert found.texts() == ["*", "x", "*"]
    assert found.widths("leaf").tolist() == [1.0, 0.0, 1.0]
