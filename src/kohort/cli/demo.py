"""`kohort demo`: generate a hospital table and anonymize it."""

from __future__ import annotations

from pathlib import Path

import click

from kohort.cli.options import PATH
from kohort.cli.process import watched_run, will_write


@click.command(short_help="Anonymize a generated hospital table.", epilog="Example: kohort demo --folder sample --k 10")
@click.option("--folder", type=PATH, default=Path("kohort-demo"), show_default=True, help="Folder for the files.")
@click.option(
    "--rows", type=click.IntRange(min=100), default=10_000, metavar="N", show_default=True, help="Patients to generate."
)
@click.option("--k", type=click.IntRange(min=2), default=5, metavar="N", show_default=True, help="Least size of a group.")
def demo(folder: Path, rows: int, k: int) -> None:
    """Generate a hospital table, anonymize it, audit the written file, and show each step.

    Files of an earlier demo in the folder are replaced.
    """
    from kohort.cli import demo_story

    will_write(folder / "release.csv")
    with watched_run(None) as progress:
        demo_story.show(folder, rows, k, progress)
