"""The chart of groups as rectangles shows no value that fewer than k rows have."""

from __future__ import annotations

import re

import pyarrow as pa

from kohort.comparison.group_rectangles import two_columns
from kohort.job.job import Job


def test_ticks_are_at_values_that_at_least_k_rows_have():
    table = pa.table({"age": [20] * 6 + [31] * 6 + [47] * 2 + [98], "pay": [1] * 5 + [2] * 5 + [3] * 5})
    picture, _caption = two_columns(table, Job.build(quasi=["age", "pay"], k=5, seed=7), 5)
    shown = set(re.findall(r"<!-- (\w+) -->", picture))
    assert {"20", "31", "1", "3"} <= shown
    assert not shown & {"47", "98"}
