"""Rows on a Spark cluster, however many. Only frequency sets, dictionaries and figures come to the driver, never rows.

Different values of each column by one aggregation; cuts level by level, each by one aggregation over a broadcast tree; one
shuffle that brings every part to one task, which does what the other engines do; one more that puts rows into a drawn order.
The audit's SQL is Spark's.
"""

from __future__ import annotations

import os
import pickle
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cached_property, partial, reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort.auditor import Evidence
from kohort.encoding.row_order import carried
from kohort.encoding.sensitive import nobody
from kohort.engines.base import Counted, Result
from kohort.engines.shared import cut_tree
from kohort.engines.shared.counted_part import OneCluster, with_suppressed_group
from kohort.engines.shared.cut_tree import CutTree
from kohort.engines.shared.encode_columns import coded_columns, coded_table
from kohort.engines.shared.method_run import needs_order, require_parts, require_persons, run_of
from kohort.engines.spark import sources as spark_sources
from kohort.engines.spark import tasks as spark_tasks
from kohort.engines.spark.counting import SparkCounting
from kohort.engines.spark.distinct_values import DistinctValues
from kohort.engines.spark.release_audit import audited
from kohort.engines.spark.release_folder import Folder
from kohort.engines.spark.session import session_for, speaking_plainly
from kohort.engines.spark.tasks import KEY, PART, SUPPRESSED_GROUP, TOLD, Head, PartReport
from kohort.errors import RequestError
from kohort.job.job import Job
from kohort.methods.run import RunSummary
from kohort.progress import Progress
from kohort.publishing.boxes import Boxes
from kohort.publishing.published_rows import release_schema
from kohort.schema import columns as schema
from kohort.schema.columns import Schema
from kohort.tables import tables
from kohort.tables.locations import Location
from kohort.tables.tables import FORMATS, FileFormat, Source
from kohort.utility.aligned import AlignedTables
from kohort.utility.loss import Sums
from kohort.verification.verify import Proof, require_passed

ROWS_OF_PART = 1 << 18
"""Rows that one task takes into memory."""


