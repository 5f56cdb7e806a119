"""Groups packed rows that are on disk: all at once if they fit into memory, otherwise part by part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kohort.engines.base import Counted, counted
from kohort.engines.disk.memory_limits import Limits
from kohort.engines.disk.scatter import Scattered, SpoolCounting, scatter
from kohort.engines.disk.stored_clusters import StoredClusters
from kohort.engines.disk.stream_encode import DiskEncoded
from kohort.engines.shared import cut_tree
from kohort.engines.shared.counted_part import OneCluster, one_cluster, with_suppressed_group
from kohort.engines.shared.method_run import partition_part, partition_whole, require_parts, require_persons, run_of
from kohort.engines.shared.packed_table import PackedTable
from kohort.engines.shared.persons import ClassPersons, sorted_by_person
from kohort.engines.shared.spool import Spool
from kohort.job.job import Job
from kohort.methods import Partition
from kohort.methods.run import RunSummary
from kohort.progress import Progress
from kohort.publishing.boxes import Boxes, boxes_of
from kohort.publishing.texts import classes_of, texts_of
from kohort.schema.columns import Schema
from kohort.utility.loss import Sums, sums_of

LEFT_OUT = -1


@dataclass(frozen=True)
class DiskPartition:
    """The groups of a table and their information loss. Labels are read in the order of the source."""

    encoded: DiskEncoded
    clusters: StoredClusters
    sums: Sums
    sizes: Counted
    suppressed: int
    left_out: int
    """Number of suppressed rows that are not published, not even as `*`."""
    suppressed_group: int | None
    blocks: int
    notes: tuple[str, ...]
    _labels: list[Spool[np.int32]]
    _scattered: Scattered | None

    def labels(self, *, suppressed_group: bool = True) -> Iterator[NDArray[np.int64]]:
        """Yield the cluster of each row in chunks; -1 = left out. Without `suppressed_group`, the rows of `*` are -1 too."""
        chunks = self._labels[0].chunks() if self._scattered is None else self._scattered.in_table_order(self._labels)
        for chunk in chunks:
            labels = chunk.astype(np.int64)
            if self.suppressed_group is not None:
                labels[labels < 0] = self.suppressed_group if suppressed_group else LEFT_OUT
            yield labels

    @classmethod
    def of(cls, encoded: DiskEncoded, job: Job, progress: Progress) -> DiskPartition:
        """Group the rows of an encoded source with the job's method."""
        packed, words = encoded.packed, encoded.words
        work = _DiskWork(encoded, job, encoded.schema, packed, encoded.folder, encoded.limits, progress)
        at_once = encoded.limits.rows_at_once(packed)
        if packed.rows <= at_once or (job.algorithm.in_blocks and packed.rows <= 2 * job.block):
            return work.whole(words)
        return work.in_parts(words, max(at_once, job.block if job.algorithm.in_blocks else 1))


