"""Collects the distinct values of the columns of a Spark table, one aggregation per column. No rows come to the driver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.encoding.encode import Distinct, comparable, is_missing
from kohort.engines.spark.session import Batches, carry_errors
from kohort.errors import RequestError
from kohort.schema import columns as schema

MOST_VALUES = 5_000_000
"""Distinct values of a column that the driver and every task can hold in memory."""


@dataclass(frozen=True)
class DistinctValues:
    """The distinct values and counts of a table on Spark."""

    cells: Any
    """The table, with its columns named x0, x1, ..."""
    arrow_schema: pa.Schema
    missing: tuple[str, ...]
    """Texts that mean a missing value."""

    def column(self, name: str) -> str:
        """Return the name that a column of the source has in `cells`."""
        return f"x{self.arrow_schema.names.index(name)}"

    def distinct(self, name: str) -> Distinct:
        """Return the distinct values of a column."""
        counted = self.cells.groupBy(self.column(name)).count()
        found = counted.limit(MOST_VALUES + 1).toArrow()
        if found.num_rows > MOST_VALUES:
            raise RequestError(
                f"Column {name!r} has more than {MOST_VALUES:,} different values. Every Spark task would need all of them in "
                "memory. Round the values of the column, or give it another role."
            )
        values = comparable(found.column(0), name).cast(self.arrow_schema.field(name).type).combine_chunks()
        counts = found.column(1).to_numpy()
        gone = is_missing(values, name, self.missing)
        return Distinct(name, values.filter(pa.array(~gone)), np.append(counts[~gone], counts[gone].sum()))

    def without(self, name: str) -> int:
        """Return how many rows have a missing value in a column."""
        arrow_type, missing = self.arrow_schema.field(name).type, self.missing

        def run(batches: Batches) -> Batches:
            for batch in batches:
                gone = is_missing(batch.column(0).cast(arrow_type), name, missing)
                yield pa.record_batch([pa.array([np.count_nonzero(gone)])], names=["n"])

        return int(
            self.cells.select(self.column(name)).mapInArrow(carry_errors(run), "n bigint").agg({"n": "sum"}).collect()[0][0] or 0
        )

    def looks_personal(self, rows: int, name: str) -> str | None:
        """Return why a column may identify people, or None."""
        from pyspark.sql import functions as f

        column = self.column(name)
        counted = self.cells.where(f.col(column).isNotNull()).groupBy(column).count()
        is_text = pa.types.is_string(self.arrow_schema.field(name).type)
        words = f.regexp_count(f.col(column), f.lit(r"\s+")) + 1 if is_text else f.lit(0)
        unique, mean = counted.agg(f.sum((f.col("count") == 1).cast("bigint")), f.avg(words)).collect()[0]
        return schema.personal(rows, int(unique), float(mean)) if unique is not None else None
