"""The release of the Spark engine. Its rows stay on the cluster, where they are written and audited."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort.auditor import Evidence
from kohort.engines.base import Counted, Result
from kohort.engines.shared.method_run import run_of
from kohort.engines.spark import sources, tasks
from kohort.engines.spark.encoded import SparkEncoded
from kohort.engines.spark.partition import SparkPartition
from kohort.engines.spark.release_audit import audited
from kohort.engines.spark.release_folder import Folder
from kohort.engines.spark.session import plain_errors
from kohort.engines.spark.tasks import REPORT, SUPPRESSED_GROUP
from kohort.errors import RequestError
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.publishing.published_rows import release_schema
from kohort.schema.columns import Schema
from kohort.tables import tables
from kohort.tables.locations import Location
from kohort.tables.tables import FORMATS, FileFormat
from kohort.utility.aligned import AlignedTables
from kohort.verification.verify import Proof, require_passed
from kohort.wording import quoted


@dataclass(frozen=True, eq=False)
class SparkPublication:
    """See `Publication`."""

    encoded: SparkEncoded
    rows: Any
    """The published rows (r0, r1, ...) with their original cells."""
    proof: Proof
    result: Result
    _progress: Progress

    @classmethod
    def of(cls, partition: SparkPartition, job: Job, progress: Progress) -> SparkPublication:
        """Select the rows to publish and measure the information loss."""
        encoded, head, packed = partition.encoded, partition.encoded.head, partition.encoded.head.packed
        with progress.step("publish"), plain_errors("Spark failed while publishing"):
            sums, summary, suppressed_group = partition.summed(job)
            whole = next((report.whole for report in partition.reports if report.whole), None)
            published_only = f"{REPORT} IS NULL" + ("" if suppressed_group else f" AND NOT {SUPPRESSED_GROUP}")
            rows = partition.released.where(published_only)
            stays = whole.suppressed_group is not None if whole else suppressed_group and job.suppressed == "star"
            published = packed.rows - (0 if stays else summary.suppressed)
            by_rows = _class_sizes(rows, head.schema, "1")
            sizes = _class_sizes(rows, head.schema, "DISTINCT u1_original") if packed.persons else by_rows
        axes, nothing = packed.template.axes, packed.nothing()
        constraints = replace(packed.constraints(nothing), rows=packed.rows)
        notes = whole.notes if whole else run_of(job, progress).notes(packed.points(nothing), constraints, summary)
        result = Result(
            rows=packed.rows,
            loss=sums.measured([axis.name for axis in axes], by_rows, job.promise.k),
            clusters=sums.clusters,
            blocks=summary.blocks if job.algorithm.in_blocks else 1,
            sizes=sizes,
            suppressed=summary.suppressed,
            axes={axis.name: axis.describe() for axis in axes},
            notes=notes,
        )
        proof = replace(head.proof, original=replace(head.proof.original, rows=published))
        return cls(encoded, rows, proof, result, progress)

    def labels(self) -> NDArray[np.int64]:
        raise RequestError(
            "The spark engine does not return the group of each row: the rows stay on the Spark cluster. "
            "Use the memory engine (--engine memory)."
        )

    def aligned(self) -> AlignedTables:
        raise RequestError(
            "The utility of a release cannot be measured with the spark engine. "
            "Anonymize a sample of the table with the memory engine (--engine memory) and measure that."
        )

    def preview(self, rows: NDArray[np.int64]) -> tuple[pa.Table, pa.Table]:
        del rows
        raise RequestError(
            "The spark engine cannot show single rows before and after: rows of a Spark table have no row numbers. "
            "Use the memory engine (--engine memory)."
        )

    def explain(self, progress: Progress) -> dict[str, Any]:
        del progress
        raise RequestError(
            "The spark engine cannot explain the groups (--explain). "
            "Use the memory engine (--engine memory), or leave out explain."
        )

    def release_table(self) -> tuple[Any, Evidence]:
        from pyspark import StorageLevel

        with plain_errors("Spark failed while publishing"):
            with self._progress.step("publish"):
                # A checkpoint cuts the link to the source: the original cells cannot be reached through the release, and Spark
                # never computes the release again from a source that may have changed.
                release = self._named(self.rows).localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)
            with self._progress.step("audit"):
                evidence = self._audited(release, self._shown_rows())
                require_passed(evidence)
        return release, evidence

    def release_file(self, target: Location, force: bool) -> Evidence:
        file_format = format_of(target, self.encoded.file_format)
        with ExitStack() as stack:
            stack.enter_context(plain_errors(f"{quoted(target)} could not be written"))
            folder = Folder(self.encoded.spark, target)
            folder.require_other(self.encoded.source.given, self.encoded.read_from)
            staged = stack.enter_context(folder.staged(force=force))
            with self._progress.step("publish"):
                proven = self._as_text() if file_format.holds_text else self._shown_rows()
                release = self._named(proven)
                if file_format.holds_text and len(release.columns) == 1:
                    release = release.fillna("")  # an empty line would not be read as a row, so a missing cell is written as ""
                release.write.format(file_format.spark_source).options(**file_format.spark_write_options()).save(staged)
            with self._progress.step("audit"):
                evidence = self._audited(self._read_back(staged, file_format), proven)
                require_passed(evidence)
        return evidence

    def _names(self) -> list[str]:
        return [name for name, _source, _statistic in self.encoded.schema.published()]

    def _named(self, rows: Any) -> Any:
        """Return only the published columns, under their own names."""
        return rows.select(*(rows[f"r{number}"].alias(name) for number, name in enumerate(self._names())))

    def _shown_rows(self) -> Any:
        """Return the published columns, named r0, r1, ..."""
        return self.rows.select(*(f"r{number}" for number in range(len(self._names()))))

    def _as_text(self) -> Any:
        """Return the published columns, named r0, r1, ..., as the texts of a CSV file."""
        from pyspark.sql.types import StringType, StructField, StructType

        names = [f"r{number}" for number in range(len(self._names()))]
        arrow_schema = StructType([StructField(name, StringType()) for name in names])
        types = release_schema(self.encoded.schema, self.encoded.head.arrow_schema).types
        return self._shown_rows().mapInArrow(tasks.to_text(types), arrow_schema)

    def _read_back(self, folder: str, file_format: FileFormat) -> Any:
        """Read the release that was written to a folder."""
        names = self._names()
        reader = self.encoded.spark.read.format(file_format.spark_source).options(**file_format.spark_read_options(len(names)))
        if file_format.holds_text:
            from pyspark.sql.types import StringType, StructField, StructType

            reader = reader.schema(StructType([StructField(name, StringType()) for name in names]))
        return reader.load(sources.escaped(folder))

    def _audited(self, release: Any, proven: Any) -> Evidence:
        return audited(self.proof, self._names(), release, self.rows, proven)


def _class_sizes(rows: Any, schema: Schema, what: str) -> Counted:
    """Return the sizes of the published groups. `what` is the SQL expression that is counted in a group."""
    from pyspark.sql import functions as f

    by = [f"r{number}" for number, (_n, _s, statistic) in enumerate(schema.published()) if statistic != "value"]
    found = rows.groupBy(*by).agg(f.expr(f"count({what}) AS size")).groupBy("size").count().toArrow()
    sizes, many = (column.to_numpy().astype(np.int64) for column in found.columns)
    order = np.argsort(sizes)
    return sizes[order], many[order]


def format_of(target: Location, source: FileFormat | None = None) -> FileFormat:
    """Return the format in which Spark writes a release to this target."""
    file_format = tables.format_of(Path(target), source)
    if file_format.spark_source is None:
        writable = [known for known in FORMATS.values() if known().spark_source is not None]
        writable.sort(key=lambda known: known().holds_text)  # formats with types first
        titles, suffixes = (" or ".join(texts) for texts in zip(*((one.title, one.suffixes[0]) for one in writable), strict=True))
        raise RequestError(
            f"{quoted(target)} has a file format that the spark engine cannot write. It writes folders of {titles} files. "
            f"Choose a name that ends with {suffixes}."
        )
    return file_format
