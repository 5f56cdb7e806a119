"""Audit of a release that kohort made, compared with its source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from kohort import auditor
from kohort.auditor import Evidence, Original, Run
from kohort.auditor.promise_checks import ValueDistance
from kohort.encoding.axes import Axis
from kohort.encoding.sensitive import SensitiveColumn
from kohort.errors import AuditError
from kohort.job.job import Job
from kohort.schema.columns import Schema
from kohort.tables import tables
from kohort.tables.tables import FileFormat
from kohort.verification.duckdb_views import columns_of, release_view
from kohort.verification.expected import Claims, value_distances_of


@dataclass(frozen=True)
class Proof:
    """All facts that the auditor needs to check a release against its source."""

    job: Job
    schema: Schema
    arrow_schema: pa.Schema
    """Types of the source columns."""
    claims: Claims
    original: Original
    value_distances: Mapping[str, ValueDistance]

    @classmethod
    def of(
        cls,
        job: Job,
        schema: Schema,
        axes: Sequence[Axis],
        arrow_schema: pa.Schema,
        rows: int,
        sensitive: Sequence[SensitiveColumn],
    ) -> Proof:
        """Collect the facts. `rows` is the number of rows that the release must have."""
        claims = Claims.of(schema)
        return cls(
            job, schema, arrow_schema, claims, claims.original(schema, axes, arrow_schema, rows), value_distances_of(sensitive)
        )

    @property
    def sources(self) -> list[str]:
        """The source columns that the auditor needs."""
        return list(dict.fromkeys([*self.claims.sources.values(), *self.schema.named("unit")]))

    def originals(
        self, column: Callable[[str], pa.Array | pa.ChunkedArray], file_format: FileFormat | None
    ) -> dict[str, pa.Array | pa.ChunkedArray]:
        """Return the source cells by alias. `column` returns a source column with its rows in the order of the release."""
        cells = {
            alias: self.claims.cell(alias, column(source), self.original, file_format)
            for alias, source in self.claims.sources.items()
        }
        for unit in self.schema.named("unit"):  # the person of each row: counted, never published
            cells["u1"] = tables.as_text(column(unit))
        return cells

    def audit(
        self,
        release: pa.Table | Path,
        file_format: FileFormat | None,
        originals: Mapping[str, pa.ChunkedArray] | Path,
        threads: int,
        memory: int | None = None,
    ) -> Evidence:
        """Audit the release with DuckDB."""
        with release_view(
            release, file_format, self.claims.view_columns, threads, originals, self.value_distances, memory
        ) as run:
            return self.ask(run, columns_of(release, file_format), file_format)

    def ask(self, run: Run, columns: Sequence[str], file_format: FileFormat | None) -> Evidence:
        """Audit the release with a function that runs SQL on the views."""
        return auditor.audit(
            run,
            self.claims.view_columns,
            self.job.promise,
            columns,
            self.original,
            sensitive_promises=self.job.sensitive_promises(),
            persons=bool(self.schema.named("unit")),
            missing=self.claims.missing(self.schema, self.arrow_schema, file_format),
            value_distances=self.value_distances,
        )


def require_passed(evidence: Evidence) -> None:
    """Raise an error if a check failed, so that the release is not published."""
    failures = evidence.failures()
    if failures:
        text = "; ".join(f"{check.name}: required {check.required}, found {check.found}" for check in failures)
        raise AuditError(f"The release failed the audit, so nothing was published ({text}). Try another method (--method).")
