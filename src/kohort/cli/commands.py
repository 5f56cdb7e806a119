"""The command line. It only turns flags into a job and a release into words; heavy parts load inside the commands."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kohort import __version__
from kohort.cli.options import ENCODING, LOCATION, MISSING, PATH, PRESETS_TOLD, names, pairs, promise_flags, tree_flags
from kohort.cli.process import run, say, watched_run, will_write
from kohort.errors import KohortError, MachineError, PromiseError, RequestError, did_you_mean
from kohort.tables.locations import Location

if TYPE_CHECKING:
    from kohort.api import Release
    from kohort.auditor import Evidence

LITTLE_LEFT = 0.9  # of a cell lost on average, from which a single class is worth a word
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


EXIT_CODES = """\b
Exit codes:
  0   done and proven
  1   the promise cannot be kept, or the audit failed; nothing is written
  2   the request is wrong
  3   the machine failed: disk, memory
  130 interrupted
\b
Start with: kohort demo, then kohort inspect YOUR.csv
"""


@click.group(context_settings=CONTEXT, epilog=EXIT_CODES, no_args_is_help=True)
@click.version_option(__version__, "-V", "--version", message="kohort %(version)s")
def group() -> None:
    """Publish tables about people so that everyone hides in a cohort of at least k, and prove it.

    The written file itself is re-checked before anyone may have it; if the check fails, nothing is written.
    """


# --- commands


INSPECT_EXAMPLES = """\b
Examples:
  kohort inspect patients.csv
  kohort inspect patients.csv -o job.toml --trees trees
  kohort anonymize patients.csv -o release.csv --job job.toml
"""


@group.command(short_help="Say what is in a table, and draft a job.", epilog=INSPECT_EXAMPLES)
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
    from kohort.job.job import require_job_file
    from kohort.tables.tables import require_other

    if output:
        require_job_file(output, force, kinds=(".toml",))
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


ANONYMIZE_EXAMPLES = """\b
Examples:
  kohort anonymize patients.csv -o release.csv --quasi age,sex,zip \\
         --sensitive disease --identifier name --k 5
  kohort anonymize patients.parquet -o release.parquet --job job.toml --k 11
  kohort anonymize patients.csv -o release.csv --job job.toml --json
  kohort anonymize patients.csv -o release.csv --job job.toml --preset public --l 3

