"""Helpers that encode small tables and partition them with a method."""

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
    """An encoded table with its job and progress."""

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
        """Return the labels of a whole run, without publishing."""
        return MemoryEngine(self.job, self.progress).partition(self.encoded).labels()


def prepared(columns, k, quasi=None, **requested):
    """Encode the columns with the rows in the given order."""
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    hierarchy = {"tree": oracles.TREE} if "tree" in table.column_names else {}
    job = kh.Job.build(quasi=quasi or table.column_names, hierarchy=hierarchy, row_order="given", **{"k": k, **requested})
    return encoded(table, job)


def encoded(table, job):
    progress = Progress(1)
    progress._inside.a_task = True  # pretend to be inside a task, so that no threads are started for small tasks
    return Prepared(job, progress, MemoryEngine(job, progress).encode(table))


def made(method, columns, k, **requested):
    """Return the labels of the method itself, before repair, suppression and improvement."""
    table = prepared(columns, k, **requested)
    found = METHODS[method].partition(table.points, table.constraints, METHODS[method].options(), 7, Progress(1))
    return found.labels.tolist()


def rows_in(columns):
    return len(next(iter(columns.values())))
