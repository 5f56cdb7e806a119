"""Rows in memory: an Arrow table, its codes, its labels. The release is streamed to its file in batches."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort import auditor, encoding, frames, publishing, schema, sensitive, staging, tables
from kohort.algorithms import Partition
from kohort.algorithms.blocks import partition_table
from kohort.auditor import Evidence
from kohort.axes import Points
from kohort.checks import Checks
from kohort.engines.base import Result
from kohort.engines.claims import Claims, grounds_of
from kohort.engines.settling import settle
from kohort.engines.views import columns_of, release_view
from kohort.errors import AuditError
from kohort.frames import FrameKind
from kohort.job import Job
from kohort.kernels import on_compile
from kohort.progress import Progress
from kohort.publishing import Publication
from kohort.schema import Schema
from kohort.tables import Format, Origin
from kohort.utility import loss, steering
from kohort.utility.pairs import Pair
from kohort.utility.queries import Answers, Questions
from kohort.workloads import Workload


class MemoryEngine:
    """See `Engine`."""

    name = "memory"

    def __init__(self, job: Job, progress: Progress) -> None:
        self._job = job
        self._progress = progress
        self._source: Any
        self._table: pa.Table
        self._origin: Origin
        self._schema: Schema
        self._questions: Questions | None = None
        self._checks: Checks
        self._points: Points
        self._partition: Partition
        self._publication: Publication
        self._order: NDArray[np.int64]

    def read(self, source: Any) -> None:
        with self._progress.step("read"):
            self._source = source
            job = self._job
            self._table, self._origin = tables.read(source, job.encoding, job.columns)
            self._schema = schema.resolve(
                job.columns,
                self._table,
                folder=job.hierarchies,
                missing=job.missing,
                ranges=job.ranges,
                measured={*job.measured(), *job.compared()},
            )
            if job.workload is not None:
                self._questions = Questions(Workload.load(job.workload), self._table, self._schema)

    def encode(self) -> None:
        job, table = self._job, self._table
        with self._progress.step("encode"):
            secrets = sensitive.encode_secrets(table, self._schema, job.secrecy())
            units = sensitive.encode_units(table, self._schema)
            self._checks = Checks(job.promise, table.num_rows, secrets, units, suppress=job.suppress)
            self._checks.require_whole_table()
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
                self._points = replace(self._points, beside=encoding.encode(table, self._schema, job.compared()))

    def partition(self) -> None:
        job, points, checks = self._job, self._points, self._checks
        options, seed = job.method_options(), job.seed or 0
        with self._progress.step("partition", total=points.rows), on_compile(self._say_compiling):
            order = None
            if job.row_order == "canonical" and (job.suppress or job.rounds or job.algorithm.uses_row_order(options)):
                order = encoding.canonical_order(points, self._table, self._schema, seed)
                points, checks = points.take(order), checks.take(order)
            made = partition_table(job.algorithm, points, checks, options, seed, job.block, self._progress, job.rounds)
            if order is not None:
                labels = np.empty_like(made.labels)
                labels[order] = made.labels
                made = replace(made, labels=labels)
            star = job.suppressed == "star"
            self._partition = settle(self._points, self._checks, made, self._classes, self._progress, star=star)

    def _classes(self, partition: Partition) -> NDArray[np.int64]:
        """Per row: the class that it will be published in; -1 = suppressed."""
        boxes = publishing.boxes_of(self._points, partition)
        classes = Publication(self._table, self._schema, self._points, partition, boxes).classes()
        return np.append(classes, -1)[partition.labels]

    def publish(self) -> Result:
        points, partition = self._points, self._partition
        with self._progress.step("publish"), on_compile(self._say_compiling):
            boxes = publishing.boxes_of(points, partition)
            self._publication = Publication(self._table, self._schema, points, partition, boxes)
            self._order = self._row_order(partition.labels)
            classes = self._publication.classes()
            is_star = np.equal(partition.labels, -1 if partition.star is None else partition.star)
            measured = loss.measure(points, partition, boxes, classes, self._job.promise.k)
        return Result(
            labels=np.where(is_star, -1, partition.labels),
            loss=measured,
            clusters=len(boxes.sizes),
            blocks=partition.blocks,
            class_sizes=self._checks.sizes(np.append(classes, -1)[partition.labels]),
            suppressed=int(np.count_nonzero((partition.labels < 0) | is_star)),
            axes={axis.name: axis.describe() for axis in points.axes},
            told=partition.told,
            answers=None if self._questions is None else self.ask(self._questions),
        )

    def ask(self, questions: Questions) -> Answers:
        """What the release answers."""
        return questions.ask(self.aligned().release)

    def aligned(self) -> Pair:
        """The source and the release row by row, without those left out. For measuring only."""
        kept, publication = np.flatnonzero(self._partition.labels >= 0), self._publication
        release = pa.Table.from_batches(publication.batches(kept), publication.schema)
        return Pair(self._table.take(pa.array(kept)), release, self._schema, self._table)

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
            release = table
            if isinstance(self._origin, FrameKind):
                release = frames.give_back(table, self._origin, self._schema.carried)
                table = tables.read(release)[0] if self._origin.readable_again else table
        evidence = self._audit(table, None)  # what the user gets, on its way back
        _require(evidence)
        return release, evidence

    def release_file(self, target: Path, force: bool) -> Evidence:
        form = tables.format_of(target, self._origin.delimiter if isinstance(self._origin, Format) else ",")
        tables.require_other(target, [self._source, *self._job.files()])
        with staging.staged(target, force) as part:
            with self._progress.step("publish"):
                publication = self._publication
                tables.batches_to_file(publication.batches(self._order), publication.schema, part, form)
            evidence = self._audit(part, form)
            _require(evidence)
        return evidence

    def _row_order(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """The private row map: which row of the source stands at each place of the release. Never written anywhere."""
        from kohort.kernels.shuffle import shuffle

        kept = np.flatnonzero(labels >= 0)
        if self._job.keep_order:
            return kept
        shuffle(kept, np.frombuffer(os.urandom(8 * len(kept)), np.uint64))  # the system's source, never the seed
        return kept

    def _audit(self, release: pa.Table | Path, form: Format | None) -> Evidence:
        with self._progress.step("audit"):
            claims = Claims.of(self._schema)
            original = claims.original(self._schema, self._points.axes, self._table.schema, len(self._order))
            rows = pa.array(self._order)
            originals = {
                alias: claims.cell(alias, self._table.column(source).take(rows), original, form)
                for alias, source in claims.sources.items()
            }
            for unit in self._schema.named("unit"):  # whose each row is: counted, never published
                originals["u1"] = tables.as_text(self._table.column(unit).take(rows))
            grounds = grounds_of(self._checks.secrets)
            with release_view(release, form, claims.layout, self._progress.threads, originals, grounds) as run:
                return auditor.audit(
                    run,
                    claims.layout,
                    self._job.promise,
                    columns_of(release, form),
                    original,
                    secrecy=self._job.secrecy(),
                    persons="u1" in originals,
                    missing=claims.missing(self._schema, self._table.schema, form),
                    grounds=grounds,
                )

    def _say_compiling(self, is_compiling: bool) -> None:
        self._progress.is_compiling = is_compiling
        if is_compiling:
            self._progress.note("compiling kernels for this kind of job, once on this machine: up to half a minute")


def _require(evidence: Evidence) -> None:
    failures = evidence.failures()
    if failures:
        told = "; ".join(f"{check.name}: required {check.required}, found {check.found}" for check in failures)
        raise AuditError(f"The audit refused the release, so nothing was published ({told}).")
