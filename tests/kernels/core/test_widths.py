"""Widths computed for many values in one call."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kohort.encoding import encode as encoding
from kohort.job.job import Job
from kohort.kernels.core import widths
from kohort.schema import columns as schema
from tests.oracles import TREE, tables


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(tables(), st.data())
def test_widths_with_matches_width(made, data):
    columns, _measures = made
    table = pa.table({name: pa.array(cells) for name, cells in columns.items()})
    job = Job.build(quasi=list(columns), hierarchy={"tree": TREE} if "tree" in columns else {})
    points = encoding.encode(table, schema.resolve(job.columns, table))
    axes = points.kernel_tables()
    for number, axis in enumerate(points.axes):
        low, high = sorted(data.draw(st.tuples(*[st.integers(0, axis.size - 1)] * 2)))
        values, costs = np.arange(axis.size), np.empty(axis.size, np.int64)
        widths.widths_with(axes, number, low, high, values, np.empty(axis.size, np.int64), costs)
        assert costs.tolist() == [widths.width(axes, number, min(low, value), max(high, value)) for value in range(axis.size)]
