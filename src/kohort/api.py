"""The public calls: the steps of a run, one a line, no logic."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort import auditor
from kohort.auditor import Evidence, ViewColumns
from kohort.auditor.homogeneity import analyse
from kohort.auditor.value_class_graph import ReleaseView
from kohort.engines import Engine, Result, engine_for
from kohort.errors import RequestError
from kohort.inspection import Inspection, inspect_table, require_header
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.report.audit_figures import Pictures
from kohort.schema.columns import require_names, unknown_columns
from kohort.tables import frames, tables
from kohort.tables.locations import Location, location_of
from kohort.tables.tables import FileFormat, Source
from kohort.utility.loss import Loss
from kohort.utility.queries.answers import Answers
from kohort.verification.any_file import RequestedChecks
from kohort.verification.duckdb_views import columns_of, release_view

if TYPE_CHECKING:
    from kohort.comparison import Comparison
    from kohort.report.release_charts import Panels
    from kohort.utility.models.accuracy import Mined
    from kohort.utility.structure import Structure


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """A proven release and all that is known of it. `evidence` speaks of the table, or of the file if one was asked for."""

    job: Job
    evidence: Evidence
    output: Location | None
    _engine: Engine
    _result: Result
    _progress: Progress
    _table: Any = None

    def __repr__(self) -> str:
        found, verdict = self.evidence, "passed" if self.evidence.passed else "FAILED"
        figures = f"{found.rows:,} rows, {found.classes:,} classes, k={found.k}, leaf loss {self.loss.leaf:.4f}"
        return f"Release({figures}, audit {verdict})"

    @cached_property
    def table(self) -> Any:
        """The release as the kind of data frame that the source was, a pyarrow table if it was a file. Audited as it is."""
        return self._table if self._table is not None else self._engine.release_table()[0]

    @property
    def labels(self) -> NDArray[np.int64]:
        """The cluster of each row of the source, in the source's order; -1 = suppressed. Private: never publish it."""
        return self._engine.labels()

    @property
    def loss(self) -> Loss:
        return self._result.loss

    @property
    def axes(self) -> dict[str, str]:
        """What was applied to each quasi-identifier."""
        return self._result.axes

    @property
    def notes(self) -> tuple[str, ...]:
        """What the method did and why, in sentences."""
        return self._result.notes

    @property
    def answers(self) -> Answers | None:
        """What the release answers to the job's workload, beside the truth."""
        return self._result.answers

    @property
    def kept_suppressed(self) -> bool:
        """Whether the suppressed rows stay, as one class of `*`."""
        return self._result.suppressed > 0 and self.evidence.rows == self._result.rows

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> Evidence:
        """Stage the release beside `path`, audit what was staged, rename it into place; the audit's findings."""
        return self._engine.release_file(location_of(path), force)

    def mine(self, target: str, **settings: Any) -> Mined:
        """How well models trained on the release predict a column of original rows (`kohort.utility.mining.mine`; extra `ml`)."""
        from kohort.utility.models.accuracy import mine

        return mine(self._engine.aligned(), target, **settings)

    def structure(self, *, propensity: bool = False) -> Structure:
        """How far the distributions that the release tells are from those of its source; a propensity score needs extra `ml`."""
        from kohort.utility.structure import structure

        return structure(self._engine.aligned(), propensity=propensity)

    def preview(self, rows: Sequence[int] | NDArray[np.int64]) -> tuple[pa.Table, pa.Table]:
        """These rows of the source before and after, side by side. For your own screen: it shows who is who."""
        wanted = np.asarray(rows)
        known = wanted.ndim == 1 and (not wanted.size or wanted.dtype.kind in "iu")
        if not known or ((wanted < 0) | (wanted >= self._result.rows)).any():
            raise RequestError(f"Rows to show are numbered from 0 to {self._result.rows - 1}.")
        return self._engine.preview(wanted.astype(np.int64))

    def plot(self) -> Panels:
        """How many persons look alike, and how much of each column is lost: two matplotlib axes, shown by a notebook."""
        from kohort.report.release_charts import release_figure

        return release_figure(self._result.class_sizes, self.job.promise.k, self.loss.per_column)

    def _repr_html_(self) -> str:
        from kohort.report.notebook import release_html

        output = str(self.output) if self.output else None
        return release_html(self.evidence, self.loss, self.axes, output=output, method=self.job.method, k=self.job.promise.k)

    def summary(self) -> dict[str, Any]:
        """The run in one object, as `--json` prints it."""
        return {
            "rows": self.evidence.rows,
            "classes": self.evidence.classes,
            "clusters": self._result.clusters,
            "blocks": self._result.blocks,
            "suppressed": self._result.suppressed,
            "k": self.evidence.k,
            "counted_in": "persons" if self.job.names("unit") else "rows",
            "method": self.job.method,
            "told": list(self.notes),
            "engine": self._engine.name,
            "seed": self.job.seed,
            "loss": self.loss.to_dict(),
            **({} if self.answers is None else {"queries": self.answers.to_dict()}),
            "audit": self.evidence.to_dict(),
            "seconds": {step: round(seconds, 3) for step, seconds in self._progress.seconds.items()},
            "cpu_seconds": {step: round(seconds, 3) for step, seconds in self._progress.cpu_seconds.items()},
            "output": str(self.output) if self.output else None,
        }


