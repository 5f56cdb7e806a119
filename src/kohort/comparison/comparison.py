"""Methods side by side on one table: what each loses, how long it takes, what its release is still good for."""

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
from kohort.comparison.class_rectangles import two_columns
from kohort.comparison.journal import Journal, mark_of
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
WARM_UP = 400  # rows on which kernels are compiled, so that no method's seconds hold another's compiling


@dataclass(frozen=True)
class Comparison:
    """All entries, in the order of the methods and of k."""

    entries: tuple[Entry, ...]
    rows: int
    quasi: tuple[str, ...]
    workload: str
    """Where the queries come from."""
    boxes: tuple[str, str] = ("", "")
    """A picture of two columns, and what it shows."""

    def to_dict(self) -> dict[str, Any]:
        facts = {"rows": self.rows, "quasi": list(self.quasi), "workload": self.workload}
        return {**facts, "entries": [entry.to_dict() for entry in self.entries]}

    @property
    def advice(self) -> Advice | None:
        """Which method to take, and why; None if none could keep what is promised."""
        return advise(self.entries)

    @property
    def refusal(self) -> str:
        """Why the first method that made no release made none; empty if all did."""
        return next((entry.refused for entry in self.entries if entry.refused), "")

    def table(self) -> pa.Table:
        """One row per method and k."""
        rows = [entry.row() for entry in self.entries]
        names = dict.fromkeys(name for row in rows for name in row)
        return pa.table({name: [row.get(name) for row in rows] for name in names})

    def html(self) -> str:
        """One page that needs nothing else."""
        boxes, facts = self.boxes
        return page(self.entries, rows=self.rows, quasi=self.quasi, workload=self.workload, boxes=boxes, boxes_told=facts)

    def write(self, folder: Path) -> list[Path]:
        """The page, and its numbers as CSV and JSON, each in place as a whole."""
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
    """Each method at each k; with a folder, what was found before is not done again."""
    _require(job, ks, variants)
    if target is not None:
        require_models()
    table, _origin = tables.read(source, job.encoding, job.columns)
    schema = resolve(job.columns, table, **job.binding())
    encode(table, schema)  # a column that cannot be read is a mistake, not a finding
    if target is not None:
        require_target(table, schema, target)
    given = job.workload is not None
    workload = Workload.load(job.workload) if job.workload is not None else _drawn(table, schema, job)
    requested = {name: setting for name, setting in job.to_dict().items() if name != "threads"}
    queries = workload.to_dict() if workload else None
    facts = {"version": version("kohort"), "job": requested, "workload": queries, "target": target}
    journal = Journal(folder, mark_of(table, facts), force=force)
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
    many = f"{count:,} {'random ' * (not given)}quer{'y' if count == 1 else 'ies'}{' of the workload given' * given}"
    return Comparison(entries, table.num_rows, tuple(job.names("quasi")), many, two_columns(table, job, ks[-1]))


def _require(job: Job, ks: Sequence[int], variants: Sequence[Variant]) -> None:
    """What was written for this comparison must be right; that a job does not suit a method is a finding."""
    if not ks or not variants:
        raise RequestError("A comparison needs at least one k and one method.")
    for k in ks:
        Job.build(job, k=k)
    for variant in variants:
        if variant.settings:
            variant.job(job, ks[0])


def _drawn(table: pa.Table, schema: Schema, job: Job) -> Workload | None:
    """Random queries on the quasi-identifiers that hold something; None if all are empty."""
    some = [name for name in schema.quasi if domain_of(table, schema, name).values.is_valid().true_count]
    if not some:
        return None
    return random_workload(table, schema, queries=RANDOM_QUERIES, columns=some, seed=job.seed or 0)


def _entry(
    table: pa.Table, job: Job, variant: Variant, k: int, questions: Questions | None, target: str | None, progress: Progress
) -> Entry:
    """One method at one k; a refusal is a finding too."""
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
    """Compile what a method needs, on a few rows."""
    with suppress(KohortError):  # the whole table will say it better
        anonymize(table.slice(0, WARM_UP), Job.build(job, k=2), progress=Progress(1))
