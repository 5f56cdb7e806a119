"""Small tables, encoded and partitioned by a method."""

from __future__ import annotations

import pyarrow as pa

import kohort as kh
from kohort.engines.memory import MemoryEngine
from kohort.methods import METHODS
from kohort.progress import Progress
from tests import oracles


def prepared(columns, k, quasi=None, **asked):
    """An engine that has encoded the columns as they stand."""
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    hierarchy = {"tree": oracles.TREE} if "tree" in table.column_names else {}
    job = kh.Job.build(quasi=quasi or table.column_names, hierarchy=hierarchy, row_order="given", **{"k": k, **asked})
    return encoded(table, job)


def encoded(table, job):
    progress = Progress(1)
    progress._inside.a_task = True  # as inside a task: no thread for each of many small pieces of work
    engine = MemoryEngine(job, progress)
    engine.read(table)
    engine.encode()
    return engine


def made(method, columns, k, **asked):
    """What the method itself makes, before anything is finished or improved."""
    engine = prepared(columns, k, **asked)
    found = METHODS[method].partition(engine._points, engine._constraints, METHODS[method].options(), 7, Progress(1))
    return found.labels.tolist()


def rows_in(columns):
    return len(next(iter(columns.values())))
