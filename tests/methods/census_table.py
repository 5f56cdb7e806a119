"""A small census table and its constraints."""

from __future__ import annotations

from kohort import datasets
from kohort.constraints.constraints import Constraints
from kohort.encoding import encode as encoding
from kohort.job.job import Job
from kohort.schema import columns as schema

TABLE = datasets.census(900, quasi=4)
QUASI = TABLE.column_names[:4]


def bound(**requested):
    job = Job.build(quasi=QUASI, sensitive="s1", seed=7, **{"k": 5, **requested})
    points = encoding.encode(TABLE, schema.resolve(job.columns, TABLE))
    return job, points, Constraints(job.promise, points.rows, suppress=job.suppress)
