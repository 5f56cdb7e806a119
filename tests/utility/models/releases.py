"""Small releases for models."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kohort.job.job import Job
from kohort.schema import columns as schema

PETS = [("cat", "furred", "*"), ("dog", "furred", "*"), ("hare", "furred", "*"), ("carp", "scaled", "*"), ("newt", "other", "*")]


def bound(table, **requested):
    """Return the schema of a table."""
    job = Job.build(**requested)
    return schema.resolve(job.columns, table, missing=job.missing, ranges=job.ranges)


def people(rows=300, seed=1):
    """Draw rows whose columns ill and cost mostly depend on age and pet."""
    rng = np.random.default_rng(seed)
    age, pet = rng.integers(18, 90, rows), rng.integers(0, 5, rows)
    ill = (age / 20 + pet + rng.normal(size=rows)) > 5
    cost = 10 * age + 100 * pet + rng.integers(0, 50, rows)
    table = pa.table({"name": [f"n{row}" for row in range(rows)], "age": age, "pet": [PETS[one][0] for one in pet]})
    return table.append_column("ill", pa.array(np.where(ill, "yes", "no"))).append_column("cost", pa.array(cost))
