"""Small tables, encoded and partitioned by a method."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

import kohort as kh
from kohort.engines.memory import MemoryEncoded, MemoryEngine
from kohort.methods import METHODS
from kohort.progress import Progress
from tests import oracles


@dataclass(frozen=True)
class Prepared:
    """An encoded table, and the run it belongs to."""

    job: kh.Job
    progress: Progress
    encoded: MemoryEncoded

    @property
    def points(self):
        return self.encoded.points

    @property
    def constraints(self):
        return self.encoded.constraints

    def labels(self):
        """Of a run up to the release."""
        return MemoryEngine(self.job, self.progress).partition(self.encoded).labels()


def prepared(columns, k, quasi=None, **asked):
    """The columns, encoded as they stand."""
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    hierarchy = {"tree": oracles.TREE} if "tree" in table.column_names else {}
    job = kh.Job.build(quasi=quasi or table.column_names, hierarchy=hierarchy, row_order="given", **{"k": k, **asked})
    return encoded(table, job)


def encoded(table, job):
    progress = Progress(1)
    progress._inside.a_task = True  # as inside a task: no thread for each of many small pieces of work
    return Prepared(job, progress, MemoryEngine(job, progress).encode(table))


def made(method, columns, k, **asked):
    """What the method itself makes, before anything is finished or improved."""
    table = prepared(columns, k, **asked)
    found = METHODS[method].partition(table.points, table.constraints, METHODS[method].options(), 7, Progress(1))
    return found.labels.tolist()


def rows_in(columns):
    return len(next(iter(columns.values())))
