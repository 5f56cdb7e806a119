"""Rows on disk: a table of any size under a given memory limit.

The source is read twice, as a stream. Once for its codes, which are packed and kept in a private folder; if they do not fit
into memory, cuts part them first, and each part is finished by itself. Once more for the release, whose rows are dealt into
buckets and shuffled there. The audit is DuckDB's, under the same limit.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from kohort.auditor import Evidence
from kohort.engines.base import Result, require_file
from kohort.engines.disk.memory_limits import Limits
from kohort.engines.disk.partition import DiskPartition
from kohort.engines.disk.row_shuffle import Shuffle
from kohort.engines.disk.stream_encode import StreamEncoder
from kohort.engines.shared.packed_table import PackedTable
from kohort.engines.shared.spool import Reader, Spool, in_scratch
from kohort.errors import RequestError
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.publishing.published_rows import PublishedRows, release_schema
from kohort.publishing.texts import texts_of
from kohort.schema import columns as schema
from kohort.schema.columns import Schema
from kohort.tables import frames, staging, tables
from kohort.tables.frames import FrameLibrary
from kohort.tables.locations import Location, local
from kohort.tables.streams import Stream
from kohort.tables.tables import FileFormat, Source
from kohort.utility.aligned import AlignedTables
from kohort.verification.duckdb_views import original_name
from kohort.verification.verify import Proof, require_passed

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
        self._held = ExitStack()
        weakref.finalize(self, self._held.close)  # the scratch folder lives as long as what may still be asked for
        self._source: Source
        self._stream: Stream
        self._schema: Schema
        self._folder: Path
        self._packed: PackedTable
        self._words: Spool[np.uint64]
        self._partition: DiskPartition
        self._shuffle: Shuffle | None = None

    def require_target(self, target: Location, force: bool, sources: Sequence[Any]) -> None:
        require_file(target, force, sources)

    def read(self, source: Any) -> None:
        job = self._job
        if job.workload is not None:
            raise RequestError("A workload is answered in memory. Leave it out, or take the memory engine (--engine memory).")
        with self._progress.step("read"):
            self._source = tables.open_source(source, job.encoding, job.columns)
            self._stream = self._source.stream()
            self._schema = schema.bind(job.columns, self._stream.schema, **job.binding())
            self._require_narrow()
            self._folder = self._held.enter_context(staging.scratch_folder())

    def encode(self) -> None:
        rows = self._stream.rows or 0
        with self._progress.step("encode", total=2 * rows), self._progress.compiling():
            encoder = StreamEncoder(self._job, self._schema, self._folder, self._limits)
            self._packed, self._words = encoder.encode(self._stream, self._progress)

    def partition(self) -> None:
        with self._progress.step("partition", total=self._packed.rows), self._progress.compiling():
            self._partition = DiskPartition.of(
                self._job, self._schema, self._packed, self._words, self._folder, self._limits, self._progress
            )

    def publish(self) -> Result:
        made, job = self._partition, self._job
        with self._progress.step("publish", total=2 * self._packed.rows), self._progress.compiling():
            if not job.keep_order:
                self._shuffle = self._dealt()
            names = [axis.name for axis in self._packed.template.axes]
            measured = made.sums.measured(names, made.clusters.class_sizes(), job.promise.k)
        return Result(
            rows=self._packed.rows,
            loss=measured,
            clusters=len(made.clusters),
            blocks=made.blocks,
            sizes=made.sizes,
            suppressed=made.suppressed,
            axes={axis.name: axis.describe() for axis in self._packed.template.axes},
            notes=made.notes,
        )

    def labels(self) -> NDArray[np.int64]:
        return np.concatenate([np.empty(0, np.int64), *self._partition.labels(suppressed_group=False)])

    def aligned(self) -> AlignedTables:
        """The source and the release row by row, without those left out. For measuring only."""
        self._require_room("Measuring what a release is good for")
        source = pa.Table.from_batches(self._stream.batches(), self._stream.schema)
        labels = np.concatenate(list(self._partition.labels()))
        kept = np.flatnonzero(labels >= 0)
        publication = self._publication(source, labels)
        release = pa.Table.from_batches(publication.batches(kept), publication.schema)
        return AlignedTables(source.take(pa.array(kept)), release, self._schema, source)

    def preview(self, rows: NDArray[np.int64]) -> tuple[pa.Table, pa.Table]:
        befores, afters, taken, first, reader = [], [], [], 0, Reader(self._partition.labels())
        for batch in self._stream.batches():
            labels = reader.take(batch.num_rows)
            taken.append(np.flatnonzero((rows >= first) & (rows < first + len(labels))))
            inside = rows[taken[-1]] - first
            table = pa.Table.from_batches([batch])
            out = labels[inside] < 0
            publication = self._publication(table, labels)
            after = pa.Table.from_batches(publication.batches(inside[~out]), publication.schema)
            befores.append(table.take(pa.array(inside)))
            afters.append(after.take(pa.array(np.cumsum(~out) - 1, mask=out)))
            first += len(labels)
        order = pa.array(np.argsort(np.concatenate(taken)))
        return pa.concat_tables(befores).take(order), pa.concat_tables(afters).take(order)

    def release_table(self) -> tuple[Any, Evidence]:
        self._require_room("A release as a table in memory")
        with self._progress.step("publish"):
            batches = list(self._batches(None, originals := self._folder / "originals.parquet"))
            table = pa.Table.from_batches(batches, release_schema(self._schema, self._stream.schema))
            release, origin = table, self._stream.origin
            if isinstance(origin, FrameLibrary):
                release = frames.give_back(table, origin, self._schema.carried)
                table = tables.read(release)[0] if origin.readable_again else table
        return release, self._audited(table, None, originals)

    def release_file(self, target: Location, force: bool) -> Evidence:
        path = local(target)
        file_format = tables.format_of(path, self._source.file_format)
        tables.require_other(path, [self._source.given, *self._job.files()])
        with staging.staged(path, force) as part:
            originals = self._folder / "originals.parquet"
            with self._progress.step("publish", total=self._packed.rows):
                arrow_schema = release_schema(self._schema, self._stream.schema)
                tables.batches_to_file(self._batches(file_format, originals), arrow_schema, part, file_format)
            return self._audited(part, file_format, originals)

    # --- rows

    def _dealt(self) -> Shuffle:
        """The rows that are published, with their clusters, in buckets."""
        stream, rows = self._stream, self._packed.rows
        names = [*self._proof().sources]
        header = pa.schema([*(stream.schema.field(name) for name in names), pa.field(self._cluster, pa.int32())])
        buckets = self._limits.buckets(rows, stream.size_in_memory / max(rows, 1))
        shuffle = Shuffle(self._folder, header, buckets)
        done, reader = self._progress.slot(), Reader(self._partition.labels())
        for batch in stream.batches(names):
            self._progress.check()
            labels = reader.take(batch.num_rows)
            whole = pa.record_batch([*batch.columns, pa.array(labels.astype(np.int32))], schema=header)
            shuffle.add(whole if labels.min(initial=0) >= 0 else whole.filter(pa.array(labels >= 0)))
            done[0] += len(labels)
        shuffle.close()
        return shuffle

    @property
    def _cluster(self) -> str:
        """The column of a bucket that says which cluster a row is in: called like no other."""
        return f"cluster {max(self._stream.schema.names, key=len)}"

    def _ordered(self) -> Iterator[tuple[pa.Table, NDArray[np.int64], NDArray[np.int64]]]:
        """Rows of the source as the release is to have them: some of them, the cluster of each, and their order."""
        if self._shuffle is not None:
            for table, order in self._shuffle.buckets():
                yield table.drop_columns([self._cluster]), table.column(self._cluster).to_numpy().astype(np.int64), order
            return
        reader = Reader(self._partition.labels())
        for batch in self._stream.batches(self._proof().sources):
            labels = reader.take(batch.num_rows)
            yield pa.Table.from_batches([batch]), labels, np.flatnonzero(labels >= 0)

    def _batches(self, file_format: FileFormat | None, originals: Path) -> Iterator[pa.RecordBatch]:
        """The release; beside it, in a private file, what each cell was made from."""
        proof, writer, done = self._proof(), None, self._progress.slot()
        with ExitStack() as closing:
            for table, labels, order in self._ordered():
                self._progress.check()
                yield from self._publication(table, labels).batches(order)
                extra = self._extra(proof, table.take(pa.array(order)), file_format)
                with in_scratch(self._folder):
                    if writer is None:
                        options: dict[str, Any] = {"compression": "lz4", "write_statistics": False, "store_schema": False}
                        writer = closing.enter_context(pq.ParquetWriter(originals, extra.schema, **options))
                    writer.write_table(extra)
                done[0] += len(order)

    def _extra(self, proof: Proof, table: pa.Table, file_format: FileFormat | None) -> pa.Table:
        """What the auditor is to see beside the release."""
        return pa.table({original_name(alias): cells for alias, cells in proof.originals(table.column, file_format).items()})

    def _publication(self, table: pa.Table, labels: NDArray[np.int64]) -> PublishedRows:
        """Some rows, published."""
        numbers, index = np.unique(labels[labels >= 0], return_inverse=True)
        texts = texts_of(self._schema, self._packed.template.axes, self._partition.clusters.boxes(numbers))
        indices = np.full(len(labels), -1, np.int64)
        indices[labels >= 0] = index
        return PublishedRows(table, self._schema, texts, indices)

    # --- proof

    def _proof(self) -> Proof:
        made, packed = self._partition, self._packed
        published = packed.rows - made.left_out
        return Proof.of(self._job, self._schema, packed.template.axes, self._stream.schema, published, packed.sensitive)

    def _audited(self, release: pa.Table | Path, file_format: FileFormat | None, originals: Path) -> Evidence:
        with self._progress.step("audit"):
            pa.default_memory_pool().release_unused()
            evidence = self._proof().audit(release, file_format, originals, self._progress.threads, self._limits.room())
            originals.unlink(missing_ok=True)
            require_passed(evidence)
            return evidence

    def _require_narrow(self) -> None:
        """Refuse more columns than can be read at once, however few rows at a time."""
        columns = {source for _name, source, _statistic in self._schema.published()} | {*self._schema.named("unit")}
        needed = int(READ_AND_WRITTEN * len(columns) * self._stream.column_buffer)
        if needed + KERNELS > self._limits.room():
            raise RequestError(
                f"Reading {len(columns):,} columns of Parquet at once takes about {needed >> 20:,} MiB beside the rows, more "
                "than is allowed. Drop columns, allow more memory (--memory), or write the table as Arrow."
            )

    def _require_room(self, what: str) -> None:
        """Refuse what takes the whole table, if it does not fit."""
        if 4 * self._stream.size_in_memory > self._limits.room():
            raise RequestError(f"{what} takes more memory than is allowed. Write it to a file, or allow more (--memory).")