class SparkEngine:
    """See `Engine`."""

    name = "spark"
    writes_folders = True

    def __init__(self, job: Job, progress: Progress, rows_at_once: int | None = None, spark: Any = None) -> None:
        self._job = job
        self._progress = progress
        self._rows_at_once = rows_at_once or ROWS_OF_PART
        self._given = spark
        self._target: Folder | None = None
        self._secret = os.urandom(32)
        self._held = ExitStack()
        weakref.finalize(self, self._held.close)
        self._source: Source
        self._read_from: tuple[str, ...]
        self._file_format: FileFormat | None
        self._arrow_schema: pa.Schema
        self._schema: Schema
        self._values: DistinctValues
        self._head: Head
        self._released: Any
        self._part_reports: list[PartReport]

    @cached_property
    def _spark(self) -> Any:
        return session_for(self._given, self._job.master)

    # --- steps

    def require_target(self, target: Location, force: bool, sources: Sequence[Any]) -> None:
        _format_of(target)
        if isinstance(target, Path):
            tables.require_other(target, sources)
        with speaking_plainly(f"{target} could not be looked at"):
            self._target = Folder(self._spark, target)
            self._target.require_free(force=force)

    def read(self, source: Any) -> None:
        job = self._job
        refused = [
            (job.workload is not None, "A workload is answered in memory. Leave it out"),
            (job.keep_order, "The rows of a Spark table have no order to keep. Leave keep_order out"),
            (job.row_order == "given", "The rows of a Spark table have no order. Leave row_order out"),
        ]
        problems = [f"{what}, or take another engine (--engine memory)." for applies, what in refused if applies]
        if problems:
            raise RequestError(problems)
        with self._progress.step("read"):
            self._source = tables.open_source(source, job.encoding, job.columns)
            found = spark_sources.read(self._spark, self._source)
            self._read_from, self._file_format, self._arrow_schema = found.files, found.file_format, found.arrow_schema
            if self._target is not None:
                self._target.require_other(self._source.given, found.files)
            self._schema = schema.bind(job.columns, self._arrow_schema, **job.binding())
            self._values = DistinctValues(
                self._kept(found.cells) if found.is_slow else found.cells, found.arrow_schema, self._schema.missing
            )
            self._require_types()
            folded = [name.casefold() for name, _source, _statistic in self._schema.published()]
            if len(set(folded)) < len(folded):
                raise RequestError("Columns of the release differ only in upper and lower case, which Spark does not tell apart.")

    def _require_types(self) -> None:
        """Refuse what no task could hand back, before any work is done."""
        arrow_schema = [
            (name, self._arrow_schema.field(of).type) for name, of, statistic in self._schema.published() if statistic == "value"
        ]
        wrong = [
            (name, arrow_type)
            for name, arrow_type in arrow_schema
            if pa.types.is_map(arrow_type) or pa.types.is_duration(arrow_type)
        ]
        if wrong:
            problems = [
                f"Column {name!r} is {arrow_type}, which cannot be published. Drop it, or make text of it."
                for name, arrow_type in wrong
            ]
            raise RequestError(problems)

    def encode(self) -> None:
        job = self._job
        with self._progress.step("encode"), self._progress.compiling(), speaking_plainly("Spark failed while encoding"):
            values = self._values
            held = {name: values.distinct(name) for name in coded_columns(job)}
            rows = int(next(iter(held.values())).counts.sum())
            schema.require_rows(self._schema, rows, partial(values.looks_personal, rows))
            for unit in self._schema.named("unit"):
                gone = values.without(unit)
                if gone:
                    raise nobody(unit, gone, None)
            packed = coded_table(job, self._schema, held, rows)
            proof = Proof.of(job, self._schema, packed.template.axes, self._arrow_schema, rows, packed.sensitive)
            used = list(dict.fromkeys([*held, *proof.sources, *(carried(self._schema) if needs_order(job) else ())]))
            self._head = Head(job, self._schema, packed, proof, tuple(used), self._arrow_schema)

    def partition(self) -> None:
        job, head = self._job, self._head
        packed = head.packed
        with self._progress.step("partition"), self._progress.compiling(), speaking_plainly("Spark failed while cutting"):
            if packed.rows <= self._rows_at_once or (job.algorithm.in_blocks and packed.rows <= 2 * job.block):
                tree, boxes, whole = CutTree.root(packed.rows), {}, True
                self._large: dict[int, OneCluster] = {}
            else:
                tree, boxes, whole = *self._cut(), False
            self._released = self._finished(tree, boxes, whole=whole)
            found = self._released.where(f"{TOLD} IS NOT NULL").select(TOLD).collect()
            self._part_reports = [pickle.loads(row[0]) for row in found]  # noqa: S301 - our own tasks wrote it
        errors = [report.error for report in self._part_reports if report.error is not None]
        if errors:
            raise errors[0]

    def publish(self) -> Result:
        job, head = self._job, self._head
        with self._progress.step("publish"), speaking_plainly("Spark failed while publishing"):
            (sums, summary, suppressed_group), whole = (
                self._summed(),
                next((report.whole for report in self._part_reports if report.whole), None),
            )
            self._rows = self._released.where(f"{TOLD} IS NULL" + ("" if suppressed_group else f" AND NOT {SUPPRESSED_GROUP}"))
            stays = whole.suppressed_group is not None if whole else suppressed_group and job.suppressed == "star"
            published = head.packed.rows - (0 if stays else summary.suppressed)
            self._proof = replace(head.proof, original=replace(head.proof.original, rows=published))
            by_rows = self._class_sizes("1")
            sizes = self._class_sizes("DISTINCT u1_original") if head.packed.persons else by_rows
        names = [axis.name for axis in head.packed.template.axes]
        constraints = replace(head.packed.constraints(head.packed.nothing()), rows=head.packed.rows)
        notes = (
            whole.notes
            if whole
            else run_of(job, self._progress).notes(head.packed.points(head.packed.nothing()), constraints, summary)
        )
        return Result(
            rows=head.packed.rows,
            loss=sums.measured(names, by_rows, job.promise.k),
            clusters=sums.clusters,
            blocks=summary.blocks if job.algorithm.in_blocks else 1,
            sizes=sizes,
            suppressed=summary.suppressed,
            axes={axis.name: axis.describe() for axis in head.packed.template.axes},
            notes=notes,
        )

    def labels(self) -> NDArray[np.int64]:
        raise RequestError("The clusters of single rows stay on the cluster. Take the memory engine to see them.")

    def aligned(self) -> AlignedTables:
        raise RequestError("What a release is good for is measured in memory. Measure a sample of the table there.")

    def preview(self, rows: NDArray[np.int64]) -> tuple[pa.Table, pa.Table]:
        del rows
        raise RequestError("The rows of a Spark table have no numbers by which to show them. Take the memory engine.")

    def release_table(self) -> tuple[Any, Evidence]:
        from pyspark import StorageLevel

        with speaking_plainly("Spark failed while publishing"):
            with self._progress.step("publish"):
                # A table of its own: it neither leads back to what it was made from, nor is it ever made again from a source that
                # may have changed since.
                release = self._named(self._rows).localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)
            with self._progress.step("audit"):
                evidence = self._audited(release, self._shown_rows())
                require_passed(evidence)
        return release, evidence

    def release_file(self, target: Location, force: bool) -> Evidence:
        file_format = _format_of(target, self._file_format)
        with ExitStack() as stack:
            stack.enter_context(speaking_plainly(f"{target} could not be written"))
            folder = Folder(self._spark, target)
            folder.require_other(self._source.given, self._read_from)
            place = stack.enter_context(folder.staged(force=force))
            with self._progress.step("publish"):
                proven = self._as_text() if file_format.holds_text else self._shown_rows()
                release = self._named(proven)
                if file_format.holds_text and len(release.columns) == 1:
                    release = release.fillna("")  # in a lone column a missing cell is written "": an empty line would be no row
                release.write.format(file_format.spark_source).options(**file_format.spark_write_options()).save(place)
            with self._progress.step("audit"):
                evidence = self._audited(self._read_back(place, file_format), proven)
                require_passed(evidence)
        return evidence

    # --- parts

    def _cut(self) -> tuple[CutTree, dict[int, Boxes]]:
        """The tree of parts, and the boxes of those that are one cluster already, however large."""
        from pyspark import StorageLevel

        job, head = self._job, self._head
        packed = head.packed
        constraints = packed.constraints(packed.nothing())
        require_parts(job, constraints, "spark", f"The table ({packed.rows:,} rows) is too large for one task.")
        needed = int(packed.layout.word[: len(packed.quasi.codings) + len(packed.sensitive)].max()) + 1
        needed = max(needed, packed.person_word + 1) if packed.persons else needed
        largest = max(self._rows_at_once, job.block if job.algorithm.in_blocks else 1)
        names = ", ".join(f"{name} bigint" for name in head.word_names[:needed])
        packed_rows = self._used().mapInArrow(spark_tasks.packing(head, needed), names)
        if packed.persons:  # the rows of a person side by side
            person = head.word_names[packed.person_word]
            packed_rows = packed_rows.repartition(person).sortWithinPartitions(person)
        packed_rows = packed_rows.persist(StorageLevel.DISK_ONLY)
        try:
            counting = SparkCounting(head, packed_rows)
            require_persons(packed, counting)
            tree = cut_tree.grow(packed.template, constraints, packed.rows, largest, counting)
        finally:
            packed_rows.unpersist()
        self._large = self._one_clusters(tree, [int(node) for node in tree.parts if tree.rows[node] > largest])
        return tree, {node: cluster.finished(packed)[0] for node, cluster in self._large.items()}

    def _one_clusters(self, tree: CutTree, nodes: Sequence[int]) -> dict[int, OneCluster]:
        """Parts that no cut makes smaller, where that is all there is to do."""
        head = self._head
        clusters = {node: OneCluster(head.packed, head.schema) for node in nodes}
        if nodes:
            found = self._used().mapInArrow(spark_tasks.clustering(head, tree, tuple(nodes)), f"{TOLD} binary").collect()
            for row in found:
                for node, cluster in pickle.loads(row[0]).items():  # noqa: S301 - our own tasks wrote it
                    clusters[node].merge(cluster)
        done = not self._job.algorithm.in_blocks
        return {node: cluster for node, cluster in clusters.items() if done or cluster.is_one_point}

    def _used(self) -> Any:
        """The columns of the source that tasks need."""
        values = self._values
        return values.cells.selectExpr(*(f"{values.column(name)} AS c{number}" for number, name in enumerate(self._head.names)))

    def _finished(self, tree: CutTree, boxes: Mapping[int, Boxes], *, whole: bool) -> Any:
        """Every row published, beside it what it was made from, in a drawn order. Kept on the executors' disks."""
        from pyspark.sql.pandas.types import from_arrow_schema
        from pyspark.sql.types import LongType, StructType

        head, used = self._head, self._used()
        salted = {node: -(-int(tree.rows[node]) // self._rows_at_once) for node in boxes}
        parted = StructType([*used.schema.fields])
        for name in head.word_names:
            parted = parted.add(name, LongType())
        rows = used.mapInArrow(spark_tasks.parting(head, tree, salted), parted.add(PART, LongType()))
        finish = spark_tasks.finishing(head, self._secret, boxes, whole=whole)
        columns = from_arrow_schema(spark_tasks.columns_of(head, used.limit(0).toArrow()))
        done = rows.groupBy(PART).applyInArrow(finish, columns)
        shuffled = done.repartition(max(self._spark.sparkContext.defaultParallelism, len(tree.parts) // 4), KEY)
        return self._kept(shuffled.sortWithinPartitions(KEY))

    def _kept(self, frame: Any) -> Any:
        """On the executors' disks, as long as there is this run."""
        from pyspark import StorageLevel

        kept = frame.persist(StorageLevel.DISK_ONLY)
        self._held.callback(_let_go, kept)
        return kept

    def _summed(self) -> tuple[Sums, RunSummary, bool]:
        """What all parts told, and whether what is suppressed stays as stars."""
        packed = self._head.packed
        sums = [report.sums for report in self._part_reports if report.sums is not None]
        sums += [cluster.finished(packed)[1] for cluster in self._large.values()]
        summaries = [report.summary for report in self._part_reports] + [
            RunSummary(cluster.rows, 1) for cluster in self._large.values()
        ]
        total, summary = reduce(add, sums), reduce(add, summaries)
        suppressed_rows = [report.suppressed_rows for report in self._part_reports if report.suppressed_rows is not None]
        if self._job.suppressed != "star" or not suppressed_rows:
            return total, summary, True
        suppressed_group = OneCluster(packed, self._schema)
        for cluster in suppressed_rows:
            suppressed_group.merge(cluster)
        if not suppressed_group.is_valid(packed.constraints(packed.nothing())):
            return total, summary, False
        return with_suppressed_group(total, suppressed_group.finished(packed, suppressed_group=True)[1]), summary, True

    # --- the release

    def _names(self) -> list[str]:
        return [name for name, _source, _statistic in self._schema.published()]

    def _named(self, rows: Any) -> Any:
        """Only what is published, under its name."""
        return rows.select(*(rows[f"r{number}"].alias(name) for number, name in enumerate(self._names())))

    def _class_sizes(self, what: str) -> Counted:
        """By what is counted in a class."""
        from pyspark.sql import functions as f

        by = [f"r{number}" for number, (_n, _s, statistic) in enumerate(self._schema.published()) if statistic != "value"]
        found = self._rows.groupBy(*by).agg(f.expr(f"count({what}) AS size")).groupBy("size").count().toArrow()
        sizes, many = (column.to_numpy().astype(np.int64) for column in found.columns)
        order = np.argsort(sizes)
        return sizes[order], many[order]

    def _shown_rows(self) -> Any:
        """The rows as they are published, columns by place."""
        return self._rows.select(*(f"r{number}" for number in range(len(self._names()))))

    def _as_text(self) -> Any:
        """The same with every column as the text that a CSV file holds."""
        from pyspark.sql.types import StringType, StructField, StructType

        names = [f"r{number}" for number in range(len(self._names()))]
        arrow_schema = StructType([StructField(name, StringType()) for name in names])
        types = release_schema(self._schema, self._arrow_schema).types
        return self._shown_rows().mapInArrow(spark_tasks.to_text(types), arrow_schema)

    def _read_back(self, place: str, file_format: FileFormat) -> Any:
        names = self._names()
        reader = self._spark.read.format(file_format.spark_source).options(**file_format.spark_read_options(len(names)))
        if file_format.holds_text:
            from pyspark.sql.types import StringType, StructField, StructType

            reader = reader.schema(StructType([StructField(name, StringType()) for name in names]))
        return reader.load(spark_sources.escaped(place))

    def _audited(self, release: Any, proven: Any) -> Evidence:
        return audited(self._proof, self._names(), release, self._rows, proven)


def _format_of(target: Location, source: FileFormat | None = None) -> FileFormat:
    file_format = tables.format_of(Path(target), source)
    if file_format.spark_source is None:
        writable = [known for known in FORMATS.values() if known().spark_source is not None]
        titles, suffixes = (" or ".join(texts) for texts in zip(*((one.title, one.suffixes[0]) for one in writable), strict=True))
        raise RequestError(f"Spark writes folders of {titles} files. Name the release {suffixes}.")
    return file_format


def _let_go(kept: Any) -> None:
    """Give the executors' disks back, unless the session has done so already."""
    with suppress(Exception):
        kept.unpersist()
