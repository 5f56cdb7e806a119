"""`kohort audit`: is a file k-anonymous?"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kohort.cli.options import ENCODING, MISSING, PATH, promise_flags, tree_flags
from kohort.cli.process import say, watched_run
from kohort.cli.verdict import print_checks

if TYPE_CHECKING:
    from kohort.auditor import Evidence


AUDIT_EXAMPLES = """\b
Examples:
  kohort audit release.csv --quasi age,sex,zip --k 5
  kohort audit release.parquet --job job.toml --json
  kohort audit release.csv --quasi age,sex --sensitive disease --graph graph.svg
"""


@click.command(short_help="Ask any file whether it is k-anonymous.", epilog=AUDIT_EXAMPLES)
@click.argument("release", metavar="FILE", type=PATH)
@promise_flags
@tree_flags
@MISSING
@ENCODING
@click.option(
    "--graph", type=PATH, metavar="F.SVG", help="Draw which classes hold which sensitive values; as .graphml if they are many."
)
@click.option("--curves", type=PATH, metavar="F.SVG", help="Draw how many classes to expect alike, against n and against k.")
@click.option("--force", is_flag=True, help="Replace the files of --graph and --curves if they exist.")
def audit(
    release: Path,
    job_file: Path | None,
    as_json: bool,
    encoding: str | None,
    graph: Path | None,
    curves: Path | None,
    force: bool,
    **settings: Any,
) -> None:
    """Is FILE k-anonymous? Re-reads it as it is, whoever made it; exit code 1 if it is not.

    With --sensitive it also tells how much a person's class gives away.
    """
    from kohort import api
    from kohort.job.job import Job

    job = Job.build(job_file, **{name: value for name, value in settings.items() if value not in (None, ())})
    with watched_run(job.threads) as progress:
        evidence = api.audit(release, job, encoding=encoding, graph=graph, curves=curves, force=force, progress=progress)
    if as_json:
        say(json.dumps({**_figures_of(evidence), "audit": evidence.to_dict(), "file": str(release)}))
    else:
        say(f"{release}: {evidence.rows:,} rows in {evidence.classes:,} classes, the smallest of {evidence.k:,}")
        print_checks(evidence)
        _print_homogeneity(evidence)
    if not evidence.passed:
        sys.exit(1)


def _print_homogeneity(evidence: Evidence) -> None:
    from kohort.report.homogeneity_text import lines

    for line in lines(evidence):
        say(line)


def _figures_of(evidence: Evidence) -> dict[str, Any]:
    figures: dict[str, Any] = {"rows": evidence.rows, "classes": evidence.classes, "k": evidence.k, "dm": evidence.dm}
    figures["homogeneity"] = [found.to_dict() for found in evidence.homogeneity]
    together = evidence.homogeneity_all
    return figures if together is None else {**figures, "homogeneity_all": together.to_dict()}
