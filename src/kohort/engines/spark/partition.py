"""Groups the rows of a table on Spark: the driver chooses the cuts level by level, then tasks group one part each."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from kohort.engines.shared import cut_tree
from kohort.engines.shared.counted_part import OneCluster, with_suppressed_group
from kohort.engines.shared.cut_tree import CutTree
from kohort.engines.shared.method_run import require_parts, require_persons
from kohort.engines.spark import tasks
from kohort.engines.spark.counting import SparkCounting
from kohort.engines.spark.encoded import SparkEncoded
from kohort.engines.spark.tasks import KEY, PART, REPORT, PartReport
from kohort.job.job import Job
from kohort.methods.run import RunSummary
from kohort.publishing.boxes import Boxes
from kohort.utility.loss import Sums


@dataclass(frozen=True, eq=False)
class SparkPartition:
    """The published rows with their original cells, in random order, and the report of each task."""

    encoded: SparkEncoded
    released: Any
    """A Spark frame of the published rows, the original cells and the reports of the tasks."""
    reports: Sequence[PartReport]
    large: Mapping[int, OneCluster]
    """By node: parts that are one cluster, with any number of rows."""

    @classmethod
    def of(cls, encoded: SparkEncoded, job: Job, rows_at_once: int, secret: bytes) -> SparkPartition:
        """Group the rows of an encoded source. The random order of the rows is derived from `secret`."""
        work, packed = _SparkWork(encoded, job, rows_at_once), encoded.head.packed
        tree, large, whole = CutTree.root(packed.rows), dict[int, OneCluster](), True
        if packed.rows > rows_at_once and not (job.algorithm.in_blocks and packed.rows <= 2 * job.block):
            (tree, large), whole = work.cut(), False
        boxes = {node: cluster.finished(packed)[0] for node, cluster in large.items()}
        released = encoded.kept(work.finished(tree, boxes, secret, whole=whole))
        found = released.where(f"{REPORT} IS NOT NULL").select(REPORT).collect()
        reports = [pickle.loads(row[0]) for row in found]  # noqa: S301 - our own tasks wrote it
        errors = [report.error for report in reports if report.error is not None]
        if errors:
            raise errors[0]
        return cls(encoded, released, reports, large)

    def summed(self, job: Job) -> tuple[Sums, RunSummary, bool]:
        """Return the figures of all parts, and whether the suppressed rows can be published as one group of `*`."""
        packed = self.encoded.head.packed
        sums = [report.sums for report in self.reports if report.sums is not None]
        sums += [cluster.finished(packed)[1] for cluster in self.large.values()]
        summaries = [report.summary for report in self.reports] + [RunSummary(cluster.rows, 1) for cluster in self.large.values()]
        total, summary = reduce(add, sums), reduce(add, summaries)
        suppressed_rows = [report.suppressed_rows for report in self.reports if report.suppressed_rows is not None]
        if job.suppressed != "star" or not suppressed_rows:
            return total, summary, True
        suppressed_group = OneCluster(packed, self.encoded.schema)
        for cluster in suppressed_rows:
            suppressed_group.merge(cluster)
        if not suppressed_group.is_valid(packed.constraints(packed.nothing())):
            return total, summary, False
        return with_suppressed_group(total, suppressed_group.finished(packed, suppressed_group=True)[1]), summary, True


@dataclass(frozen=True)
class _SparkWork:
    """One run of the partition step."""

    encoded: SparkEncoded
    job: Job
    rows_at_once: int

    def cut(self) -> tuple[CutTree, dict[int, OneCluster]]:
        """Return the tree of parts, and the parts that are already one cluster, with any number of rows."""
        from pyspark import StorageLevel

        job, head = self.job, self.encoded.head
        packed = head.packed
        constraints = packed.constraints(packed.nothing())
        require_parts(job, constraints, "spark", f"The table has {packed.rows:,} rows, which are too many for one Spark task.")
        needed = int(packed.layout.word[: len(packed.quasi.codings) + len(packed.sensitive)].max()) + 1
        needed = max(needed, packed.person_word + 1) if packed.persons else needed
        largest = max(self.rows_at_once, job.block if job.algorithm.in_blocks else 1)
        names = ", ".join(f"{name} bigint" for name in head.word_names[:needed])
        packed_rows = self.encoded.used().mapInArrow(tasks.packing(head, needed), names)
        if packed.persons:  # all rows of a person follow one another in one partition
            person = head.word_names[packed.person_word]
            packed_rows = packed_rows.repartition(person).sortWithinPartitions(person)
        packed_rows = packed_rows.persist(StorageLevel.DISK_ONLY)
        try:
            counting = SparkCounting(head, packed_rows)
            require_persons(packed, counting)
            tree = cut_tree.grow(packed.template, constraints, packed.rows, largest, counting)
        finally:
            packed_rows.unpersist()
        return tree, self._one_clusters(tree, [int(node) for node in tree.parts if tree.rows[node] > largest])

    def _one_clusters(self, tree: CutTree, nodes: Sequence[int]) -> dict[int, OneCluster]:
        """Return the parts, of those that cannot be cut, that need no further work because they are one cluster."""
        head = self.encoded.head
        clusters = {node: OneCluster(head.packed, head.schema) for node in nodes}
        if nodes:
            found = self.encoded.used().mapInArrow(tasks.clustering(head, tree, tuple(nodes)), f"{REPORT} binary").collect()
            for row in found:
                for node, cluster in pickle.loads(row[0]).items():  # noqa: S301 - our own tasks wrote it
                    clusters[node].merge(cluster)
        done = not self.job.algorithm.in_blocks
        return {node: cluster for node, cluster in clusters.items() if done or cluster.is_one_point}

    def finished(self, tree: CutTree, boxes: Mapping[int, Boxes], secret: bytes, *, whole: bool) -> Any:
        """Return a frame of the published rows with their original cells, in random order."""
        from pyspark.sql.pandas.types import from_arrow_schema
        from pyspark.sql.types import LongType, StructType

        head, used = self.encoded.head, self.encoded.used()
        salted = {node: -(-int(tree.rows[node]) // self.rows_at_once) for node in boxes}
        parted = StructType([*used.schema.fields])
        for name in head.word_names:
            parted = parted.add(name, LongType())
        rows = used.mapInArrow(tasks.parting(head, tree, salted), parted.add(PART, LongType()))
        finish = tasks.finishing(head, secret, boxes, whole=whole)
        columns = from_arrow_schema(tasks.columns_of(head, used.limit(0).toArrow()))
        done = rows.groupBy(PART).applyInArrow(finish, columns)
        shuffled = done.repartition(max(self.encoded.spark.sparkContext.defaultParallelism, len(tree.parts) // 4), KEY)
        return shuffled.sortWithinPartitions(KEY)
