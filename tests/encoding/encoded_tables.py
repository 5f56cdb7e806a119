"""Helpers to encode tables in tests."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kohort.job.job import Job
from kohort.schema.columns import Schema, resolve


def bind(table: pa.Table, **given: Any) -> Schema:
    """Return the schema of a table for these job settings."""
    job = Job.build(**given)
    return resolve(job.columns, table, missing=job.missing)
