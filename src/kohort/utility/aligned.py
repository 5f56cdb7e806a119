"""A release together with its source rows, in the same order. Models and distributions are measured on it."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from kohort.schema.columns import Schema
from kohort.utility.queries.value_domains import Domain, domain_of


@dataclass(frozen=True, eq=False)
class AlignedTables:
    """The source rows that were published, and the release, in the same order. Private: it links people to published rows."""

    source: pa.Table
    release: pa.Table
    schema: Schema
    whole: pa.Table | None = None
    """The whole source, suppressed rows included. Ranges and trees that were made from values depend on all rows."""

    def domain(self, name: str) -> Domain:
        """Return the possible values of a column."""
        return domain_of(self.source if self.whole is None else self.whole, self.schema, name)
