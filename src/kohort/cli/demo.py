"""`kohort demo`: a made-up hospital, anonymized."""

from __future__ import annotations

from pathlib import Path

import click

from kohort.cli.options import PATH
from kohort.cli.process import watched_run, will_write


@click.command(short_help="Make up a hospital and anonymize it.", epilog="Example: kohort demo --folder sample --k 10")
@click.option("--folder", type=PATH, default=Path("kohort-demo"), show_default=True, help="Where the files go.")
@click.option("--rows", type=click.IntRange(min=100), default=10_000, show_default=True, help="Patients to make up.")
@click.option("--k", type=click.IntRange(min=2), default=5, show_default=True, help="Size of the smallest cohort.")
def demo(folder: Path, rows: int, k: int) -> None:
    """Make up a hospital, anonymize it, audit the written file and tell the story."""
    from kohort.cli import demo_story

    will_write(folder / "release.csv")
    with watched_run(None) as progress:
        demo_story.tell(folder, rows, k, progress)
