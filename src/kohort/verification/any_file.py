"""The audit of a file that anyone made: what a job promises of it, checked on the file alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort import auditor
from kohort.auditor import Check, Evidence, Run, ViewColumns, grid
from kohort.auditor.homogeneity import analyse
from kohort.auditor.promise_checks import ValueDistance
from kohort.auditor.value_class_graph import ReleaseView
from kohort.encoding import sensitive
from kohort.errors import RequestError
from kohort.job.job import Job
from kohort.schema.columns import Schema, load_trees, unknown_columns
from kohort.schema.promises import SensitivePromise
from kohort.tables import tables
from kohort.tables.tables import FileFormat, Source
from kohort.verification.duckdb_views import columns_of, known, release_view
from kohort.verification.expected import value_distances_of

UNSEEN = "rows were counted: which of them belong to one person cannot be seen in the file"


def audit_file(
    source: Any, job: Job, encoding: str | None, threads: int, draw: Callable[[Evidence, ReleaseView], None]
) -> Evidence:
    """What the auditor finds in a file or table. `draw` writes pictures of it while the file can still be queried."""
    # A job is about the source; its identifiers and dropped columns are not in the release.
    quasi = [published for name in job.names("quasi") for published, _statistic in job.columns[name].published(name)]
    view_columns = ViewColumns(quasi, job.names("sensitive"), job.names("other"))
    release, file_format = _audited_in_place(tables.open_source(source, encoding, view_columns.aliases.values()))
    names = columns_of(release, file_format)
    tables.require_distinct(names)
    wrong = unknown_columns(view_columns.aliases.values(), names)
    if wrong:
        raise RequestError(wrong)
    requested = RequestedChecks.of(job, release, file_format, names)
    persons = requested.units is not None
    with release_view(release, file_format, view_columns, threads, requested.units, requested.value_distances) as run:
        evidence = auditor.audit(
            run,
            view_columns,
            job.promise,
            names,
            withheld=[*job.names("identifier"), *job.names("drop"), *job.names("unit")],
            sensitive_promises=requested.sensitive_promises,
            persons=persons,
            missing=job.missing,
            value_distances=requested.value_distances,
        )
        view = ReleaseView(run, view_columns.aliases, job.promise.k, job.missing, persons=persons)
        alone, together = analyse(view)
        checks = (*evidence.checks, *requested.grid(run, view_columns), *requested.not_run)
        evidence = replace(evidence, checks=checks, homogeneity=alone, homogeneity_all=together)
        draw(evidence, view)
        return evidence


def _audited_in_place(source: Source) -> tuple[pa.Table | Path, FileFormat | None]:
    """A file that DuckDB reads itself, with its format; otherwise a table, read as `anonymize` reads it."""
    if source.is_one_file:
        file_format = source.file_format
        if file_format is not None and file_format.is_audited_in_place:
            return Path(source.given), file_format
    return source.read(), None


@dataclass(frozen=True)
class RequestedChecks:
    """The promises that a file can be asked about."""

    sensitive_promises: Mapping[str, SensitivePromise]
    value_distances: Mapping[str, ValueDistance]
    units: Mapping[str, pa.ChunkedArray] | None
    """The column that tells persons apart, where the file holds it although it should not."""
    steps: Mapping[str, Decimal]
    """By column: the step on whose multiples its ranges must end."""
    not_run: Sequence[Check]

    @classmethod
    def of(cls, job: Job, release: pa.Table | Path, file_format: FileFormat | None, names: Sequence[str]) -> RequestedChecks:
        sensitive_promises, not_run, units = job.sensitive_promises(), [], None
        for unit in job.names("unit"):
            if unit in names:
                units = {"u1": tables.as_text(_columns(release, file_format, [unit]).column(unit))}
                continue
            # Not passed: who asks for persons must not be told that rows are enough.
            not_run.append(Check("persons", "seen", "not in the file", "fail", f"{UNSEEN}; --drop {unit} asks for rows"))
            # Shares of rows are not those of persons; the number of different values is the same.
            for name, requested in sensitive_promises.items():
                unseen = [promise for promise in requested.requested if promise != "l"]
                not_run += [Check(f"{promise} {name}", None, None, "not run", UNSEEN) for promise in unseen]
            sensitive_promises = {name: SensitivePromise(l=requested.l) for name, requested in sensitive_promises.items()}
        quasi = [job.columns[name] for name in job.names("quasi")]
        untyped = [one for one in quasi if one.value_type is None and one.step is None and one.hierarchy is None]
        if job.ranges == "grid" and untyped:
            not_run.append(Check("grid", 0, None, "not run", "columns whose type the job does not say: their step is not known"))
        return cls(
            sensitive_promises, _value_distances(job, release, file_format, sensitive_promises), units, _steps(job), not_run
        )

    def grid(self, run: Run, view_columns: ViewColumns) -> list[Check]:
        """Whether ranges end on the grid that the job asks for."""
        steps = {alias: self.steps[name] for alias, name in view_columns.aliases.items() if name in self.steps}
        return [grid.check(run, steps, commas=steps)] if steps else []


def _value_distances(
    job: Job, release: pa.Table | Path, file_format: FileFormat | None, sensitive_promises: Mapping[str, SensitivePromise]
) -> dict[str, ValueDistance]:
    """How far values are apart, where that takes a tree or an order."""
    measured = {
        name: SensitivePromise(t=requested.t, t_distance=requested.t_distance)
        for name, requested in sensitive_promises.items()
        if name in job.measured()
    }
    measured = {name: requested for name, requested in measured.items() if requested.t is not None}
    if not measured:
        return {}
    trees, problems = load_trees(job.columns, job.hierarchies, measured)
    if problems:
        raise RequestError(problems)
    schema = Schema(job.columns, tuple(measured), trees, job.missing)
    return value_distances_of(sensitive.encode_sensitive(_columns(release, file_format, list(measured)), schema, measured))


def _steps(job: Job) -> dict[str, Decimal]:
    """The grid of every column that is known to hold numbers, by its step or its type: a file does not tell whole ones apart."""
    known = {name: job.columns[name] for name in job.names("quasi") if job.columns[name].hierarchy is None}
    numbers = {
        name: column for name, column in known.items() if column.step is not None or column.value_type in ("integer", "decimal")
    }
    schema = Schema(job.columns, tuple(numbers), {}, ranges=job.ranges)
    steps = {name: schema.step(name, whole=column.value_type == "integer") for name, column in numbers.items()}
    return {name: step for name, step in steps.items() if step is not None}


def _columns(release: pa.Table | Path, file_format: FileFormat | None, names: list[str]) -> pa.Table:
    return release.select(names) if isinstance(release, pa.Table) else tables.read_columns(release, known(file_format), names)