"""


@group.command(
    short_help="Publish a table so that all hide among k.",
    epilog=ANONYMIZE_EXAMPLES + PRESETS_TOLD,
    options_metavar="-o OUTPUT [OPTIONS]",
)
@click.argument("source", metavar="INPUT", type=LOCATION)
@click.option(
    "-o",
    "--output",
    required=True,
    type=LOCATION,
    metavar="OUTPUT",
    help="File to write: .csv, .tsv, .parquet, .arrow; text may add .gz or .zst. Spark writes a folder.",
)
@promise_flags
@click.option("--method", metavar="NAME", help="How groups are formed; `kohort methods` lists them. [default: auto]")
@click.option("--effort", type=int, metavar="1", help="Rounds of improvement, 0 = none. [default: 1 for auto, merge, top-down]")
@click.option(
    "--objective",
    metavar="leaf|height|square-error|class",
    help="What is kept low: loss by leaves or by heights, square error, or mixed labels. [default: leaf]",
)
@click.option("--workload", type=PATH, metavar="FILE", help="Queries in TOML that the release should answer; cuts go by them.")
@click.option("--label", metavar="COL", help="The column whose values stay together, with --objective class.")
@click.option("--option", multiple=True, callback=pairs(), metavar="NAME=VALUE", help="An option of the method; repeat for more.")
@click.option(
    "--block",
    type=int,
    metavar="20000",
    help="Rows that methods dearer than n log n compare at once; 0 = all. Up to twice as many stay one block. [default: 20000]",
)
@tree_flags
@click.option(
    "--weight",
    multiple=True,
    callback=pairs(float, last=True),
    metavar="COL=2",
    help="How much a column's loss counts in the search.",
)
@click.option(
    "--statistic", multiple=True, callback=pairs(last=True), metavar="COL=both", help="Publish a number's range, mean or both."
)
@click.option("--ranges", metavar="tight|grid", help="Publish a range's true ends, or the next steps of a grid. [default: tight]")
@click.option(
    "--step",
    multiple=True,
    callback=pairs(float, last=True),
    metavar="COL=5",
    help="The grid of one column. [default: 5 for integers, 1 for decimals, months for dates]",
)
@click.option("--suppress", type=float, metavar="0.02", help="Share of the rows that may be left out. [default: 0]")
@click.option(
    "--suppressed",
    metavar="leave|star",
    help="Such rows leave, or stay as one class of * if it keeps the promise. [default: leave]",
)
@MISSING
@ENCODING
@click.option(
    "--allow",
    multiple=True,
    callback=names,
    metavar="COL",
    help="Pass on an 'other' column although it looks like text or a key.",
)
@click.option("--seed", type=int, metavar="7", help="Seed of the method. [default: drawn, and kept in the saved job]")
@click.option("--keep-order", is_flag=True, default=None, help="Keep the order of the rows instead of shuffling them.")
@click.option("--row-order", metavar="canonical|given", help="Order in which methods see the rows. [default: canonical]")
@click.option(
    "--engine",
    metavar="auto|memory|disk|spark",
    help="Where rows live; auto: on disk if they would not fit into memory. [default: auto]",
)
@click.option("--memory", metavar="2GiB", help="How much memory may be taken before rows go to disk, and then. [default: 2GiB]")
@click.option("--master", metavar="URL", help="Where Spark is to run: local[4], spark://host:7077. [default: as it is set up]")
@click.option("--save-job", type=PATH, metavar="FILE", help="Save what was asked, with the seed, as TOML or JSON.")
@click.option("--force", is_flag=True, help="Replace OUTPUT, and the file of --save-job, if they exist.")
def anonymize(
    source: Location, output: Location, job_file: Path | None, as_json: bool, save_job: Path | None, force: bool, **settings: Any
) -> None:
    """Anonymize INPUT into OUTPUT; OUTPUT appears only if its audit passes."""
    from kohort import api
    from kohort.job.job import Job, require_job_file
    from kohort.tables.tables import require_other

    job = Job.build(job_file, **{name: value for name, value in settings.items() if value not in (None, ())})
    if save_job:
        require_job_file(save_job, force)
        require_other(save_job, [source, *job.files()])
    if job_file and isinstance(output, Path):
        require_other(output, [job_file])
    with watched_run(job.threads) as progress:
        will_write(output)
        release = api.anonymize(source, job, output=output, force=force, progress=progress)
    if as_json:
        say(json.dumps(release.summary()))
    else:
        _tell_release(release)
    if save_job:
        _save(release, save_job)


AUDIT_EXAMPLES = """\b
Examples:
  kohort audit release.csv --quasi age,sex,zip --k 5
  kohort audit release.parquet --job job.toml --json
  kohort audit release.csv --quasi age,sex --sensitive disease --graph graph.svg
"""


@group.command(short_help="Ask any file whether it is k-anonymous.", epilog=AUDIT_EXAMPLES)
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
        _tell_checks(evidence)
        _tell_homogeneity(evidence)
    if not evidence.passed:
        sys.exit(1)


COMPARE_EXAMPLES = """\b
Examples:
  kohort compare patients.csv --job job.toml --k 5,10,25 -o comparison
  kohort compare patients.csv --job job.toml --k 10 --methods auto,mondrian,k-member --models diagnosis -o comparison
