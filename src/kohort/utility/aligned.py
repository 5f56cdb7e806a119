"""A release beside the rows that it was made from: what models and distributions are measured on."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from kohort.schema.columns import Schema
from kohort.utility.queries.value_domains import Domain, domain_of


@dataclass(frozen=True, eq=False)
class AlignedTables:
    """The rows of a source that were released, and what is published of them, in one order. It shows who is who."""

    source: pa.Table
    release: pa.Table
    schema: Schema
    whole: pa.Table | None = None
    """The source with what was left out of the release: ranges and trees that were made from values are those of all of them."""

    def domain(self, name: str) -> Domain:
        """What a column can hold."""
        return domain_of(self.source if self.whole is None else self.whole, self.schema, name)
