"""A source as the Spark engine holds it: its cells on the cluster, its dictionaries on the driver."""

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
    """The source on the cluster, and all that tasks must know of it."""

    spark: Any
    """The session."""
    source: Source
    read_from: tuple[str, ...]
    """The files that Spark reads."""
    file_format: FileFormat | None
    values: DistinctValues
    head: Head
    held: ExitStack
    """What is kept on the executors' disks, as long as this object is used."""

    @property
    def schema(self) -> Schema:
        return self.head.schema

    def used(self) -> Any:
        """The columns of the source that tasks need."""
        values = self.values
        return values.cells.selectExpr(*(f"{values.column(name)} AS c{number}" for number, name in enumerate(self.head.names)))

    def kept(self, frame: Any) -> Any:
        """On the executors' disks, as long as there is this run."""
        return keep(frame, self.held)


def keep(frame: Any, held: ExitStack) -> Any:
    """A frame on the executors' disks until `held` is closed."""
    from pyspark import StorageLevel

    kept = frame.persist(StorageLevel.DISK_ONLY)
    held.callback(_let_go, kept)
    return kept


def _let_go(kept: Any) -> None:
    """Give the executors' disks back, unless the session has done so already."""
    with suppress(Exception):
        kept.unpersist()


def require_publishable(schema: Schema, arrow_schema: pa.Schema) -> None:
    """Refuse what no task could hand back, before any work is done."""
    published = [(name, arrow_schema.field(of).type) for name, of, statistic in schema.published() if statistic == "value"]
    wrong = [(name, one) for name, one in published if pa.types.is_map(one) or pa.types.is_duration(one)]
    if wrong:
        raise RequestError(
            [f"Column {name!r} is {one}, which cannot be published. Drop it, or make text of it." for name, one in wrong]
        )
    folded = [name.casefold() for name, _source, _statistic in schema.published()]
    if len(set(folded)) < len(folded):
        raise RequestError("Columns of the release differ only in upper and lower case, which Spark does not tell apart.")


def head_of(job: Job, schema: Schema, values: DistinctValues, arrow_schema: pa.Schema) -> Head:
    """What tasks must know: dictionaries and axes, made from the distinct values of each column."""
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
