"""The disk engine: processes a table of any size within a memory limit.

It reads the source twice, as a stream. The first pass encodes the rows and stores the packed codes in a private folder. If the
codes do not fit into memory, the engine first cuts the table into parts and then partitions each part separately. The second
pass writes the release: its rows are distributed over buckets and shuffled there. DuckDB runs the audit within the same limit.
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

READ_AND_WRITTEN = 1.5  # buffers of a column's reader and writers together, as a multiple of the reader's buffer
KERNELS = 64 << 20  # bytes for code that is compiled later in the run


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
            raise RequestError(
                "The disk engine cannot use a workload (--workload): queries are answered in memory. "
                "Leave out workload, or use the memory engine (--engine memory)."
            )
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
            weakref.finalize(encoded, held.pop_all().close)  # the scratch folder is removed when nothing uses it any more
        return encoded

    def partition(self, encoded: DiskEncoded) -> DiskPartition:
        with self._progress.step("partition", total=encoded.packed.rows), self._progress.compiling():
            return DiskPartition.of(encoded, self._job, self._progress)

    def publish(self, partitioned: DiskPartition) -> DiskPublication:
        return DiskPublication.of(partitioned, self._job, self._progress)

    def _require_narrow(self, stream: Stream, schema: Schema) -> None:
        """Raise an error if the read buffers of the columns alone exceed the memory limit, for any number of rows."""
        columns = {source for _name, source, _statistic in schema.published()} | {*schema.named("unit")}
        needed = int(READ_AND_WRITTEN * len(columns) * stream.column_buffer)
        if needed + KERNELS > self._limits.room():
            raise RequestError(
                f"The job uses {len(columns):,} columns of the Parquet source. To read them together takes about "
                f"{needed >> 20:,} MiB in addition to the rows, which is above the memory limit. "
                "Drop columns (--drop), raise the limit (--memory), or save the source as an Arrow file."
            )
