"""`kohort compare`: the methods on one table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from kohort.cli.options import PATH, names
from kohort.cli.process import say, watched_run
from kohort.errors import PromiseError, RequestError

COMPARE_EXAMPLES = """\b
Examples:
  kohort compare patients.csv --job job.toml --k 5,10,25 -o comparison
  kohort compare patients.csv --job job.toml --k 10 --methods auto,mondrian,k-member --models diagnosis -o comparison
"""


@click.command(short_help="Compare the methods on a table.", epilog=COMPARE_EXAMPLES, options_metavar="-o FOLDER [OPTIONS]")
@click.argument("source", metavar="INPUT", type=PATH)
@click.option("-o", "--output", "folder", required=True, type=PATH, metavar="FOLDER", help="Gets a page, a CSV and a JSON file.")
@click.option("--job", "job_file", required=True, type=PATH, metavar="FILE", help="A job in TOML or JSON.")
@click.option("--k", "ks", required=True, metavar="5,10,25", help="Every k to try.")
@click.option(
    "--methods",
    multiple=True,
    callback=names,
    metavar="A,B:OPTION=VALUE",
    help="Methods to compare, some perhaps with settings: gccg:parts=4, mondrian:effort=1. [default: all]",
)
@click.option("--models", metavar="COL", help="Train models that predict this column, too (needs kohort[ml]).")
@click.option("--workload", type=PATH, metavar="FILE", help="Queries in TOML to ask each release. [default: 200 random ones]")
@click.option("--seed", type=int, metavar="7", help="Seed of methods and of random queries. [default: 0]")
@click.option("--threads", type=int, metavar="N", help="Threads to use. [default: all cores]")
@click.option("--force", is_flag=True, help="Start anew, whatever the folder holds of another comparison.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def compare(
    source: Path, folder: Path, job_file: Path, ks: str, methods: list[str] | None, models: str | None,
    force: bool, as_json: bool, **settings: Any,
) -> None:  # fmt: skip
    """Run every method on INPUT for every k: loss, time, class sizes, query error; and say which one to take.

    A run that was stopped goes on where it was. Nothing but figures is written: no release, no record.
    """
    from kohort import api
    from kohort.job.job import Job

    try:
        wanted = [int(k) for k in ks.split(",")]
    except ValueError:
        raise RequestError("--k takes whole numbers, such as 5,10,25.") from None
    given = {name: value for name, value in settings.items() if value is not None}
    job = Job.build(job_file, **given)
    try:
        with watched_run(job.threads) as progress:
            found = api.compare(
                source, job, k=wanted, methods=methods or "all", models=models, folder=folder, force=force, progress=progress
            )
    except KeyboardInterrupt:
        if folder.exists():
            click.echo(f"What was found so far is in {folder}; the same command goes on from there.", err=True)
        raise
    if as_json:
        say(json.dumps(found.to_dict()))
        return
    advice = found.advice
    if advice is None:
        raise PromiseError(f"No method could keep what is promised: {found.refusal} All of it: {folder / 'comparison.html'}")
    say(f"Take {advice.method}.")
    for reason in advice.reasons:
        say(reason)
    say(f"All of it: {folder / 'comparison.html'}")
