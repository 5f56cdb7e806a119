"""Random tables and their releases, for measures of structure."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.engines.memory import MemoryEngine, MemoryPartition
from kohort.job.job import Job
from kohort.methods import Partition
from kohort.progress import Progress
from kohort.schema import columns as schemas
from kohort.utility.aligned import AlignedTables
from kohort.utility.structure import structure

TREES: dict[str, Any] = {
    "t": [("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*"), ("e", "y", "*")],
    "z": [("10", "p", "*"), ("30", "p", "*"), ("20", "q", "*"), ("100", "q", "*"), ("55", "q", "*")],  # not sorted by number
    "c": [(f"c{number:03d}", "*") for number in range(120)],
}


def measured(*given, **requested):
    return structure(AlignedTables(*given), **requested)  # without a return type, because tests know which figures exist


def schema_of(table: pa.Table, **requested) -> schemas.Schema:
    job = Job.build(quasi=table.column_names, k=2, **requested)
    return schemas.resolve(job.columns, table)


def published(table: pa.Table, labels=None, job=None, **requested):
    """Publish a table by Mondrian or in the given groups. Return the published source rows, the release and the schema."""
    job = Job.build(job or {}, **({} if job else {"quasi": table.column_names}), k=2, method="mondrian", seed=1, **requested)
    engine = MemoryEngine(job, Progress(1))
    encoded = engine.encode(table)
    given = None if labels is None else MemoryPartition(encoded, Partition(np.array(labels, np.int64)))
    aligned = engine.publish(given or engine.partition(encoded)).aligned()
    return aligned.source, aligned.release, aligned.schema


def drawn(seed: int) -> tuple[pa.Table, list[int]]:
    """Draw a table and groups: whole and real numbers, days, categories, numbers with a tree, and more than 50 texts."""
    random = np.random.default_rng(seed)
    rows = int(random.integers(2, 40))
    most = int(random.choice([3, 40, 200]))

    def some(values):
        gone = random.random(rows) < random.choice([0, 0.2])
        gone[0] = False  # a column of only missing values would be text
        return [None if out else value for out, value in zip(gone, values, strict=True)]

    days = [date(2019, 11, 1) + timedelta(days=int(day)) for day in random.integers(0, 5 * most, rows)]
    columns = {
        "n": pa.array(some(random.integers(-most, most, rows).tolist()), pa.int64()),
        "r": pa.array(some(random.normal(size=rows).round(5).tolist()), pa.float64()),
        "d": pa.array(some(days), pa.date32()),
        "t": pa.array(some(random.choice(list("abcde"), rows).tolist())),
        "z": pa.array(some(random.choice(["10", "30", "20", "100"], rows).tolist())),
        "c": pa.array(some(random.choice([leaf for leaf, _root in TREES["c"]], rows).tolist())),
    }
    return pa.table(columns), random.permutation(np.arange(rows) % max(rows // 4, 1)).tolist()
