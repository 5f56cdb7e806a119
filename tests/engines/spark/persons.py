"""Tables of people for the Spark tests."""

from __future__ import annotations

import pyarrow as pa

NAMES = ["name", "age", "town", "ill"]


def table_of(rows):
    """Return rows as a table with the columns `NAMES`."""
    return pa.table(list(map(pa.array, zip(*rows, strict=True))), NAMES)
