"""Rows on a Spark cluster, however many. Only frequency sets, dictionaries and figures come to the driver, never rows.

Different values of each column by one aggregation; cuts level by level, each by one aggregation over a broadcast tree; one
shuffle that brings every part to one task, which does what the other engines do; one more that puts rows into a drawn order.
The audit's SQL is Spark's.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

from kohort.engines.spark import sources
from kohort.engines.spark.distinct_values import DistinctValues
from kohort.engines.spark.encoded import SparkEncoded, head_of, keep, require_publishable
from kohort.engines.spark.partition import SparkPartition
from kohort.engines.spark.publication import SparkPublication, format_of
from kohort.engines.spark.release_folder import Folder
from kohort.engines.spark.session import session_for, speaking_plainly
from kohort.errors import RequestError
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.schema import columns
from kohort.tables import tables
from kohort.tables.locations import Location

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

    @cached_property
    def _spark(self) -> Any:
        return session_for(self._given, self._job.master)

    def require_target(self, target: Location, force: bool, sources: Sequence[Any]) -> None:
        format_of(target)
        if isinstance(target, Path):
            tables.require_other(target, sources)
        with speaking_plainly(f"{target} could not be looked at"):
            self._target = Folder(self._spark, target)
            self._target.require_free(force=force)

    def encode(self, source: Any) -> SparkEncoded:
        job = self._job
        self._require_suitable()
        with ExitStack() as held:
            with self._progress.step("read"):
                source = tables.open_source(source, job.encoding, job.columns)
                found = sources.read(self._spark, source)
                if self._target is not None:
                    self._target.require_other(source.given, found.files)
                schema = columns.bind(job.columns, found.arrow_schema, **job.binding())
                cells = keep(found.cells, held) if found.is_slow else found.cells
                values = DistinctValues(cells, found.arrow_schema, schema.missing)
                require_publishable(schema, found.arrow_schema)
            with self._progress.step("encode"), self._progress.compiling(), speaking_plainly("Spark failed while encoding"):
                head = head_of(job, schema, values, found.arrow_schema)
            kept = held.pop_all()
            encoded = SparkEncoded(self._spark, source, found.files, found.file_format, values, head, kept)
            weakref.finalize(encoded, kept.close)
        return encoded

    def partition(self, encoded: SparkEncoded) -> SparkPartition:
        with self._progress.step("partition"), self._progress.compiling(), speaking_plainly("Spark failed while cutting"):
            return SparkPartition.of(encoded, self._job, self._rows_at_once, os.urandom(32))

    def publish(self, partitioned: SparkPartition) -> SparkPublication:
        return SparkPublication.of(partitioned, self._job, self._progress)

    def _require_suitable(self) -> None:
        """Refuse what this engine cannot do."""
        job = self._job
        refused = [
            (job.workload is not None, "A workload is answered in memory. Leave it out"),
            (job.keep_order, "The rows of a Spark table have no order to keep. Leave keep_order out"),
            (job.row_order == "given", "The rows of a Spark table have no order. Leave row_order out"),
        ]
        problems = [f"{what}, or take another engine (--engine memory)." for applies, what in refused if applies]
        if problems:
            raise RequestError(problems)
