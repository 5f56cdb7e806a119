"""The release of the disk engine. Rows are streamed from the source to the release, with the published values of their group."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from kohort.auditor import Evidence
from kohort.engines.base import Result
from kohort.engines.disk.partition import DiskPartition
from kohort.engines.disk.row_shuffle import Shuffle
from kohort.engines.disk.stream_encode import DiskEncoded
from kohort.engines.shared.spool import Reader, in_scratch
from kohort.errors import RequestError
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.publishing.published_rows import PublishedRows, release_schema
from kohort.publishing.texts import texts_of
from kohort.tables import frames, staging, tables
from kohort.tables.frames import FrameLibrary
from kohort.tables.locations import Location, local
from kohort.tables.tables import FileFormat
from kohort.utility.aligned import AlignedTables
from kohort.verification.duckdb_views import original_name
from kohort.verification.verify import Proof, require_passed


@dataclass(frozen=True, eq=False)
class DiskPublication:
    """See `Publication`."""

    encoded: DiskEncoded
    partition: DiskPartition
    shuffle: Shuffle | None
    """The published rows in buckets, which are read in random order; None if the job keeps the order of the rows."""
    result: Result
    _job: Job
    _progress: Progress

    @classmethod
    def of(cls, partition: DiskPartition, job: Job, progress: Progress) -> DiskPublication:
        """Shuffle the rows, unless the job keeps their order, and measure the information loss."""
        encoded = partition.encoded
        axes = encoded.packed.template.axes
        with progress.step("publish", total=2 * encoded.packed.rows), progress.compiling():
            shuffle = None if job.keep_order else _shuffled(partition, _proof(partition, job), progress)
            lost = partition.sums.measured([axis.name for axis in axes], partition.clusters.class_sizes(), job.promise.k)
        result = Result(
            rows=encoded.packed.rows,
            loss=lost,
            clusters=len(partition.clusters),
            blocks=partition.blocks,
            sizes=partition.sizes,
            suppressed=partition.suppressed,
            axes={axis.name: axis.describe() for axis in axes},
            notes=partition.notes,
        )
        return cls(encoded, partition, shuffle, result, job, progress)

    def labels(self) -> NDArray[np.int64]:
        return np.concatenate([np.empty(0, np.int64), *self.partition.labels(suppressed_group=False)])

    def aligned(self) -> AlignedTables:
        self._require_room("To measure the utility of the release")
        source = pa.Table.from_batches(self.encoded.stream.batches(), self.encoded.stream.schema)
        labels = np.concatenate(list(self.partition.labels()))
        kept = np.flatnonzero(labels >= 0)
        published = self._published(source, labels)
        release = pa.Table.from_batches(published.batches(kept), published.schema)
        return AlignedTables(source.take(pa.array(kept)), release, self.encoded.schema, source)

    def preview(self, rows: NDArray[np.int64]) -> tuple[pa.Table, pa.Table]:
        befores, afters, taken, first, reader = [], [], [], 0, Reader(self.partition.labels())
        for batch in self.encoded.stream.batches():
            labels = reader.take(batch.num_rows)
            taken.append(np.flatnonzero((rows >= first) & (rows < first + len(labels))))
            inside = rows[taken[-1]] - first
            table = pa.Table.from_batches([batch])
            out = labels[inside] < 0
            published = self._published(table, labels)
            after = pa.Table.from_batches(published.batches(inside[~out]), published.schema)
            befores.append(table.take(pa.array(inside)))
            afters.append(after.take(pa.array(np.cumsum(~out) - 1, mask=out)))
            first += len(labels)
        order = pa.array(np.argsort(np.concatenate(taken)))
        return pa.concat_tables(befores).take(order), pa.concat_tables(afters).take(order)

    def explain(self, progress: Progress) -> dict[str, Any]:
        del progress
        raise RequestError(
            "The disk engine cannot explain the groups (--explain). "
            "Use the memory engine (--engine memory), or leave out explain."
        )

    def release_table(self) -> tuple[Any, Evidence]:
        self._require_room("To return the release as a table")
        with self._progress.step("publish"):
            batches = list(self._batches(None, originals := self.encoded.folder / "originals.parquet"))
            table = pa.Table.from_batches(batches, release_schema(self.encoded.schema, self.encoded.stream.schema))
            release, origin = table, self.encoded.stream.origin
            if isinstance(origin, FrameLibrary):
                release = frames.give_back(table, origin, self.encoded.schema.carried)
                table = tables.read(release)[0] if origin.readable_again else table
        return release, self._audited(table, None, originals)

    def release_file(self, target: Location, force: bool) -> Evidence:
        path = local(target)
        file_format = tables.format_of(path, self.encoded.source.file_format)
        tables.require_other(path, [self.encoded.source.given, *self._job.files()])
        with staging.staged(path, force) as part:
            originals = self.encoded.folder / "originals.parquet"
            with self._progress.step("publish", total=self.encoded.packed.rows):
                arrow_schema = release_schema(self.encoded.schema, self.encoded.stream.schema)
                tables.batches_to_file(self._batches(file_format, originals), arrow_schema, part, file_format)
            return self._audited(part, file_format, originals)

    # --- rows

    def _ordered(self) -> Iterator[tuple[pa.Table, NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the rows of the source in pieces: a table, the cluster of each row, and the rows to publish in their order."""
        if self.shuffle is not None:
            for table, order in self.shuffle.buckets():
                yield (
                    table.drop_columns([self.encoded.cluster_column]),
                    table.column(self.encoded.cluster_column).to_numpy().astype(np.int64),
                    order,
                )
            return
        reader = Reader(self.partition.labels())
        for batch in self.encoded.stream.batches(self._proof().sources):
            labels = reader.take(batch.num_rows)
            yield pa.Table.from_batches([batch]), labels, np.flatnonzero(labels >= 0)

    def _batches(self, file_format: FileFormat | None, originals: Path) -> Iterator[pa.RecordBatch]:
        """Yield the release. Write the original cells of its rows to the private file `originals`, for the audit."""
        proof, writer, done = self._proof(), None, self._progress.slot()
        with ExitStack() as closing:
            for table, labels, order in self._ordered():
                self._progress.check()
                yield from self._published(table, labels).batches(order)
                extra = self._extra(proof, table.take(pa.array(order)), file_format)
                with in_scratch(self.encoded.folder):
                    if writer is None:
                        options: dict[str, Any] = {"compression": "lz4", "write_statistics": False, "store_schema": False}
                        writer = closing.enter_context(pq.ParquetWriter(originals, extra.schema, **options))
                    writer.write_table(extra)
                done[0] += len(order)

    def _extra(self, proof: Proof, table: pa.Table, file_format: FileFormat | None) -> pa.Table:
        """Return the original cells that the auditor compares with the release."""
        return pa.table({original_name(alias): cells for alias, cells in proof.originals(table.column, file_format).items()})

    def _published(self, table: pa.Table, labels: NDArray[np.int64]) -> PublishedRows:
        """Return these rows of the source with the published values of their groups."""
        numbers, index = np.unique(labels[labels >= 0], return_inverse=True)
        texts = texts_of(self.encoded.schema, self.encoded.packed.template.axes, self.partition.clusters.boxes(numbers))
        indices = np.full(len(labels), -1, np.int64)
        indices[labels >= 0] = index
        return PublishedRows(table, self.encoded.schema, texts, indices)

    # --- audit

    def _proof(self) -> Proof:
        return _proof(self.partition, self._job)

    def _audited(self, release: pa.Table | Path, file_format: FileFormat | None, originals: Path) -> Evidence:
        with self._progress.step("audit"):
            pa.default_memory_pool().release_unused()
            evidence = self._proof().audit(release, file_format, originals, self._progress.threads, self.encoded.limits.room())
            originals.unlink(missing_ok=True)
            require_passed(evidence)
            return evidence

    def _require_room(self, what: str) -> None:
        """Raise an error if the whole table does not fit into memory. `what` says what needs the whole table."""
        if 4 * self.encoded.stream.size_in_memory > self.encoded.limits.room():
            raise RequestError(
                f"{what}, kohort needs the whole table in memory, which is above the memory limit. "
                "Write the release to a file only (--output), or raise the limit (--memory)."
            )


