"""The demo: anonymize a generated hospital table and show each step on the terminal."""

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
from kohort.wording import percent

BEFORE = ("name", "age", "sex", "zip", "occupation")
AFTER = ("age", "sex", "zip", "occupation", "diagnosis")
WIDE = 120  # columns of a terminal on which both tables fit side by side
CANDIDATES = 200  # smallest groups to choose the example from


def show(folder: Path, rows: int, k: int, progress: Progress) -> None:
    """Write the sample to files, anonymize it as a user would, and print what happened."""
    console = Console(highlight=False)
    sample = datasets.hospital(rows)
    try:
        _require_own(folder, ",".join(sample.table.column_names))
        source, job = sample.write(folder, k=k)
    except OSError as error:
        raise MachineError(f"kohort could not write to {folder}: {error.strerror}.") from None
    target = folder / "release.csv"
    console.print(
        f"A generated table of [bold]{rows:,}[/] hospital patients. Name and birth date identify a patient. Other people may "
        "know age, sex, zip and occupation (quasi-identifiers). Diagnosis and cost are sensitive.\n"
    )
    release = api.anonymize(source, job, output=target, force=True, progress=progress)
    again = api.audit(target, job, progress=progress)

    before, after = release.preview(_example_group(release))
    _show(console, before, after)
    console.print(
        f"These {len(before)} patients now have the same age, sex, zip and occupation. Nobody can tell them apart by these.\n"
    )
    evidence, loss = release.evidence, release.loss
    columns = ", ".join(f"{name} {percent(share)}" for name, share in loss.per_column.items())
    console.print(f"[bold]The promise is kept (k = {k})[/]: {evidence.classes:,} groups, each of at least {evidence.k} patients.")
    console.print(f"[bold]{percent(loss.leaf)} of detail lost[/] ({columns}).\n")
    console.print("kohort audited the written file before it got its name. The audit shares no code with the method:")
    console.print(_checks(release))
    console.print(f"A second audit with `kohort audit`: k = {again.k}, {'passed' if again.passed else 'FAILED'}.\n")
    console.print("Files:")
    for path, what in (
        (source, "the patients (never publish this file)"),
        (folder / "trees", "the trees of sex, zip and occupation"),
        (job, "the job: roles, trees and k (the seed is random)"),
        (target, "the release"),
    ):
        console.print(f"  {path!s:<28} {what}", soft_wrap=True, markup=False)
    command = "kohort" if shutil.which("kohort") else os.path.relpath(sys.argv[0])
    yours = f"{command} inspect YOUR.csv -o job.toml"
    console.print(f"\nNext, your own table:\n  {yours}", soft_wrap=True, markup=False)


def _require_own(folder: Path, header: str) -> None:
    """Refuse a folder with files that an earlier demo did not write."""
    there = [name for name in ("patients.csv", "job.toml", "release.csv", "trees") if (folder / name).exists()]
    ours = "patients.csv" in there and (folder / "patients.csv").read_bytes().startswith(f"{header}\n".encode())
    if there and not ours:
        raise RequestError(
            f"The demo would replace files in {folder} that it did not write ({', '.join(there)}). Choose another --folder."
        )


def _example_group(release: Release) -> NDArray[np.int64]:
    """Return the rows of a small group in which most columns were generalised, but none to `*`."""
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
    """Print both tables side by side if the terminal is wide enough, else one below the other."""
    old, new = before.select(BEFORE), after.select(AFTER)
    if console.width >= WIDE:
        console.print(_drawn("One group, before and after", old, new))
    else:
        console.print(_drawn("One group, before", old))
        console.print(_drawn("The same group, after", new))


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
