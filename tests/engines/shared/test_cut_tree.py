"""Cut trees made from counts are compared with cuts made from the rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kohort.constraints.constraints import Constraints
from kohort.encoding import encode as encoding
from kohort.encoding import sensitive
from kohort.engines.shared import cut_tree
from kohort.job.job import Job
from kohort.methods.search.median_cuts import cut_table
from kohort.progress import Progress
from kohort.schema import columns as schema
from tests import oracles

PROMISES = [{}, {"l": 2}, {"l": 3}, {"alpha": 0.5}, {"t": 0.3}, {"entropy_l": 1.5}, {"recursive_l": "2,3"}, {"beta": 1.0}]


class Rows:
    """Counts rows one by one."""

    def __init__(self, points, constraints):
        self.codes, self.axes, self.sensitive = points.codes.tolist(), points.axes, constraints.sensitive
        self.units = [] if constraints.units is None else constraints.units.tolist()
        self.scans = 0

    def node_of(self, tree, row):
        node = 0
        while tree.axis[node] >= 0:
            node = int(tree.left[node]) + (row[tree.axis[node]] > tree.cut[node])
        return node

    def codes_of(self, tree, nodes):
        self.scans += 1
        start = np.cumsum([0, *(axis.size for axis in self.axes)])
        counts = np.zeros((len(nodes), start[-1]), np.int64)
        for row in self.codes:
            for slot in np.flatnonzero(nodes == self.node_of(tree, row)):
                for axis, code in enumerate(row):
                    counts[slot, start[axis] + code] += 1
        return counts

    def pairs(self, tree, nodes, axes):
        self.scans += 1
        first = np.cumsum([0, *(sensitive_column.values for sensitive_column in self.sensitive)])
        found = [np.zeros((self.axes[axis].size, first[-1]), np.int64) for axis in axes]
        for number, row in enumerate(self.codes):
            for slot in np.flatnonzero(nodes == self.node_of(tree, row)):
                for column, sensitive_column in enumerate(self.sensitive):
                    found[slot][row[axes[slot]], first[column] + sensitive_column.codes[number]] += 1
        return found

    def persons(self, tree, nodes, axes):
        self.scans += 1
        held: dict[tuple[int, int], list[int]] = {}
        for number, row in enumerate(self.codes):
            for slot in np.flatnonzero(nodes == self.node_of(tree, row)).tolist():
                held.setdefault((slot, self.units[number]), []).append(row[axes[slot]])
        found = [np.zeros((2, self.axes[axis].size), np.int64) for axis in axes]
        for (slot, _person), codes in held.items():
            found[slot][0, min(codes)] += 1
            found[slot][1, max(codes)] += 1
        return found


class Counting:
    """See `cut_tree.Counting`."""

    def __init__(self, rows):
        self.rows = rows

    def codes(self, tree, nodes):
        return self.rows.codes_of(tree, nodes)

    def pairs(self, tree, nodes, axes):
        return self.rows.pairs(tree, nodes, axes)

    def persons(self, tree, nodes, axes):
        return self.rows.persons(tree, nodes, axes)


def partition(labels):
    """Return the labels renumbered by first appearance, so that equal partitions have equal labels."""
    order: dict[int, int] = {}
    return [order.setdefault(label, len(order)) for label in labels]


@settings(max_examples=80, deadline=None)
@given(
    made=oracles.tables(most=42),
    sensitive_values=st.lists(st.sampled_from("abc"), min_size=44, max_size=44),
    k=st.integers(2, 4),
    largest=st.integers(1, 20),
    promised=st.sampled_from(PROMISES),
    persons=st.none() | st.integers(5, 30),
)
def test_tree_from_counts_gives_the_same_parts_as_cutting_the_rows(made, sensitive_values, k, largest, promised, persons):
    columns, _measures = made
    quasi = list(columns)
    table = pa.table({**columns, "s": sensitive_values[: len(columns[quasi[0]])]})
    hierarchy = {"tree": oracles.TREE} if "tree" in columns else {}
    job = Job.build(quasi=quasi, sensitive="s", k=k, hierarchy=hierarchy, **promised)
    bound = schema.resolve(job.columns, table)
    points = encoding.encode(table, bound)
    constraints = Constraints(job.promise, points.rows, sensitive.encode_sensitive(table, bound, job.sensitive_promises()))
    if persons is not None and constraints.growing_keeps:
        constraints = replace(constraints, units=np.arange(points.rows) * 7919 % persons)
    expected = cut_table(points, constraints, Progress(1), largest=largest)
    rows = Rows(points, constraints)
    tree = cut_tree.grow(points, constraints, points.rows, largest, Counting(rows))
    found = [rows.node_of(tree, row) for row in rows.codes]
    assert partition(found) == partition(expected.tolist())
    assert [found.count(node) for node in tree.parts] == tree.rows[tree.parts].tolist()


def test_each_level_needs_one_scan_for_k_and_a_second_scan_for_other_promises():
    table = pa.table({"a": list(range(64)) * 4, "s": ["x", "y"] * 128})
    for promised, scans in (({}, 3), ({"l": 2}, 6)):
        job = Job.build(quasi="a", sensitive="s", k=2, **promised)
        bound = schema.resolve(job.columns, table)
        points = encoding.encode(table, bound)
        constraints = Constraints(job.promise, points.rows, sensitive.encode_sensitive(table, bound, job.sensitive_promises()))
        rows = Rows(points, constraints)
        tree = cut_tree.grow(points, constraints, points.rows, 32, Counting(rows))
        assert len(tree.parts) == 8
        assert rows.scans == scans


@pytest.mark.parametrize("promised", [{}, {"t": 0.01}])
def test_table_that_cannot_be_cut_stays_one_part(promised):
    table = pa.table({"a": [1] * 50 + [2] * 50, "s": ["x"] * 50 + ["y"] * 50})
    job = Job.build(quasi="a", sensitive="s", k=60 if not promised else 2, **promised)
    bound = schema.resolve(job.columns, table)
    points = encoding.encode(table, bound)
    constraints = Constraints(job.promise, points.rows, sensitive.encode_sensitive(table, bound, job.sensitive_promises()))
    tree = cut_tree.grow(points, constraints, points.rows, 10, Counting(Rows(points, constraints)))
    assert tree.parts.tolist() == [0]
