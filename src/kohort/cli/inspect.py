"""`kohort inspect`: examine a table and draft a job."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click

from kohort.cli.options import JSON, PATH
from kohort.cli.process import say, watched_run
from kohort.cli.sections import setting

INSPECT_EXAMPLES = """\b
Examples, in the folder that `make demo` leaves (cd kohort-demo):
  kohort inspect patients.csv
  kohort inspect patients.csv -o draft.toml --trees draft-trees
  kohort anonymize patients.csv -o draft.csv --job draft.toml
"""


@click.command(short_help="Examine a table and suggest settings (a job file).", epilog=INSPECT_EXAMPLES)
@click.argument("source", metavar="INPUT", type=PATH)
@click.option(
    "-o",
    "--output",
    type=PATH,
    metavar="JOB.TOML",
    help="Write the suggestions as a job file, with the reasons as comments. Check every role before you use it.",
)
@click.option(
    "--trees",
    type=PATH,
    metavar="DIR",
    help="Write tree files for columns that can have a tree. They contain the values of the table.",
)
@setting("missing", multiple=True)
@setting("encoding")
@click.option("--force", is_flag=True, help="Replace the job and the trees if they exist.")
@JSON
def inspect(
    source: Path,
    output: Path | None,
    trees: Path | None,
    missing: tuple[str, ...],
    encoding: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Examine INPUT: how many rows are unique, types, and a suggested role and tree for each column, with the reason.

    Roles are suggestions: review them. The output shows no cell of the table.
    """
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
        say('\nNext: give at least one column the role "quasi". Without it no job can run.')
    elif output:
        command = shlex.join(["kohort", "anonymize", str(source), "-o", "anonymous.csv", "--job", str(output)])
        say(f"\nNext: review the roles in {output}, then run: {command}")
    else:
        given = [flag for token in missing for flag in ("--missing", token)] + (["--encoding", encoding] if encoding else [])
        say(f"\nNext: write a job to start from: {shlex.join(['kohort', 'inspect', str(source), *given, '-o', 'draft.toml'])}")
