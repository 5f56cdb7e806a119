"""The demo: one table's way from patients to a proven release, told on the terminal. The patients are made up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from kohort import api, datasets
from kohort.errors import MachineError
from kohort.progress import Progress


def tell(folder: Path, rows: int, k: int, progress: Progress) -> None:
    """Make the sample, anonymize it through its files as a user would, and say what happened."""
    console = Console(highlight=False)
    try:
        source, job = datasets.hospital(rows).write(folder)
    except OSError as error:
        raise MachineError(f"{folder} could not be written: {error.strerror}.") from None
    console.print(
        f"A hospital with [bold]{rows:,}[/] patients, made up by formula. Name and birth date identify, age, sex, zip and"
    )
    console.print("occupation are what a neighbour may know, diagnosis and cost are nobody's business.\n")
    release = api.anonymize(source, job, k=k, output=folder / "release.csv", force=True, progress=progress)
    again = api.audit(folder / "release.csv", job, k=k, progress=progress)

    before, after = release.preview(_one_cohort(release))
    console.print(_side_by_side(before, after))
    console.print(f"These {len(before)} patients now look alike to anyone who knows their age, sex, zip and occupation.\n")

    loss = release.loss
    console.print(
        f"[bold]k = {release.evidence.k}[/]: every patient hides among at least that many; {release.evidence.classes:,} classes."
    )
    console.print(f"[bold]loss {loss.leaf:.3f}[/] of each cell on average (0 = nothing lost, 1 = all): " + ", ".join(
        f"{name} {share:.3f}" for name, share in loss.per_column.items()) + ".\n")  # fmt: skip
    console.print("The written file was audited before it got its name, by SQL that shares no code with the method:")
    for check in release.evidence.checks:
        found = "-" if check.found is None else check.found
        console.print(f"  {check.verdict:<7} {check.name:<9} required {check.required}, found {found}: {check.meaning}")
    console.print(f"and again as anyone can: kohort audit finds k = {again.k}, {'passed' if again.passed else 'FAILED'}.\n")
    console.print("Where things are:")
    for path, what in (
        (source, "the patients (never publish this)"),
        (folder / "trees", "the trees of sex, zip and occupation"),
        (job, "what was asked"),
        (folder / "release.csv", "the release"),
    ):
        console.print(f"  {path!s:<28} {what}", soft_wrap=True)
    console.print(
        f"\nNow yours: kohort anonymize YOUR.csv -o release.csv --quasi age,sex --sensitive diagnosis --k {k}", soft_wrap=True
    )


def _one_cohort(release: api.Release) -> np.ndarray:
    """The rows of one cluster: the one whose members differ most in what they had, so that there is something to see."""
    sizes = np.bincount(release.labels)
    small = np.flatnonzero(sizes == sizes.min())
    return np.flatnonzero(release.labels == small[len(small) // 2])


def _side_by_side(before: pa.Table, after: pa.Table) -> Table:
    drawn = Table(title="One cohort, before and after", title_justify="left", header_style="bold")
    for name in before.column_names:
        drawn.add_column(name, style="dim" if name not in after.column_names else "")
    drawn.add_column("->", style="dim")
    for name in after.column_names:
        drawn.add_column(name, style="green")
    for old, new in zip(before.to_pylist(), after.to_pylist(), strict=True):
        drawn.add_row(*(_cell(value) for value in old.values()), "", *(_cell(value) for value in new.values()))
    return drawn


def _cell(value: object) -> str:
    return "" if value is None else str(value)
