"""Rows in memory: an Arrow table, its codes, its labels. The release is streamed to its file in batches."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort.auditor import Evidence
from kohort.constraints.constraints import Constraints
from kohort.encoding import encode as encoding
from kohort.encoding import row_order as ordering
from kohort.encoding import sensitive
from kohort.encoding.points import Points
from kohort.engines.base import Result, counted, require_file
from kohort.engines.shared.method_run import partition_whole
from kohort.job.job import Job
from kohort.methods import Partition
from kohort.progress import Progress
from kohort.publishing.boxes import boxes_of
from kohort.publishing.published_rows import PublishedRows
from kohort.publishing.texts import classes_of, texts_of
from kohort.schema import columns as schema
from kohort.schema.columns import Schema
from kohort.schema.workload import Workload
from kohort.tables import frames, staging, tables
from kohort.tables.frames import FrameLibrary
from kohort.tables.locations import Location, local
from kohort.tables.tables import FileFormat, Source
from kohort.utility import loss
from kohort.utility.aligned import AlignedTables
from kohort.utility.queries import cut_targets as steering
from kohort.utility.queries.answers import Answers, Questions
from kohort.verification.verify import Proof, require_passed


class MemoryEngine:
    """See `Engine`."""

    name = "memory"
    writes_folders = False

    def __init__(self, job: Job, progress: Progress, rows_at_once: int | None = None) -> None:
        del rows_at_once
        self._job = job
        self._progress = progress
        self._source: Source
        self._table: pa.Table
        self._schema: Schema
        self._questions: Questions | None = None
        self._constraints: Constraints
        self._points: Points
        self._partition: Partition
        self._publication: PublishedRows
        self._order: NDArray[np.int64]

    def require_target(self, target: Location, force: bool, sources: Sequence[Any]) -> None:
        require_file(target, force, sources)

    def read(self, source: Any) -> None:
        with self._progress.step("read"):
            job = self._job
            self._source = tables.open_source(source, job.encoding, job.columns)
            self._table = self._source.read()
            self._schema = schema.resolve(job.columns, self._table, **job.binding())
            if job.workload is not None:
                self._questions = Questions(Workload.load(job.workload), self._table, self._schema)

    def encode(self) -> None:
        job, table = self._job, self._table
        with self._progress.step("encode"):
            columns = sensitive.encode_sensitive(table, self._schema, job.sensitive_promises())
            units = sensitive.encode_units(table, self._schema)
            self._constraints = Constraints(job.promise, table.num_rows, columns, units, suppress=job.suppress)
            self._constraints.require_whole_table()
            self._points = encoding.encode(table, self._schema)
            self._points = replace(self._points, objective=job.objective)
            if job.label is not None:
                as_any_column = sum(self._points.weights) / len(self._points.weights)
                label = encoding.encode_label(table, self._schema, job.label, as_any_column)
                self._points = replace(self._points, label=label)
            if self._questions is not None:
                wanted = steering.wanted(self._questions, self._points, self._schema.named("sensitive"))
                self._points = replace(self._points, wanted=wanted)
            if job.compared():
                self._points = replace(self._points, extra=encoding.encode(table, self._schema, job.compared()))

    def partition(self) -> None:
        points = self._points
        with self._progress.step("partition", total=points.rows), self._progress.compiling():
            self._partition = partition_whole(self._job, self._schema, points, self._constraints, self._ties, self._progress)

    def _ties(self) -> NDArray[np.uint64]:
        return ordering.ties_of(self._table, self._schema, self._job.seed or 0)

    def publish(self) -> Result:
        points, partition = self._points, self._partition
        with self._progress.step("publish"), self._progress.compiling():
            boxes = boxes_of(points, partition, self._schema)
            texts = texts_of(self._schema, points.axes, boxes)
            self._publication = PublishedRows(self._table, self._schema, texts, partition.labels)
            self._order = self._row_order(partition.labels)
            classes = classes_of(texts)
            sums = loss.sums_of(points, partition.labels, boxes)
            rows_of_classes = counted(np.bincount(classes, boxes.sizes))
        return Result(
            rows=points.rows,
            loss=sums.measured([axis.name for axis in points.axes], rows_of_classes, self._job.promise.k),
            clusters=len(boxes.sizes),
            blocks=partition.blocks,
            sizes=counted(self._constraints.sizes(np.append(classes, -1)[partition.labels])),
            suppressed=int(np.count_nonzero(self.labels() < 0)),
            axes={axis.name: axis.describe() for axis in points.axes},
            notes=partition.notes,
            answers=None if self._questions is None else self.ask(self._questions),
        )

    def labels(self) -> NDArray[np.int64]:
        labels, suppressed_group = self._partition.labels, self._partition.suppressed_group
        return labels if suppressed_group is None else np.where(labels == suppressed_group, -1, labels)

    def ask(self, questions: Questions) -> Answers:
        """What the release answers."""
        return questions.ask(self.aligned().release)

    def aligned(self) -> AlignedTables:
        """The source and the release row by row, without those left out. For measuring only."""
        kept, publication = np.flatnonzero(self._partition.labels >= 0), self._publication
        release = pa.Table.from_batches(publication.batches(kept), publication.schema)
        return AlignedTables(self._table.take(pa.array(kept)), release, self._schema, self._table)

    def preview(self, rows: NDArray[np.int64]) -> tuple[pa.Table, pa.Table]:
        publication = self._publication
        out = self._partition.labels[rows] < 0
        after = pa.Table.from_batches(publication.batches(rows[~out]), publication.schema)
        places = pa.array(np.cumsum(~out) - 1, mask=out)  # nothing, where a row was left out
        return self._table.take(pa.array(rows)), after.take(places)

    def release_table(self) -> tuple[Any, Evidence]:
        with self._progress.step("publish"):
            publication = self._publication
            table = pa.Table.from_batches(publication.batches(self._order), publication.schema)
            release, origin = table, self._source.origin
            if isinstance(origin, FrameLibrary):
                release = frames.give_back(table, origin, self._schema.carried)
                table = tables.read(release)[0] if origin.readable_again else table
        evidence = self._audit(table, None)  # what the user gets, on its way back
        require_passed(evidence)
        return release, evidence

    def release_file(self, target: Location, force: bool) -> Evidence:
        path = local(target)
        file_format = tables.format_of(path, self._source.file_format)
        tables.require_other(path, [self._source.given, *self._job.files()])
        with staging.staged(path, force) as part:
            with self._progress.step("publish"):
                publication = self._publication
                tables.batches_to_file(publication.batches(self._order), publication.schema, part, file_format)
            evidence = self._audit(part, file_format)
            require_passed(evidence)
        return evidence

    def _row_order(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """The private row map: which row of the source stands at each place of the release. Never written anywhere."""
        from kohort.kernels.core.shuffle import shuffle

        kept = np.flatnonzero(labels >= 0)
        if self._job.keep_order:
            return kept
        shuffle(kept, np.frombuffer(os.urandom(8 * len(kept)), np.uint64))  # the system's source, never the seed
        return kept

    def _audit(self, release: pa.Table | Path, file_format: FileFormat | None) -> Evidence:
        with self._progress.step("audit"):
            proof = Proof.of(
                self._job, self._schema, self._points.axes, self._table.schema, len(self._order), self._constraints.sensitive
            )
            originals = proof.originals(lambda name: self._table.column(name).take(pa.array(self._order)), file_format)
            return proof.audit(release, file_format, originals, self._progress.threads)
