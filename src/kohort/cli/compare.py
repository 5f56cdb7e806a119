"""`kohort compare`: compare methods on one table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from kohort.cli.options import JSON, PATH, names
from kohort.cli.process import say, watched_run
from kohort.errors import PromiseError, RequestError

COMPARE_EXAMPLES = """\b
Examples, in the folder that `make demo` leaves (cd kohort-demo):
  kohort compare patients.csv --job job.toml --k 5,11 --methods auto,mondrian,gccg -o comparison
"""


@click.command(short_help="Compare methods on a table.", epilog=COMPARE_EXAMPLES, options_metavar="-o FOLDER [FLAGS]")
@click.argument("source", metavar="INPUT", type=PATH)
@click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    type=PATH,
    metavar="FOLDER",
    help="Folder to write: comparison.html, a CSV file and a JSON file.",
)
@click.option("--job", "job_file", required=True, type=PATH, metavar="FILE", help="Job file (TOML or JSON) with settings.")
@click.option("--k", "ks", required=True, metavar="5,10,25", help="Values of k to try, instead of the k of the job.")
@click.option(
    "--methods",
    multiple=True,
    callback=names,
    metavar="A,B:OPTION=VALUE",
    help="Methods to compare. A method may have settings: gccg:parts=4, mondrian:effort=1. [default: all]",
)
@click.option("--models", metavar="COL", help="Also train models that predict this column. Needs `pip install 'kohort[ml]'`.")
@click.option(
    "--workload", type=PATH, metavar="FILE", help="Queries (TOML) to answer from each release. [default: 200 random queries]"
)
@click.option("--seed", type=int, metavar="7", help="Start of the random choices. [default: that of the job, else 0]")
@click.option("--threads", type=int, metavar="N", help="Threads to use. [default: all cores]")
@click.option("--force", is_flag=True, help="Delete the results of another comparison in the folder and start again.")
@JSON
def compare(
    source: Path, folder: Path, job_file: Path, ks: str, methods: list[str] | None, models: str | None,
    force: bool, as_json: bool, **settings: Any,
) -> None:  # fmt: skip
    """Run several methods on INPUT for every k; compare detail lost, time, group sizes and answers to queries; recommend one.

    A comparison that was stopped continues when you run the same command again. compare writes numbers and charts, no rows.
    """
    from kohort import api
    from kohort.job.job import Job

    try:
        wanted = [int(k) for k in ks.split(",")]
    except ValueError:
        raise RequestError("--k needs whole numbers separated by commas: --k 5,10,25.") from None
    given = {name: value for name, value in settings.items() if value is not None}
    job = Job.build(job_file, **given)
    try:
        with watched_run(job.threads) as progress:
            found = api.compare(
                source, job, k=wanted, methods=methods or "all", models=models, folder=folder, force=force, progress=progress
            )
    except KeyboardInterrupt:
        if folder.exists():
            click.echo(f"The results so far are in {folder}. Run the same command again to continue.", err=True)
        raise
    if as_json:
        say(json.dumps(found.to_dict()))
        return
    advice = found.advice
    if advice is None:
        raise PromiseError(f"No method could keep the promise. {found.refusal} Details: {folder / 'comparison.html'}")
    say(f"Use the method {advice.method}.")
    for reason in advice.reasons:
        say(reason)
    say(f"Next: read all figures in {folder / 'comparison.html'}")