def _shuffled(partition: DiskPartition, proof: Proof, progress: Progress) -> Shuffle:
    """Distribute the published rows, with their clusters, over buckets."""
    encoded = partition.encoded
    stream, rows = encoded.stream, encoded.packed.rows
    names = [*proof.sources]
    header = pa.schema([*(stream.schema.field(name) for name in names), pa.field(encoded.cluster_column, pa.int32())])
    buckets = encoded.limits.buckets(rows, stream.size_in_memory / max(rows, 1))
    shuffle = Shuffle(encoded.folder, header, buckets)
    done, reader = progress.slot(), Reader(partition.labels())
    for batch in stream.batches(names):
        progress.check()
        labels = reader.take(batch.num_rows)
        whole = pa.record_batch([*batch.columns, pa.array(labels.astype(np.int32))], schema=header)
        shuffle.add(whole if labels.min(initial=0) >= 0 else whole.filter(pa.array(labels >= 0)))
        done[0] += len(labels)
    shuffle.close()
    return shuffle


def _proof(partition: DiskPartition, job: Job) -> Proof:
    """Return what the auditor must check in this release."""
    encoded, packed = partition.encoded, partition.encoded.packed
    published = packed.rows - partition.left_out
    return Proof.of(job, encoded.schema, packed.template.axes, encoded.stream.schema, published, packed.sensitive)
