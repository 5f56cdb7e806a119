"""The demo: one table's way from patients to a proven release, told on the terminal. The patients are made up."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from kohort import api, datasets
from kohort.errors import MachineError, RequestError
from kohort.progress import Progress
from kohort.release import Release

BEFORE = ("name", "age", "sex", "zip", "occupation")
AFTER = ("age", "sex", "zip", "occupation", "diagnosis")
WIDE = 120  # columns of a terminal on which both tables fit side by side
CANDIDATES = 200  # cohorts looked at to find one worth showing


def tell(folder: Path, rows: int, k: int, progress: Progress) -> None:
    """Make the sample, anonymize it through its files as a user would, and say what happened."""
    console = Console(highlight=False)
    sample = datasets.hospital(rows)
    try:
        _require_own(folder, ",".join(sample.table.column_names))
        source, job = sample.write(folder, k=k)
    except OSError as error:
        raise MachineError(f"{folder} could not be written: {error.strerror}.") from None
    target = folder / "release.csv"
    console.print(
        f"A hospital with [bold]{rows:,}[/] patients, made up by formula. Name and birth date identify; age, sex, zip and "
        "occupation are what a neighbour may know; diagnosis and cost are nobody's business.\n"
    )
    release = api.anonymize(source, job, output=target, force=True, progress=progress)
    again = api.audit(target, job, progress=progress)

    before, after = release.preview(_cohort_to_show(release))
    _show(console, before, after)
    console.print(f"These {len(before)} patients now look alike to anyone who knows their age, sex, zip and occupation.\n")
    evidence, loss = release.evidence, release.loss
    columns = ", ".join(f"{name} {share:.3f}" for name, share in loss.per_column.items())
    console.print(f"[bold]k = {evidence.k}[/]: every patient hides among at least that many ({evidence.classes:,} classes).")
    console.print(f"[bold]loss {loss.leaf:.3f}[/] of a cell on average, 0 = nothing, 1 = everything ({columns}).\n")
    console.print("The file was audited before it got its name, by SQL that shares no code with the method:")
    console.print(_checks(release))
    console.print(f"and once more as anyone can, with `kohort audit`: k = {again.k}, {'passed' if again.passed else 'FAILED'}.\n")
    console.print("Where things are:")
    for path, what in (
        (source, "the patients (never publish this)"),
        (folder / "trees", "the trees of sex, zip and occupation"),
        (job, "what was asked"),
        (target, "the release"),
    ):
        console.print(f"  {path!s:<28} {what}", soft_wrap=True, markup=False)
    command = "kohort" if shutil.which("kohort") else os.path.relpath(sys.argv[0])
    yours = f"{command} anonymize YOUR.csv -o release.csv --quasi age,sex --sensitive diagnosis --k {k}"
    console.print(f"\nNow yours:\n  {yours}", soft_wrap=True, markup=False)


def _require_own(folder: Path, header: str) -> None:
    """The demo replaces the files of an earlier demo, and nothing else."""
    there = [name for name in ("patients.csv", "job.toml", "release.csv", "trees") if (folder / name).exists()]
    ours = "patients.csv" in there and (folder / "patients.csv").read_bytes().startswith(f"{header}\n".encode())
    if there and not ours:
        raise RequestError(f"{folder} holds files that the demo did not make ({', '.join(there)}). Choose another --folder.")


def _cohort_to_show(release: Release) -> NDArray[np.int64]:
    """The rows of a small cohort in which as many columns as possible were widened but none was lost altogether."""
    sizes = np.bincount(release.labels)
    smallest = np.argsort(sizes, kind="stable")[:CANDIDATES]
    grouped = np.argsort(release.labels, kind="stable")
    ends = np.cumsum(sizes)
    best, best_score = grouped[:0], -1
    for label in smallest:
        rows = grouped[ends[label] - sizes[label] : ends[label]]
        before, after = release.preview(rows)
        facts = [(set(before[name].to_pylist()), after[name][0].as_py()) for name in release.axes]
        score = sum(len(own) > 1 for own, text in facts) if all(text != "*" for _own, text in facts) else 0
        if score > best_score:
            best, best_score = rows, score
    return best


def _show(console: Console, before: pa.Table, after: pa.Table) -> None:
    """Both tables in one where the terminal is wide enough, one below the other where it is not."""
    old, new = before.select(BEFORE), after.select(AFTER)
    if console.width >= WIDE:
        console.print(_drawn("One cohort, before and after", old, new))
    else:
        console.print(_drawn("One cohort, before", old))
        console.print(_drawn("the same, after", new))


def _checks(release: Release) -> Table:
    drawn = Table.grid(padding=(0, 2), pad_edge=True)
    for check in release.evidence.checks:
        found = "-" if check.found is None else check.found
        drawn.add_row(check.verdict, check.name, f"required {check.required}", f"found {found}", check.meaning)
    return drawn


def _drawn(title: str, *tables: pa.Table) -> Table:
    drawn = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    for number, table in enumerate(tables):
        if number:
            drawn.add_column("", style="dim")
        for name in table.column_names:
            drawn.add_column(name, no_wrap=True)
    for rows in zip(*(table.to_pylist() for table in tables), strict=True):
        cells: list[str] = []
        for number, row in enumerate(rows):
            cells += ["->"] if number else []
            cells += ["" if value is None else str(value) for value in row.values()]
        drawn.add_row(*cells)
    return drawn
