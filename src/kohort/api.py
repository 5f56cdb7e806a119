"""The public functions: the steps of a run, one a line, no logic."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kohort.auditor import Evidence
from kohort.errors import RequestError
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.tables import frames, tables
from kohort.tables.locations import location_of

if TYPE_CHECKING:
    from kohort.comparison.comparison import Comparison
    from kohort.inspection.inspection import Inspection
    from kohort.release import Release


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
    from kohort.engines.choose import engine_for
    from kohort.release import Release

    read_from = [source, job]
    job = Job.build(job, **settings).with_seed()
    target = location_of(output) if output is not None else None
    progress = progress or Progress(job.threads)
    opened = tables.open_source(source, job.encoding, job.columns)
    engine = engine_for(job, opened, progress, spark)
    if target is not None:
        engine.require_target(target, force, [*read_from, *job.files()])
    encoded = engine.encode(opened)
    partitioned = engine.partition(encoded)
    publication = engine.publish(partitioned)
    if target is not None:
        evidence, table = publication.release_file(target, force), None
    else:
        table, evidence = publication.release_table()
    return Release(job, evidence, target, publication, engine.name, progress, table)


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
    from kohort.comparison.comparison import compare_methods
    from kohort.comparison.variants import variants_named

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
    from kohort.inspection.inspection import inspect_table, require_header
    from kohort.schema.columns import require_names

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
    from kohort.report.audit_figures import Pictures
    from kohort.verification.any_file import audit_file

    read_from = [source, job]
    job = Job.build(job, **settings)
    pictures = Pictures(Path(graph) if graph is not None else None, Path(curves) if curves is not None else None, force)
    pictures.require([*read_from, *job.files()], job.names("sensitive"))
    progress = progress or Progress(job.threads)
    with progress.step("audit"):
        return audit_file(source, job, encoding, progress.threads, pictures.write)
