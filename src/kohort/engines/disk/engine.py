"""Rows on disk: a table of any size under a given memory limit.

The source is read twice, as a stream. Once for its codes, which are packed and kept in a private folder; if they do not fit
into memory, cuts part them first, and each part is finished by itself. Once more for the release, whose rows are put into
buckets and shuffled there. The audit is DuckDB's, under the same limit.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from kohort.engines.base import require_file
from kohort.engines.disk.memory_limits import Limits
from kohort.engines.disk.partition import DiskPartition
from kohort.engines.disk.publication import DiskPublication
from kohort.engines.disk.stream_encode import DiskEncoded, StreamEncoder
from kohort.errors import RequestError
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.schema import columns
from kohort.schema.columns import Schema
from kohort.tables import staging, tables
from kohort.tables.locations import Location
from kohort.tables.streams import Stream

READ_AND_WRITTEN = 1.5  # what a column's reader and writers take, of what the reader does
KERNELS = 64 << 20  # bytes of what is compiled later


class DiskEngine:
    """See `Engine`."""

    name = "disk"
    writes_folders = False

    def __init__(self, job: Job, progress: Progress, rows_at_once: int | None = None) -> None:
        self._job = job
        self._progress = progress
        self._limits = Limits(job.memory_bytes, rows_at_once)

    def require_target(self, target: Location, force: bool, sources: Sequence[Any]) -> None:
        require_file(target, force, sources)

    def encode(self, source: Any) -> DiskEncoded:
        job = self._job
        if job.workload is not None:
            raise RequestError("A workload is answered in memory. Leave it out, or take the memory engine (--engine memory).")
        with ExitStack() as held:
            with self._progress.step("read"):
                source = tables.open_source(source, job.encoding, job.columns)
                stream = source.stream()
                schema = columns.bind(job.columns, stream.schema, **job.binding())
                self._require_narrow(stream, schema)
                folder = held.enter_context(staging.scratch_folder())
            with self._progress.step("encode", total=2 * (stream.rows or 0)), self._progress.compiling():
                packed, words = StreamEncoder(job, schema, folder, self._limits).encode(stream, self._progress)
            encoded = DiskEncoded(source, stream, schema, folder, self._limits, packed, words)
            weakref.finalize(encoded, held.pop_all().close)  # the scratch folder is there as long as anything needs it
        return encoded

    def partition(self, encoded: DiskEncoded) -> DiskPartition:
        with self._progress.step("partition", total=encoded.packed.rows), self._progress.compiling():
            return DiskPartition.of(encoded, self._job, self._progress)

    def publish(self, partitioned: DiskPartition) -> DiskPublication:
        return DiskPublication.of(partitioned, self._job, self._progress)

    def _require_narrow(self, stream: Stream, schema: Schema) -> None:
        """Refuse more columns than can be read at once, however few rows at a time."""
        columns = {source for _name, source, _statistic in schema.published()} | {*schema.named("unit")}
        needed = int(READ_AND_WRITTEN * len(columns) * stream.column_buffer)
        if needed + KERNELS > self._limits.room():
            raise RequestError(
                f"Reading {len(columns):,} columns of Parquet at once takes about {needed >> 20:,} MiB beside the rows, more "
                "than is allowed. Drop columns, allow more memory (--memory), or write the table as Arrow."
            )
