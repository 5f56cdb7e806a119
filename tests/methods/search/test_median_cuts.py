"""Median cuts: parts are small enough and valid."""

from __future__ import annotations

import numpy as np
import pytest

from kohort.methods.search.median_cuts import cut_table
from kohort.progress import Progress
from tests.methods.census_table import bound


@pytest.mark.parametrize("largest", [30, 100, 449, 900])
def test_parts_are_valid_and_no_larger_than_requested(largest):
    _job, points, checks = bound()
    sizes = np.bincount(cut_table(points, checks, Progress(1), largest=largest))
    assert sizes.sum() == 900
    assert checks.k <= sizes.min() <= sizes.max() <= largest
    assert sizes.max() > largest / 2 - checks.k  # not cut further than requested
