"""The Spark engine: processes a table of any size on a cluster. The driver gets frequency sets, dictionaries and figures.

The driver never gets rows. The steps of a run:

1. One aggregation per column collects its distinct values.
2. The table is cut level by level. Each level takes one aggregation, for which every task gets the tree of cuts.
3. One shuffle brings every part to one task, which groups it as the other engines do.
4. A second shuffle puts the rows into a random order.
5. Spark runs the SQL of the audit.
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
from kohort.engines.spark.session import plain_errors, session_for
from kohort.errors import RequestError
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.schema import columns
from kohort.tables import tables
from kohort.tables.locations import Location
from kohort.wording import quoted

ROWS_OF_PART = 1 << 18
"""Rows that one task holds in memory."""


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
        with plain_errors(f"{quoted(target)} could not be checked"):
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
            with self._progress.step("encode"), self._progress.compiling(), plain_errors("Spark failed while encoding"):
                head = head_of(job, schema, values, found.arrow_schema)
            kept = held.pop_all()
            encoded = SparkEncoded(self._spark, source, found.files, found.file_format, values, head, kept)
            weakref.finalize(encoded, kept.close)
        return encoded

    def partition(self, encoded: SparkEncoded) -> SparkPartition:
        with self._progress.step("partition"), self._progress.compiling(), plain_errors("Spark failed while cutting"):
            return SparkPartition.of(encoded, self._job, self._rows_at_once, os.urandom(32))

    def publish(self, partitioned: SparkPartition) -> SparkPublication:
        return SparkPublication.of(partitioned, self._job, self._progress)

    def _require_suitable(self) -> None:
        """Raise an error for settings that this engine does not support."""
        job = self._job
        refused = [
            (job.workload is not None, "a workload", "queries are answered in memory", "workload (--workload)"),
            (job.keep_order, "keep_order", "the rows of a Spark table have no order", "keep_order (--keep-order)"),
            (
                job.row_order == "given",
                "row_order = 'given'",
                "the rows of a Spark table have no order",
                "row_order (--row-order)",
            ),
        ]
        problems = [
            f"The spark engine cannot use {what}: {why}. Leave out {setting}, or use the memory engine (--engine memory)."
            for applies, what, why, setting in refused
            if applies
        ]
        if problems:
            raise RequestError(problems)
