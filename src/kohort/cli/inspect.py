"""`kohort inspect`: what is in a table, and a draft of a job."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click

from kohort.cli.options import ENCODING, MISSING, PATH
from kohort.cli.process import say, watched_run

INSPECT_EXAMPLES = """\b
Examples:
  kohort inspect patients.csv
  kohort inspect patients.csv -o job.toml --trees trees
  kohort anonymize patients.csv -o release.csv --job job.toml
"""


@click.command(short_help="Say what is in a table, and draft a job.", epilog=INSPECT_EXAMPLES)
@click.argument("source", metavar="INPUT", type=PATH)
@click.option("-o", "--output", type=PATH, metavar="JOB.TOML", help="Write a commented job that runs.")
@click.option("--trees", type=PATH, metavar="DIR", help="Write starting trees into this folder.")
@MISSING
@ENCODING
@click.option("--force", is_flag=True, help="Replace the job and the trees if they exist.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def inspect(
    source: Path,
    output: Path | None,
    trees: Path | None,
    missing: tuple[str, ...],
    encoding: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """What is in INPUT? Types, who stands alone, and suggested roles and trees, for review. Shows no cell of the table."""
    from kohort import api
    from kohort.job.files import require_job_file
    from kohort.tables.tables import require_other

    if output:
        require_job_file(output, force, suffixes=(".toml",))
        require_other(output, [source])
    with watched_run(None) as progress:
        inspection = api.inspect(source, missing=missing, encoding=encoding, progress=progress)
        inspection.write(output, trees=trees, force=force)
    if as_json:
        say(json.dumps({**inspection.to_dict(), "job": str(output) if output else None, "trees": str(trees) if trees else None}))
        return
    for line in inspection.lines():
        say(line)
    if not inspection.risk.quasi:
        say('\nBefore a job can run, give at least one column the role "quasi".')
    elif output:
        command = shlex.join(["kohort", "anonymize", str(source), "-o", "release.csv", "--job", str(output)])
        say(f"\nThe job is in {output}. Review it, then: {command}")
    else:
        given = [flag for token in missing for flag in ("--missing", token)] + (["--encoding", encoding] if encoding else [])
        say(f"\nWrite a job to start from: {shlex.join(['kohort', 'inspect', str(source), *given, '-o', 'job.toml'])}")