def anonymize(
    source: Any,
    job: Job | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    *,
    output: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Progress | None = None,
    spark: Any = None,
    **settings: Any,
) -> Release:
    """Publish a version of a table in which every record hides among at least k; prove it before handing it over.

    `source` is a path, a pyarrow table, a data frame that speaks Arrow, or one of Spark's (which then runs it, as it does in
    the session `spark`). Say what is wanted by a job (object, dict or file), by settings (`quasi=["age", "zip"],
    sensitive=["disease"], k=5`), or by a job changed by settings. With `output` the release goes to that file, and only if
    its audit passes.
    """
    read_from = [source, job]
    job = Job.build(job, **settings).with_seed()
    target = location_of(output) if output is not None else None
    progress = progress or Progress(job.threads)
    source = tables.open_source(source, job.encoding, job.columns)
    engine = engine_for(job, source, progress, spark)
    if target is not None:
        engine.require_target(target, force, [*read_from, *job.files()])
    engine.read(source)
    engine.encode()
    engine.partition()
    result = engine.publish()
    if target is not None:
        return Release(job, engine.release_file(target, force), target, engine, result, progress)
    table, evidence = engine.release_table()
    return Release(job, evidence, None, engine, result, progress, table)


def compare(
    source: Any,
    job: Job | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    *,
    k: int | Sequence[int],
    methods: str | Sequence[str] = "all",
    models: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Progress | None = None,
    **settings: Any,
) -> Comparison:
    """Methods side by side on one table: loss, time, class sizes, and what each release is still good for.

    A method may have settings of its own: `methods=["gccg", "gccg:parts=4", "mondrian:effort=1"]`. `models` names a column to
    train models for (extra `ml`). With a `folder`, a run that was stopped goes on where it was, and
    the folder gets a page, a CSV file and a JSON file.
    """
    from kohort.comparison import compare_methods, variants_named

    job = Job.build(job, **settings)
    job = job if job.seed is not None else job.model_copy(update={"seed": 0})  # a run that goes on must be the same
    requested = list(k) if isinstance(k, Iterable) else [k]
    if not all(type(one) is int for one in requested):
        raise RequestError("k must be a whole number or several of them: k=[5, 10].")
    place = Path(folder) if folder is not None else None
    found = compare_methods(
        source, job, sorted({*requested}), variants_named(methods), target=models, folder=place, force=force,
        progress=progress or Progress(job.threads),
    )  # fmt: skip
    if place is not None:
        found.write(place)
    return found


def inspect(
    source: Any, *, missing: str | Sequence[str] = (), encoding: str | None = None, progress: Progress | None = None
) -> Inspection:
    """What is in this table? Types, what singles people out, and a job to start from, each guess with its reason."""
    progress = progress or Progress()
    with progress.step("read"):
        opened = tables.open_source(source, encoding, frames.index_names(source))
        table = opened.read()
        if opened.holds_text:
            require_names(table.column_names)
    tokens = (missing,) if isinstance(missing, str) else tuple(missing)
    where = os.fspath(source) if opened.is_named else None
    found = inspect_table(table, missing=tokens, encoding=encoding, source=where, progress=progress)
    if opened.holds_text:
        require_header(found)
    return found


def audit(
    source: Any,
    job: Job | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    *,
    encoding: str | None = None,
    graph: str | os.PathLike[str] | None = None,
    curves: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Progress | None = None,
    **settings: Any,
) -> Evidence:
    """Is this table k-anonymous, and how much does it tell of the sensitive columns? Reads it as it is and asks it.

    `encoding` is that of the audited file; a job speaks of the source, and releases are UTF-8. `graph` (.svg, .graphml) and
    `curves` (.svg) are files to write: which classes hold which values, and how many classes are to be expected alike.
    """
    read_from = [source, job]
    job = Job.build(job, **settings)
    pictures = Pictures(Path(graph) if graph is not None else None, Path(curves) if curves is not None else None, force)
    pictures.require([*read_from, *job.files()], job.names("sensitive"))
    progress = progress or Progress(job.threads)
    with progress.step("audit"):
        # A job speaks of the source; its identifiers and dropped columns are not in the release.
        quasi = [published for name in job.names("quasi") for published, _statistic in job.columns[name].published(name)]
        view_columns = ViewColumns(quasi, job.names("sensitive"), job.names("other"))
        release, file_format = _to_audit(tables.open_source(source, encoding, view_columns.aliases.values()))
        names = columns_of(release, file_format)
        tables.require_distinct(names)
        wrong = unknown_columns(view_columns.aliases.values(), names)
        if wrong:
            raise RequestError(wrong)
        requested = RequestedChecks.of(job, release, file_format, names)
        with release_view(
            release, file_format, view_columns, progress.threads, requested.units, requested.value_distances
        ) as run:
            evidence = auditor.audit(
                run,
                view_columns,
                job.promise,
                names,
                withheld=[*job.names("identifier"), *job.names("drop"), *job.names("unit")],
                sensitive_promises=requested.sensitive_promises,
                persons=requested.units is not None,
                missing=job.missing,
                value_distances=requested.value_distances,
            )
            evidence = replace(evidence, checks=(*evidence.checks, *requested.grid(run, view_columns), *requested.not_run))
            view = ReleaseView(run, view_columns.aliases, job.promise.k, job.missing, persons=requested.units is not None)
            alone, together = analyse(view)
            evidence = replace(evidence, homogeneity=alone, homogeneity_all=together)
            pictures.write(evidence, view)
            return evidence


def _to_audit(source: Source) -> tuple[pa.Table | Path, FileFormat | None]:
    """A file that DuckDB reads itself, with its format; otherwise a table, read as `anonymize` reads it."""
    if source.is_one_file:
        file_format = source.file_format
        if file_format is not None and file_format.is_audited_in_place:
            return Path(source.given), file_format
    return source.read(), None
