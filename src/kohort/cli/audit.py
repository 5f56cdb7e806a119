"""`kohort audit`: check whether a file is k-anonymous and keeps its other promises."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kohort.cli.options import JSON, PATH, job_flags, promise_flags, value_flags
from kohort.cli.process import say, watched_run
from kohort.cli.sections import SectionedCommand, flag, setting
from kohort.cli.verdict import print_audit
from kohort.schema.setting_texts import OUTPUT, WHAT_TO_PUBLISH

if TYPE_CHECKING:
    from kohort.auditor import Evidence


ROLES = {
    "quasi": "Columns that other people may know (quasi-identifiers). Groups are the rows that are equal in them.",
    "sensitive": "Columns that nobody should learn about a person. The audit reports what groups reveal about them.",
    "identifier": "Columns that identify a person. The audit fails if FILE contains one.",
    "unit": "The patient number. A release does not contain it, so an audit with it fails. Use --drop to count rows.",
    "other": "Columns that are neither known to others nor sensitive. The audit does not look into them.",
    "drop": "Columns that must not be published. The audit fails if FILE contains one.",
}
"""What roles mean for an audit."""

EXAMPLES = """\b
Examples, in the folder that `make demo` leaves (cd kohort-demo):
  kohort audit release.csv --job job.toml
  kohort audit release.csv --quasi age,sex,zip,occupation --sensitive diagnosis --k 5
  kohort audit release.csv --job job.toml --graph graph.graphml --json
"""


@click.command(
    cls=SectionedCommand,
    titles={WHAT_TO_PUBLISH: "Columns"},
    short_help="Check whether a file is k-anonymous.",
    epilog=EXAMPLES,
    options_metavar="[FLAGS]",
)
@click.argument("release", metavar="FILE", type=PATH)
@job_flags(ROLES)
@promise_flags
@value_flags
@flag(
    "--graph", type=PATH, metavar="F.SVG", section=OUTPUT,
    help="Draw which groups have which sensitive values (.svg, or .graphml for many groups).",
)  # fmt: skip
@flag(
    "--curves", type=PATH, metavar="F.SVG", section=OUTPUT,
    help="Draw how many groups are expected to have one sensitive value only, for other table sizes and k.",
)  # fmt: skip
@flag("--force", is_flag=True, section=OUTPUT, help="Replace the files of --graph and --curves.")
@JSON
@setting("threads", type=int)
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
    """Check whether FILE is k-anonymous and keeps its other promises, whatever tool made it.

    The exit code is 1 if a check fails. Columns without a role are not checked. With --sensitive, kohort also reports what groups
    reveal, and names sensitive values that occur in at least k rows of the file.
    """
    from kohort import api
    from kohort.job.job import Job

    job = Job.build(job_file, **{name: value for name, value in settings.items() if value not in (None, ())})
    with watched_run(job.threads) as progress:
        evidence = api.audit(release, job, encoding=encoding, graph=graph, curves=curves, force=force, progress=progress)
    if as_json:
        say(json.dumps({**_figures_of(evidence), "audit": evidence.to_dict(), "file": str(release)}))
    else:
        print_audit(evidence, str(release), job)
    if not evidence.passed:
        sys.exit(1)


def _figures_of(evidence: Evidence) -> dict[str, Any]:
    figures: dict[str, Any] = {"rows": evidence.rows, "classes": evidence.classes, "k": evidence.k, "dm": evidence.dm}
    figures["homogeneity"] = [found.to_dict() for found in evidence.homogeneity]
    together = evidence.homogeneity_all
    return figures if together is None else {**figures, "homogeneity_all": together.to_dict()}
