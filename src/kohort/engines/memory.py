"""The memory engine: the table, its codes and its labels are in memory. The release is written to its file in batches."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort.auditor import Evidence
from kohort.constraints.constraints import Constraints
from kohort.encoding import encode as encoding
from kohort.encoding import row_order, sensitive
from kohort.encoding.points import Points
from kohort.engines.base import Result, counted, require_file
from kohort.engines.shared.method_run import partition_whole
from kohort.errors import AuditError
from kohort.job.job import Job
from kohort.methods import Partition
from kohort.progress import Progress
from kohort.publishing.boxes import boxes_of
from kohort.publishing.explanation import explain
from kohort.publishing.published_rows import PublishedRows
from kohort.publishing.texts import classes_of, texts_of
from kohort.schema import columns
from kohort.schema.columns import Schema
from kohort.schema.workload import Workload
from kohort.tables import frames, staging, tables
from kohort.tables.frames import FrameLibrary
from kohort.tables.locations import Location, local
from kohort.tables.tables import FileFormat, Source
from kohort.utility import loss
from kohort.utility.aligned import AlignedTables
from kohort.utility.queries import cut_targets
from kohort.utility.queries.answers import Answers, Questions
from kohort.verification.verify import Proof, require_passed


@dataclass(frozen=True, eq=False)
class MemoryEncoded:
    """A table in memory, its quasi-identifiers as points, and the constraints on its groups."""

    source: Source
    table: pa.Table
    schema: Schema
    constraints: Constraints
    points: Points
    questions: Questions | None = None
    """The job's workload, bound to the table."""


@dataclass(frozen=True, eq=False)
class MemoryPartition:
    """An encoded table and the group of each of its rows."""

    encoded: MemoryEncoded
    partition: Partition

    def labels(self) -> NDArray[np.int64]:
        """Return the group of each row; -1 for suppressed rows, including rows that are published as `*`."""
        labels, suppressed_group = self.partition.labels, self.partition.suppressed_group
        return labels if suppressed_group is None else np.where(labels == suppressed_group, -1, labels)


class MemoryEngine:
    """See `Engine`."""

    name = "memory"
    writes_folders = False

    def __init__(self, job: Job, progress: Progress, rows_at_once: int | None = None) -> None:
        del rows_at_once
        self._job = job
        self._progress = progress

    def require_target(self, target: Location, force: bool, sources: Sequence[Any]) -> None:
        require_file(target, force, sources)

    def encode(self, source: Any) -> MemoryEncoded:
        job = self._job
        with self._progress.step("read"):
            source = tables.open_source(source, job.encoding, job.columns)
            table = source.read()
            schema = columns.resolve(job.columns, table, **job.binding())
            questions = None if job.workload is None else Questions(Workload.load(job.workload), table, schema)
        with self._progress.step("encode"):
            sensitive_columns = sensitive.encode_sensitive(table, schema, job.sensitive_promises())
            units = sensitive.encode_units(table, schema)
            constraints = Constraints(job.promise, table.num_rows, sensitive_columns, units, suppress=job.suppress)
            constraints.require_whole_table()
            points = self._points(table, schema, questions)
        return MemoryEncoded(source, table, schema, constraints, points, questions)

    def _points(self, table: pa.Table, schema: Schema, questions: Questions | None) -> Points:
        """Encode the quasi-identifiers, and the other columns that the job's search uses."""
        job = self._job
        points = replace(encoding.encode(table, schema), objective=job.objective)
        if job.label is not None:
            as_any_column = sum(points.weights) / len(points.weights)
            points = replace(points, label=encoding.encode_label(table, schema, job.label, as_any_column))
        if questions is not None:
            points = replace(points, wanted=cut_targets.wanted(questions, points, schema.named("sensitive")))
        if job.compared():
            points = replace(points, extra=encoding.encode(table, schema, job.compared()))
        return points

    def partition(self, encoded: MemoryEncoded) -> MemoryPartition:
        return MemoryPartition(encoded, _partition(encoded, self._job, self._progress))

    def publish(self, partitioned: MemoryPartition) -> MemoryPublication:
        return MemoryPublication.of(partitioned, self._job, self._progress)


