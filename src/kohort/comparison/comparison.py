"""Compare methods on one table: how much detail each loses, how long it takes, how useful its release is."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort.api import anonymize
from kohort.comparison.group_rectangles import two_columns
from kohort.comparison.journal import Journal, fingerprint
from kohort.comparison.variants import Variant
from kohort.encoding.encode import encode
from kohort.errors import KohortError, PromiseError, RequestError
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.report.comparison_page import Advice, advise, page
from kohort.report.comparison_rows import Entry
from kohort.schema.columns import Schema, resolve
from kohort.schema.workload import Workload
from kohort.tables import staging, tables
from kohort.utility.aligned import AlignedTables
from kohort.utility.models.accuracy import CLUSTERS, clusterings_agree, mine, require_models, require_target
from kohort.utility.queries.answers import Questions
from kohort.utility.queries.random_workload import random_workload
from kohort.utility.queries.value_domains import domain_of
from kohort.utility.structure import structure

RANDOM_QUERIES = 200
WARM_UP = 400  # rows of a first run that compiles the kernels, so that measured times do not include compiling


@dataclass(frozen=True)
class Comparison:
    """Results of several methods on one table, made by `kohort.compare`.

    Attributes
    ----------
    entries : tuple of Entry
        One entry for each method and k, ordered by method and then by k.
    rows : int
        Number of rows of the table.
    quasi : tuple of str
        Names of the quasi-identifiers.
    workload : str
        Number and origin of the queries, in words.
    boxes : tuple of (str, str)
        Chart of the groups on two columns as SVG, and its caption. Both are empty if there is no chart.

    Examples
    --------
    >>> import kohort
    >>> sample = kohort.datasets.hospital(100)
    >>> found = kohort.compare(sample.table, sample.job, k=5, methods=["mondrian", "datafly"])
    >>> [(entry.method, entry.k) for entry in found.entries]
    [('mondrian', 5), ('datafly', 5)]
    >>> found.advice.method
    'mondrian'

    """

    entries: tuple[Entry, ...]
    rows: int
    quasi: tuple[str, ...]
    workload: str
    boxes: tuple[str, str] = ("", "")

    def __repr__(self) -> str:
        methods, ks = {entry.method for entry in self.entries}, sorted({entry.k for entry in self.entries})
        advised = f", use {self.advice.method!r}" if self.advice else ""
        return f"Comparison({len(methods)} methods, k = {', '.join(map(str, ks))}, {self.rows:,} rows{advised})"

    def to_dict(self) -> dict[str, Any]:
        """Return all results as a dictionary that JSON can represent.

        Returns
        -------
        dict
            `rows`, `quasi`, `workload`, and `entries` with one dictionary for each method and k.

        """
        facts = {"rows": self.rows, "quasi": list(self.quasi), "workload": self.workload}
        return {**facts, "entries": [entry.to_dict() for entry in self.entries]}

    @property
    def advice(self) -> Advice | None:
        """The recommended method and the reasons; None if no method could keep the promises."""
        return advise(self.entries)

    @property
    def refusal(self) -> str:
        """Error message of the first method that made no release; empty if all methods made one."""
        return next((entry.refused for entry in self.entries if entry.refused), "")

    def table(self) -> pa.Table:
        """Return the results as a table with one row for each method and k.

        Returns
        -------
        pyarrow.Table

        """
        rows = [entry.row() for entry in self.entries]
        names = dict.fromkeys(name for row in rows for name in row)
        return pa.table({name: [row.get(name) for row in rows] for name in names})

    def html(self) -> str:
        """Return the results as one HTML page that loads no other file.

        Returns
        -------
        str

        """
        boxes, caption = self.boxes
        return page(self.entries, rows=self.rows, quasi=self.quasi, workload=self.workload, boxes=boxes, boxes_caption=caption)

    def write(self, folder: Path) -> list[Path]:
        """Write `comparison.html`, `comparison.json` and `comparison.csv`. Existing files are replaced.

        A file is moved into the folder only when it is complete.

        Parameters
        ----------
        folder : Path
            Folder for the files.

        Returns
        -------
        list of Path
            The files written.

        """
        files = {
            "comparison.html": self.html(),
            "comparison.json": json.dumps(self.to_dict(), indent=2),
            "comparison.csv": _csv(self.table()),
        }
        for name, text in files.items():
            with staging.staged(folder / name, force=True) as part:
                part.write_text(text, encoding="utf-8")
        return [folder / name for name in files]


def _csv(table: pa.Table) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows(["" if cell is None else cell for cell in row.values()] for row in table.to_pylist())
    return out.getvalue()


def compare_methods(
    source: Any,
    job: Job,
    ks: Sequence[int],
    variants: Sequence[Variant],
    *,
    target: str | None = None,
    folder: Path | None = None,
    force: bool = False,
    progress: Progress,
) -> Comparison:
    """Run each method at each k. With a folder, results that an earlier run stored there are reused."""
    _require(job, ks, variants)
    if target is not None:
        require_models()
    table, _origin = tables.read(source, job.encoding, job.columns)
    schema = resolve(job.columns, table, **job.binding())
    encode(table, schema)  # a column that cannot be read is an error of the request, not a result of a method
    if target is not None:
        require_target(table, schema, target)
    given = job.workload is not None
    workload = Workload.load(job.workload) if job.workload is not None else _drawn(table, schema, job)
    requested = {name: setting for name, setting in job.to_dict().items() if name != "threads"}
    queries = workload.to_dict() if workload else None
    facts = {"version": version("kohort"), "job": requested, "workload": queries, "target": target}
    journal = Journal(folder, fingerprint(table, facts), force=force)
    questions = Questions(workload, table, schema) if workload else None
    pairs = [(variant, k) for k in ks for variant in variants]
    with progress.step("compare", total=len(pairs)):
        done = progress.slot()
        for variant, k in pairs:
            progress.check()
            if (variant.name, k) not in journal.entries:
                journal.add(_entry(table, job, variant, k, questions, target, progress))
            done[0] += 1
    entries = tuple(journal.entries[variant.name, k] for variant in variants for k in ks)
    count = len(workload or ())
    queries_text = f"{count:,} {'random ' * (not given)}quer{'y' if count == 1 else 'ies'}{' of the given workload' * given}"
    return Comparison(entries, table.num_rows, tuple(job.names("quasi")), queries_text, two_columns(table, job, ks[-1]))


def _require(job: Job, ks: Sequence[int], variants: Sequence[Variant]) -> None:
    """Refuse wrong values of k and wrong settings of methods. A job that a method cannot run is a result, not an error."""
    if not ks or not variants:
        raise RequestError("A comparison needs at least one k and one method. Set k (--k 5,10) and methods (--methods all).")
    for k in ks:
        Job.build(job, k=k)
    for variant in variants:
        if variant.settings:
            variant.job(job, ks[0])


def _drawn(table: pa.Table, schema: Schema, job: Job) -> Workload | None:
    """Return random queries on the quasi-identifiers that have values; None if all quasi-identifiers are empty."""
    some = [name for name in schema.quasi if domain_of(table, schema, name).values.is_valid().true_count]
    if not some:
        return None
    return random_workload(table, schema, queries=RANDOM_QUERIES, columns=some, seed=job.seed or 0)


def _entry(
    table: pa.Table, job: Job, variant: Variant, k: int, questions: Questions | None, target: str | None, progress: Progress
) -> Entry:
    """Run one method at one k. If it makes no release, the entry has the error message."""
    try:
        own = variant.job(job, k).model_copy(update={"engine": "memory", "master": None})
        _warm_up(table, own)
        release = anonymize(table, own, progress=Progress(progress.threads))
    except (PromiseError, RequestError) as error:
        return Entry(variant.name, k, refused=str(error))
    summary, aligned = release.summary(), release.aligned()
    return Entry(
        variant.name,
        k,
        loss=summary["loss"],
        clusters=summary["clusters"],
        classes=summary["classes"],
        smallest=summary["k"],
        suppressed=summary["suppressed"],
        seconds=summary["cpu_seconds"]["partition"],
        queries=questions.ask(aligned.release).to_dict() if questions else None,
        structure=structure(aligned, propensity=target is not None).to_dict() if aligned.source.num_rows else None,
        models=mine(aligned, target).to_dict() if target is not None else None,
        agreement=_agreement(aligned) if target is not None else None,
    )


def _agreement(aligned: AlignedTables) -> float | None:
    return clusterings_agree(aligned) if aligned.source.num_rows >= CLUSTERS else None


def _warm_up(table: pa.Table, job: Job) -> None:
    """Compile the kernels that a method needs, by running it on a few rows."""
    with suppress(KohortError):  # the run on the whole table reports the error
        anonymize(table.slice(0, WARM_UP), Job.build(job, k=2), progress=Progress(1))