"""


@group.command(short_help="Compare the methods on a table.", epilog=COMPARE_EXAMPLES, options_metavar="-o FOLDER [OPTIONS]")
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


@group.command(short_help="List the methods.", epilog="Example: kohort methods --json")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def methods(names: tuple[str, ...], as_json: bool) -> None:
    """List every method, or those named: paper, cost, options, what it can promise."""
    from kohort.methods import METHODS
    from kohort.schema.promises import DEFINITIONS

    for name in names:
        if name not in METHODS:
            raise RequestError(f"There is no method {name!r}.{did_you_mean(name, METHODS)} Known: {', '.join(METHODS)}.")
    told = [method.to_dict() for method in METHODS.values() if not names or method.name in names]
    if as_json:
        say(json.dumps({"methods": told}))
        return
    for method in told:
        say(click.style(method["name"], bold=True) + f": {method['summary']}")
        for what in ("paper", "cost", "good_for"):
            say(f"  {what.replace('_', ' '):<9} {method[what]}")
        if method["effort"]:
            say(f"  --effort  {method['effort']} by default")
        if method["promises"] != list(DEFINITIONS):
            say(f"  promises  {', '.join(method['promises'])}")
        for name, option in method["options"].items():
            values = "|".join(option["choices"] or ()) or json.dumps(option["default"])
            default = f" [default: {option['default']}]" if option["choices"] and option["default"] else ""
            say(f"  --option {name}={values}  {option['description']}{default}")
    say(f"\nWhere nothing else is said, a method keeps every promise: {', '.join(DEFINITIONS)}.")
    say("Groups of any method can be improved (--effort), except where one value is published alike everywhere.")
    say("A block is a part of at most 20,000 rows (--block) of a table of more than twice as many.")


@group.command(short_help="Make up a hospital and anonymize it.", epilog="Example: kohort demo --folder sample --k 10")
@click.option("--folder", type=PATH, default=Path("kohort-demo"), show_default=True, help="Where the files go.")
@click.option("--rows", type=click.IntRange(min=100), default=10_000, show_default=True, help="Patients to make up.")
@click.option("--k", type=click.IntRange(min=2), default=5, show_default=True, help="Size of the smallest cohort.")
def demo(folder: Path, rows: int, k: int) -> None:
    """Make up a hospital, anonymize it, audit the written file and tell the story."""
    from kohort.cli import demo as story

    will_write(folder / "release.csv")
    with watched_run(None) as progress:
        story.tell(folder, rows, k, progress)


# --- words


def _save(release: Release, file: Path) -> None:
    try:
        release.job.save(file)
    except KohortError as error:
        message = f"{error} The release is in place: {release.output} (seed {release.job.seed})."
        raise MachineError(message) from None


def _tell_release(release: Release) -> None:
    told = release.summary()
    classes = f"{told['classes']:,} classes, the smallest of {told['k']:,} {told['counted_in']}"
    say(f"{told['output']}: {told['rows']:,} rows in {classes}")
    if told["suppressed"]:
        where = "stay as one class of *" if release.kept_suppressed else "were left out"
        broken = release.job.suppressed == "star" and not release.kept_suppressed
        why = "; as one class of * they would not keep the promise" if broken else ""
        say(f"{told['suppressed']:,} of {len(release.labels):,} rows {where} (suppress = {release.job.suppress:g}){why}")
    for sentence in release.told:
        say(sentence)
    if release.answers is not None:
        say(release.answers.in_words())
    say(f"loss per cell {told['loss']['leaf']:.4f} by leaves, {told['loss']['height']:.4f} by height:")
    for name, share in release.loss.per_column.items():
        say(f"  {name:<20} {share:.4f}  {release.axes[name]}")
    if told["classes"] == 1 and told["loss"]["leaf"] > LITTLE_LEFT:
        say("Only the whole table as one class keeps what is promised, so little is left of the quasi-identifiers.")
        say("Promise less; for t of a column of numbers, t_distance=ordered counts near values as near.")
    _tell_checks(release.evidence)
    spent = ", ".join(f"{step} {seconds:.2f}" for step, seconds in told["seconds"].items())
    say(f"method {told['method']}, seed {told['seed']}; seconds: {spent}")


def _tell_checks(evidence: Evidence) -> None:
    say("audit " + ("passed" if evidence.passed else "FAILED"))
    longest = max(len(check.name) for check in evidence.checks)
    for check in evidence.checks:
        required, found = _figure(check.required), _figure(check.found)
        say(f"  {check.verdict:<7} {check.name:<{longest}}  required {required}, found {found}: {check.meaning}")


def _figure(figure: float | str | None) -> str:
    return "-" if figure is None else f"{figure:.6g}" if isinstance(figure, float) else str(figure)


def _tell_homogeneity(evidence: Evidence) -> None:
    from kohort.report.homogeneity_text import lines

    for line in lines(evidence):
        say(line)


def _figures_of(evidence: Evidence) -> dict[str, Any]:
    figures: dict[str, Any] = {"rows": evidence.rows, "classes": evidence.classes, "k": evidence.k, "dm": evidence.dm}
    figures["homogeneity"] = [found.to_dict() for found in evidence.homogeneity]
    together = evidence.homogeneity_all
    return figures if together is None else {**figures, "homogeneity_all": together.to_dict()}


def main() -> None:
    """Run the command that the arguments name."""
    run(group)