@dataclass(frozen=True, eq=False)
class MemoryPublication:
    """See `Publication`."""

    partitioned: MemoryPartition
    published: PublishedRows
    order: NDArray[np.int64]
    """By row of the release: the row of the source that it was made from. It is secret and is never written to a file."""
    result: Result
    _job: Job
    _progress: Progress

    @classmethod
    def of(cls, partitioned: MemoryPartition, job: Job, progress: Progress) -> MemoryPublication:
        """Make the published texts of every group, draw the order of the rows, and measure the information loss."""
        encoded, partition = partitioned.encoded, partitioned.partition
        points = encoded.points
        with progress.step("publish"), progress.compiling():
            boxes = boxes_of(points, partition, encoded.schema)
            texts = texts_of(encoded.schema, points.axes, boxes)
            published = PublishedRows(encoded.table, encoded.schema, texts, partition.labels)
            order = _release_order(partition.labels, keep=job.keep_order)
            classes = classes_of(texts)
            sums = loss.sums_of(points, partition.labels, boxes)
            rows_of_classes = counted(np.bincount(classes, boxes.sizes))
            result = Result(
                rows=points.rows,
                loss=sums.measured([axis.name for axis in points.axes], rows_of_classes, job.promise.k),
                clusters=len(boxes.sizes),
                blocks=partition.blocks,
                sizes=counted(encoded.constraints.sizes(np.append(classes, -1)[partition.labels])),
                suppressed=int(np.count_nonzero(partitioned.labels() < 0)),
                axes={axis.name: axis.describe() for axis in points.axes},
                notes=partition.notes,
            )
        publication = cls(partitioned, published, order, result, job, progress)
        if encoded.questions is None:
            return publication
        return replace(publication, result=replace(result, answers=publication.ask(encoded.questions)))

    @property
    def encoded(self) -> MemoryEncoded:
        return self.partitioned.encoded

    @property
    def partition(self) -> Partition:
        return self.partitioned.partition

    def labels(self) -> NDArray[np.int64]:
        return self.partitioned.labels()

    def ask(self, questions: Questions) -> Answers:
        """Return the answers of the release to these queries."""
        return questions.ask(self.aligned().release)

    def aligned(self) -> AlignedTables:
        kept, table = np.flatnonzero(self.partition.labels >= 0), self.encoded.table
        release = pa.Table.from_batches(self.published.batches(kept), self.published.schema)
        return AlignedTables(table.take(pa.array(kept)), release, self.encoded.schema, table)

    def preview(self, rows: NDArray[np.int64]) -> tuple[pa.Table, pa.Table]:
        out = self.partition.labels[rows] < 0
        after = pa.Table.from_batches(self.published.batches(rows[~out]), self.published.schema)
        indices = pa.array(np.cumsum(~out) - 1, mask=out)  # missing for rows that were left out
        return self.encoded.table.take(pa.array(rows)), after.take(indices)

    def explain(self, progress: Progress) -> dict[str, Any]:
        """Run the method once more and record its decisions. The same job gives the same groups."""
        encoded = self.encoded
        encoded = replace(encoded, points=replace(encoded.points, record_decisions=True))
        again = _partition(encoded, self._job, progress)
        if not np.array_equal(again.labels, self.partition.labels):
            raise AuditError(
                "The groups cannot be explained: the second run of the method gave other groups than the release has. "
                "This is an error in kohort or in the method. Report it with the job file, or do not request an explanation."
            )
        boxes = boxes_of(encoded.points, again, encoded.schema)
        return explain(encoded.points, again, boxes, encoded.schema, encoded.constraints, self._job.method)

    def release_table(self) -> tuple[Any, Evidence]:
        with self._progress.step("publish"):
            table = pa.Table.from_batches(self.published.batches(self.order), self.published.schema)
            release, origin = table, self.encoded.source.origin
            if isinstance(origin, FrameLibrary):
                release = frames.give_back(table, origin, self.encoded.schema.carried)
                table = tables.read(release)[0] if origin.readable_again else table
        evidence = self._audit(table, None)  # the data frame that the user receives, converted back to Arrow
        require_passed(evidence)
        return release, evidence

    def release_file(self, target: Location, force: bool) -> Evidence:
        path, source = local(target), self.encoded.source
        file_format = tables.format_of(path, source.file_format)
        tables.require_other(path, [source.given, *self._job.files()])
        with staging.staged(path, force) as part:
            with self._progress.step("publish"):
                tables.batches_to_file(self.published.batches(self.order), self.published.schema, part, file_format)
            evidence = self._audit(part, file_format)
            require_passed(evidence)
        return evidence

    def _audit(self, release: pa.Table | Path, file_format: FileFormat | None) -> Evidence:
        encoded, table = self.encoded, self.encoded.table
        with self._progress.step("audit"):
            proof = Proof.of(
                self._job, encoded.schema, encoded.points.axes, table.schema, len(self.order), encoded.constraints.sensitive
            )
            originals = proof.originals(lambda name: table.column(name).take(pa.array(self.order)), file_format)
            return proof.audit(release, file_format, originals, self._progress.threads)


def _partition(encoded: MemoryEncoded, job: Job, progress: Progress) -> Partition:
    """Make the groups with the job's method."""
    points, schema = encoded.points, encoded.schema

    def ties() -> NDArray[np.uint64]:
        return row_order.ties_of(encoded.table, schema, job.seed or 0)

    with progress.step("partition", total=points.rows), progress.compiling():
        return partition_whole(job, schema, points, encoded.constraints, ties, progress)


def _release_order(labels: NDArray[np.int64], *, keep: bool) -> NDArray[np.int64]:
    """Return the rows to publish, in the order of the source or shuffled by the system's random bytes, never by the seed."""
    from kohort.kernels.core.shuffle import shuffle

    kept = np.flatnonzero(labels >= 0)
    if not keep:
        shuffle(kept, np.frombuffer(os.urandom(8 * len(kept)), np.uint64))
    return kept
