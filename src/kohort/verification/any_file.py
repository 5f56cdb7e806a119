"""Audit of a file of any origin: check the promises of a job on the file alone, without its source."""

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

NO_UNIT = "the file does not say which rows belong to the same person."


def audit_file(
    source: Any, job: Job, encoding: str | None, threads: int, draw: Callable[[Evidence, ReleaseView], None]
) -> Evidence:
    """Audit a file or table. `draw` is called with the result while the file can still be queried, to write pictures."""
    # The job describes the source. Its identifiers and dropped columns are not in the release.
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
        per_column, joint = analyse(view)
        checks = (*evidence.checks, *requested.grid(run, view_columns), *requested.not_run)
        evidence = replace(evidence, checks=checks, homogeneity=per_column, homogeneity_all=joint)
        draw(evidence, view)
        return evidence


def _audited_in_place(source: Source) -> tuple[pa.Table | Path, FileFormat | None]:
    """Return the path and format of a file that DuckDB can read, otherwise a table, read in the same way as for `anonymize`."""
    if source.is_one_file:
        file_format = source.file_format
        if file_format is not None and file_format.is_audited_in_place:
            return Path(source.given), file_format
    return source.read(), None


@dataclass(frozen=True)
class RequestedChecks:
    """The promises of a job that can be checked on a file, and checks for those that cannot."""

    sensitive_promises: Mapping[str, SensitivePromise]
    value_distances: Mapping[str, ValueDistance]
    units: Mapping[str, pa.ChunkedArray] | None
    """The unit column, if the file contains it (it should not)."""
    steps: Mapping[str, Decimal]
    """By column: the step of its grid. Its ranges must start and end at multiples of the step."""
    not_run: Sequence[Check]

    @classmethod
    def of(cls, job: Job, release: pa.Table | Path, file_format: FileFormat | None, names: Sequence[str]) -> RequestedChecks:
        """Return the checks of a job on a file with these columns."""
        sensitive_promises, not_run, units = job.sensitive_promises(), [], None
        for unit in job.names("unit"):
            if unit in names:
                units = {"u1": tables.as_text(_columns(release, file_format, [unit]).column(unit))}
                continue
            # This check fails, because the job requests a count of people, and a count of rows is not enough.
            meaning = f"Rows were counted, because {NO_UNIT} To accept a count of rows, set drop (--drop {unit})."
            not_run.append(Check("persons", "seen", "not in the file", "fail", meaning))
            # Shares of rows differ from shares of people. Only the number of different values is the same.
            for name, requested in sensitive_promises.items():
                unchecked = [promise for promise in requested.requested if promise != "l"]
                not_run += [Check(f"{promise} {name}", None, None, "not run", f"Not run: {NO_UNIT}") for promise in unchecked]
            sensitive_promises = {name: SensitivePromise(l=requested.l) for name, requested in sensitive_promises.items()}
        quasi = [job.columns[name] for name in job.names("quasi")]
        untyped = [one for one in quasi if one.value_type is None and one.step is None and one.hierarchy is None]
        if job.ranges == "grid" and untyped:
            meaning = "Not run: the job has columns without type and step, so their grid is not known. Set type (--type)."
            not_run.append(Check("grid", 0, None, "not run", meaning))
        return cls(
            sensitive_promises, _value_distances(job, release, file_format, sensitive_promises), units, _steps(job), not_run
        )

    def grid(self, run: Run, view_columns: ViewColumns) -> list[Check]:
        """Check whether ranges start and end on the grid of the job, if it has one."""
        steps = {alias: self.steps[name] for alias, name in view_columns.aliases.items() if name in self.steps}
        return [grid.check(run, steps, commas=steps)] if steps else []


def _value_distances(
    job: Job, release: pa.Table | Path, file_format: FileFormat | None, sensitive_promises: Mapping[str, SensitivePromise]
) -> dict[str, ValueDistance]:
    """Return how to measure distances between values, for the columns that need a tree or an order."""
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
    """Return the step of every column of numbers. The job must give its step or type: a published file does not show the type."""
    known = {name: job.columns[name] for name in job.names("quasi") if job.columns[name].hierarchy is None}
    numbers = {
        name: column for name, column in known.items() if column.step is not None or column.value_type in ("integer", "decimal")
    }
    schema = Schema(job.columns, tuple(numbers), {}, ranges=job.ranges)
    steps = {name: schema.step(name, whole=column.value_type == "integer") for name, column in numbers.items()}
    return {name: step for name, step in steps.items() if step is not None}


def _columns(release: pa.Table | Path, file_format: FileFormat | None, names: list[str]) -> pa.Table:
    return release.select(names) if isinstance(release, pa.Table) else tables.read_columns(release, known(file_format), names)
