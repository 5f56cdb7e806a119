"""What the columns of a Spark table hold, each by one aggregation: only different values and figures come to the driver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.encoding.encode import Distinct, comparable, is_missing
from kohort.engines.spark.session import Batches, telling
from kohort.errors import RequestError
from kohort.schema import columns as schema

MOST_VALUES = 5_000_000
"""Different values of a column that the driver and every task can hold."""


@dataclass(frozen=True)
class DistinctValues:
    cells: Any
    """A table whose columns go by place."""
    arrow_schema: pa.Schema
    missing: tuple[str, ...]
    """Texts that stand for nothing."""

    def column(self, name: str) -> str:
        """How a column of the source is called."""
        return f"x{self.arrow_schema.names.index(name)}"

    def distinct(self, name: str) -> Distinct:
        """The different values of a column."""
        counted = self.cells.groupBy(self.column(name)).count()
        found = counted.limit(MOST_VALUES + 1).toArrow()
        if found.num_rows > MOST_VALUES:
            raise RequestError(
                f"Column {name!r} holds more than {MOST_VALUES:,} different values, which every task would have to hold. "
                "Round its values, or give it another role."
            )
        values = comparable(found.column(0), name).cast(self.arrow_schema.field(name).type).combine_chunks()
        counts = found.column(1).to_numpy()
        gone = is_missing(values, name, self.missing)
        return Distinct(name, values.filter(pa.array(~gone)), np.append(counts[~gone], counts[gone].sum()))

    def without(self, name: str) -> int:
        """How many rows have no value in a column."""
        arrow_type, missing = self.arrow_schema.field(name).type, self.missing

        def run(batches: Batches) -> Batches:
            for batch in batches:
                gone = is_missing(batch.column(0).cast(arrow_type), name, missing)
                yield pa.record_batch([pa.array([np.count_nonzero(gone)])], names=["n"])

        return int(
            self.cells.select(self.column(name)).mapInArrow(telling(run), "n bigint").agg({"n": "sum"}).collect()[0][0] or 0
        )

    def looks_personal(self, rows: int, name: str) -> str | None:
        """Why a column may point to persons."""
        from pyspark.sql import functions as f

        column = self.column(name)
        counted = self.cells.where(f.col(column).isNotNull()).groupBy(column).count()
        is_text = pa.types.is_string(self.arrow_schema.field(name).type)
        words = f.regexp_count(f.col(column), f.lit(r"\s+")) + 1 if is_text else f.lit(0)
        unique, mean = counted.agg(f.sum((f.col("count") == 1).cast("bigint")), f.avg(words)).collect()[0]
        return schema.personal(rows, int(unique), float(mean)) if unique is not None else None
