"""Rows of persons as tables and CSV files."""

from __future__ import annotations

import pyarrow as pa

NAMES = ["name", "age", "town", "ill"]


def table_of(rows):
    return pa.table(list(map(pa.array, zip(*rows, strict=True))), NAMES)
