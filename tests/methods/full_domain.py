"""Helpers that run full-domain methods on small tables."""

from __future__ import annotations

import pyarrow as pa

import kohort
from kohort.engines.choose import ENGINES
from kohort.progress import Progress
from tests import oracles

SECRET, PERSON = "s", "p"


def run_of(columns, method, k, **job):
    """Return an engine and its partition of the table. Column s is sensitive, column p is the person."""
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    trees = {"tree": oracles.TREE} if "tree" in table.column_names else {}
    quasi = [name for name in table.column_names if name not in (SECRET, PERSON)]
    requested = {"hierarchy": trees, "sensitive": [SECRET] * (SECRET in table.column_names), **job}
    requested["drop"] = [name for name in (PERSON,) if name in table.column_names and name not in requested.get("unit", ())]
    engine = ENGINES["memory"](kohort.Job.build(quasi=quasi, method=method, k=k, row_order="given", **requested), Progress(1))
    return engine, engine.partition(engine.encode(table))


def partitioned(columns, method, k, **job):
    return run_of(columns, method, k, **job)[1]


def labels_of(columns, method, k, **job):
    return partitioned(columns, method, k, **job).labels().tolist()
