"""Run methods on encoded tables and record their decisions, without an engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kohort.constraints.constraints import Constraints
from kohort.encoding import encode as encoding
from kohort.encoding import sensitive
from kohort.encoding.points import Points
from kohort.job.job import Job
from kohort.methods import Partition
from kohort.methods.run import partition_table
from kohort.methods.search.decisions import Decisions
from kohort.progress import Progress
from kohort.publishing.boxes import boxes_of
from kohort.publishing.explanation import explain
from kohort.publishing.texts import texts_of
from kohort.schema.columns import Schema, resolve
from kohort.schema.workload import Workload
from kohort.utility.queries import cut_targets
from kohort.utility.queries.answers import Questions


class Prepared(NamedTuple):
    """A table that is encoded for a job."""

    job: Job
    schema: Schema
    points: Points
    constraints: Constraints

    def recording(self) -> Prepared:
        return self._replace(points=replace(self.points, record_decisions=True))

    def run(self, threads: int = 1) -> Partition:
        """Return the groups of the job's method after repair and improvement."""
        job, options = self.job, self.job.method_options()
        progress = Progress(threads)
        progress._inside.a_task = threads == 1  # many small tables run faster without a thread for each
        return partition_table(job.algorithm, self.points, self.constraints, options, 7, job.block, progress, job.rounds)

    def made(self) -> Partition:
        """Return the groups of the method, before repair and improvement."""
        return self.job.algorithm.partition(self.points, self.constraints, self.job.method_options(), 7, Progress(1))

    def explained(self, partition: Partition) -> dict[str, Any]:
        boxes = boxes_of(self.points, partition, self.schema)
        return explain(self.points, partition, boxes, self.schema, self.constraints, self.job.method)

    def texts(self, partition: Partition) -> dict[str, set[str | None]]:
        """Return all published texts of each quasi-identifier."""
        boxes = boxes_of(self.points, partition, self.schema)
        return {name: set(texts.to_pylist()) for name, texts in texts_of(self.schema, self.points.axes, boxes).items()}


def prepare(columns: Any, **settings: Any) -> Prepared:
    """Encode a table for a job. The default is that all columns are quasi-identifiers."""
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    job = Job.build(**{"quasi": table.column_names, "k": 2, **settings})
    schema = resolve(job.columns, table, **job.binding())
    columns_of_promise = sensitive.encode_sensitive(table, schema, job.sensitive_promises())
    units = sensitive.encode_units(table, schema)
    constraints = Constraints(job.promise, table.num_rows, columns_of_promise, units, suppress=job.suppress)
    points = replace(encoding.encode(table, schema), objective=job.objective)
    if job.label is not None:
        points = replace(points, label=encoding.encode_label(table, schema, job.label, 1.0))
    if job.workload is not None:
        questions = Questions(Workload.load(job.workload), table, schema)
        points = replace(points, wanted=cut_targets.wanted(questions, points, schema.named("sensitive")))
    return Prepared(job, schema, points, constraints)


def require_tree(decisions: Decisions, rows: int) -> None:
    """Check that the cuts are a binary tree: each part has two non-empty parts, and every row is in at most one leaf."""
    nodes = decisions.nodes()
    assert (nodes.first[0], nodes.last[0]) == (0, len(decisions.order))
    assert len(nodes.cut) == 2 * len(decisions.middle) + 1
    assert len(np.unique(decisions.order)) == len(decisions.order) <= rows
    parents = np.zeros(len(nodes.cut), np.int64)
    for node, cut in enumerate(nodes.cut.tolist()):
        left, right = nodes.left[node], nodes.right[node]
        if cut < 0:
            assert left == right == -1
            continue
        assert (nodes.first[left], nodes.last[right]) == (nodes.first[node], nodes.last[node])
        assert nodes.last[left] == nodes.first[right] == decisions.middle[cut]
        assert nodes.first[node] < decisions.middle[cut] < nodes.last[node]
        assert (decisions.first[cut], decisions.last[cut]) == (nodes.first[node], nodes.last[node])
        parents[[left, right]] += 1
    assert parents[0] == 0
    assert (parents[1:] == 1).all()


def rows_of(decisions: Decisions, node: int) -> list[int]:
    nodes = decisions.nodes()
    return [int(row) for row in decisions.order[nodes.first[node] : nodes.last[node]]]