@dataclass(frozen=True)
class _DiskWork:
    """One run of the partition step."""

    encoded: DiskEncoded
    job: Job
    schema: Schema
    packed: PackedTable
    folder: Path
    limits: Limits
    progress: Progress

    def whole(self, words: Spool[np.uint64]) -> DiskPartition:
        """Group all rows at once, as the memory engine does."""
        packed, schema = self.packed, self.schema
        rows = words.read().reshape(words.rows, -1)
        points, constraints = packed.points(rows), packed.constraints(rows)
        constraints.require_whole_table()
        made = partition_whole(self.job, schema, points, constraints, lambda: packed.ties(rows), self.progress)
        boxes = boxes_of(points, made, schema)
        clusters = StoredClusters(self.folder, schema, points.axes)
        clusters.append(boxes)
        spool = Spool(self.folder / "labels", np.int32)
        is_suppressed_group = np.equal(made.labels, LEFT_OUT if made.suppressed_group is None else made.suppressed_group)
        spool.append(np.where(is_suppressed_group, LEFT_OUT, made.labels).astype(np.int32))
        classes = classes_of(texts_of(schema, points.axes, boxes))
        sizes = counted(constraints.sizes(np.append(classes, -1)[made.labels]))
        suppressed, left_out = (
            int(np.count_nonzero(rows)) for rows in ((made.labels < 0) | is_suppressed_group, made.labels < 0)
        )
        sums = sums_of(points, made.labels, boxes)
        return DiskPartition(
            self.encoded,
            clusters,
            sums,
            sizes,
            suppressed,
            left_out,
            made.suppressed_group,
            made.blocks,
            made.notes,
            [spool],
            None,
        )

    def in_parts(self, words: Spool[np.uint64], largest: int) -> DiskPartition:
        """Cut the table by its frequency sets until every part fits into memory, then group each part."""
        job, packed, schema = self.job, self.packed, self.schema
        constraints = packed.constraints(packed.nothing())
        require_parts(job, constraints, "disk", f"The table has {packed.rows:,} rows, which do not fit into the memory limit.")
        room = self.limits.room() // 4
        people = sorted_by_person(packed, words, self.folder, room, self.progress) if packed.persons else None
        counting = SpoolCounting(packed, words, people, room, self.progress)
        require_persons(packed, counting)
        tree = cut_tree.grow(packed.template, constraints, packed.rows, largest, counting)
        scattered = scatter(packed, words, tree, self.folder, self.progress)
        words.remove()
        if people is not None:
            people.remove()
        of_classes = ClassPersons(self.folder, packed.rows, room) if packed.persons else None
        clusters, sums, summaries = StoredClusters(self.folder, schema, packed.template.axes), [], []
        labels: list[Spool[np.int32]] = []
        suppressed_rows = OneCluster(packed, schema)
        for number, part in enumerate(scattered.parts):
            self.progress.check()
            labels.append(Spool(self.folder / f"labels-{number}", np.int32))
            made = (self._large if part.rows > largest else self._small)(part, suppressed_rows)
            sums.append(made.sums)
            summaries.append(made.summary)
            before = len(clusters)
            for chunk in made.labels:
                labels[-1].append(np.where(chunk < 0, LEFT_OUT, chunk + before).astype(np.int32))
            keys = clusters.append(made.boxes)
            if of_classes is not None:  # with a unit column, `require_parts` has excluded suppression, so every row has a group
                for own, rows in zip(labels[-1].chunks(), part.chunks(), strict=True):
                    of_classes.add(keys[own - before], rows[:, packed.person_word])
            part.remove()
        total, summary = reduce(add, sums), reduce(add, summaries)
        suppressed_group, total = self._suppressed_group(suppressed_rows, clusters, total)
        notes = run_of(job, self.progress).notes(packed.points(packed.nothing()), replace(constraints, rows=packed.rows), summary)
        left_out = 0 if suppressed_group is not None else summary.suppressed
        sizes = clusters.class_sizes() if of_classes is None else of_classes.sizes()
        blocks = summary.blocks if job.algorithm.in_blocks else 1
        return DiskPartition(
            self.encoded, clusters, total, sizes, summary.suppressed, left_out, suppressed_group, blocks, notes, labels, scattered
        )

    def _small(self, part: Spool[np.uint64], suppressed_rows: OneCluster) -> _PartResult:
        """Group a part in memory."""
        packed = self.packed
        rows = part.read().reshape(part.rows, -1)
        points, constraints = packed.points(rows), packed.constraints(rows)
        labels, summary = partition_part(self.job, points, constraints, lambda: packed.ties(rows), self.progress)
        if summary.suppressed:
            suppressed_rows.add(packed, rows[labels < 0])
        boxes = boxes_of(points, Partition(labels), self.schema)
        return _PartResult(iter([labels]), boxes, sums_of(points, labels, boxes), summary)

    def _large(self, part: Spool[np.uint64], suppressed_rows: OneCluster) -> _PartResult:
        """Make one cluster of a part that cannot be cut. A block whose rows differ is grouped in memory nevertheless."""
        cluster = one_cluster(self.packed, self.schema, part.chunks())
        if self.job.algorithm.in_blocks and not cluster.is_one_point:
            self.progress.note(
                f"a block of {part.rows:,} rows cannot be cut further, so the run uses more memory than the limit (--memory)"
            )
            return self._small(part, suppressed_rows)
        boxes, sums = cluster.finished(self.packed)
        zeros = (np.zeros(len(chunk), np.int64) for chunk in part.chunks())
        self.progress.slot()[0] = part.rows
        return _PartResult(zeros, boxes, sums, RunSummary(part.rows, 1))

    def _suppressed_group(self, suppressed_rows: OneCluster, clusters: StoredClusters, sums: Sums) -> tuple[int | None, Sums]:
        """Publish the suppressed rows as one more group of `*` if the job requests it and the group satisfies the promises.

        Return the number of that group, or None, and the information loss of the release.
        """
        packed = self.packed
        if (
            self.job.suppressed != "star"
            or not suppressed_rows.rows
            or not suppressed_rows.is_valid(packed.constraints(packed.nothing()))
        ):
            return None, sums
        boxes, of_suppressed_group = suppressed_rows.finished(packed, suppressed_group=True)
        clusters.append(boxes)
        return len(clusters) - 1, with_suppressed_group(sums, of_suppressed_group)


@dataclass(frozen=True)
class _PartResult:
    """The clusters of one part, their loss and what the method did."""

    labels: Iterator[NDArray[np.int64]]
    boxes: Boxes
    sums: Sums
    summary: RunSummary
