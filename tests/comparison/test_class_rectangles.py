"""Rectangles of groups in a chart show no record."""

from __future__ import annotations

import re

import pyarrow as pa

from kohort.comparison.class_rectangles import two_columns
from kohort.job.job import Job


def test_ticks_stand_at_values_that_k_records_hold():
    table = pa.table({"age": [20] * 6 + [31] * 6 + [47] * 2 + [98], "pay": [1] * 5 + [2] * 5 + [3] * 5})
    picture, _told = two_columns(table, Job.build(quasi=["age", "pay"], k=5, seed=7), 5)
    shown = set(re.findall(r"<!-- (\w+) -->", picture))
    assert {"20", "31", "1", "3"} <= shown
    assert not shown & {"47", "98"}
