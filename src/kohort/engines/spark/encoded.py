"""An encoded source of the Spark engine: its cells are on the cluster, its dictionaries on the driver."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from kohort.encoding.row_order import carried
from kohort.encoding.sensitive import missing_person_error
from kohort.engines.shared.encode_columns import coded_columns, coded_table
from kohort.engines.shared.method_run import needs_order
from kohort.engines.spark.distinct_values import DistinctValues
from kohort.engines.spark.tasks import Head
from kohort.errors import RequestError
from kohort.job.job import Job
from kohort.schema import columns
from kohort.schema.columns import Schema
from kohort.tables.tables import FileFormat, Source
from kohort.verification.verify import Proof


@dataclass(frozen=True, eq=False)
class SparkEncoded:
    """The source on the cluster, and the information that tasks need about it."""

    spark: Any
    """The session."""
    source: Source
    read_from: tuple[str, ...]
    """The files that Spark reads."""
    file_format: FileFormat | None
    values: DistinctValues
    head: Head
    held: ExitStack
    """Closing it removes the frames that are stored on the executors' disks. It is closed when this object is no longer used."""

    @property
    def schema(self) -> Schema:
        return self.head.schema

    def used(self) -> Any:
        """Return the columns of the source that tasks need, named c0, c1, ..."""
        values = self.values
        return values.cells.selectExpr(*(f"{values.column(name)} AS c{number}" for number, name in enumerate(self.head.names)))

    def kept(self, frame: Any) -> Any:
        """Store a frame on the executors' disks until the end of the run."""
        return keep(frame, self.held)


def keep(frame: Any, held: ExitStack) -> Any:
    """Store a frame on the executors' disks until `held` is closed."""
    from pyspark import StorageLevel

    kept = frame.persist(StorageLevel.DISK_ONLY)
    held.callback(_unpersist, kept)
    return kept


def _unpersist(kept: Any) -> None:
    """Remove a frame from the executors' disks. Ignore errors: the session may have ended and removed it already."""
    with suppress(Exception):
        kept.unpersist()


def require_publishable(schema: Schema, arrow_schema: pa.Schema) -> None:
    """Raise an error, before any work is done, for columns that Spark tasks cannot return."""
    published = [(name, arrow_schema.field(of).type) for name, of, statistic in schema.published() if statistic == "value"]
    wrong = [(name, one) for name, one in published if pa.types.is_map(one) or pa.types.is_duration(one)]
    if wrong:
        raise RequestError(
            [
                f"Column {name!r} has the type {one}, which the spark engine cannot publish. "
                "Drop the column (--drop), or convert it to text."
                for name, one in wrong
            ]
        )
    folded = [name.casefold() for name, _source, _statistic in schema.published()]
    if len(set(folded)) < len(folded):
        raise RequestError(
            "Names of columns of the release differ only in upper and lower case, and Spark treats them as the same name. "
            "Rename or drop one of the columns (--drop)."
        )


def head_of(job: Job, schema: Schema, values: DistinctValues, arrow_schema: pa.Schema) -> Head:
    """Collect the information that tasks need: dictionaries and axes, made from the distinct values of each column."""
    held = {name: values.distinct(name) for name in coded_columns(job)}
    rows = int(next(iter(held.values())).counts.sum())
    columns.require_rows(schema, rows, partial(values.looks_personal, rows))
    for unit in schema.named("unit"):
        gone = values.without(unit)
        if gone:
            raise missing_person_error(unit, gone, None)
    packed = coded_table(job, schema, held, rows)
    proof = Proof.of(job, schema, packed.template.axes, arrow_schema, rows, packed.sensitive)
    used = list(dict.fromkeys([*held, *proof.sources, *(carried(schema) if needs_order(job) else ())]))
    return Head(job, schema, packed, proof, tuple(used), arrow_schema)
