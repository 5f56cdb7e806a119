"""`kohort anonymize`: a table in, a proven release out."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kohort.cli.options import ENCODING, LOCATION, MISSING, PATH, PRESETS_TOLD, names, pairs, promise_flags, tree_flags
from kohort.cli.process import say, watched_run, will_write
from kohort.cli.verdict import print_checks
from kohort.errors import KohortError, MachineError, RequestError
from kohort.tables.locations import Location

if TYPE_CHECKING:
    from kohort.job.job import Job
    from kohort.progress import Progress
    from kohort.release import Release

LITTLE_LEFT = 0.9  # of a cell lost on average, from which a single class is worth a word


ANONYMIZE_EXAMPLES = """\b
Examples:
  kohort anonymize patients.csv -o release.csv --quasi age,sex,zip \\
         --sensitive disease --identifier name --k 5
  kohort anonymize patients.parquet -o release.parquet --job job.toml --k 11
  kohort anonymize patients.csv -o release.csv --job job.toml --json
  kohort anonymize patients.csv -o release.csv --job job.toml --preset public --l 3

"""


@click.command(
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
@click.option("--explain", type=PATH, metavar="F.JSON", help="Write why each group was cut where it was. Memory engine only.")
@click.option("--force", is_flag=True, help="Replace OUTPUT, and the files of --save-job and --explain, if they exist.")
def anonymize(
    source: Location,
    output: Location,
    job_file: Path | None,
    as_json: bool,
    save_job: Path | None,
    explain: Path | None,
    force: bool,
    **settings: Any,
) -> None:
    """Anonymize INPUT into OUTPUT; OUTPUT appears only if its audit passes."""
    from kohort import api
    from kohort.job.files import require_job_file
    from kohort.job.job import Job
    from kohort.tables.tables import require_other

    job = Job.build(job_file, **{name: value for name, value in settings.items() if value not in (None, ())})
    if save_job:
        require_job_file(save_job, force)
        require_other(save_job, [source, *job.files()])
    if explain:
        _require_explanation(explain, job, [source, output, save_job, job_file, *job.files()], force=force)
    if job_file and isinstance(output, Path):
        require_other(output, [job_file])
    with watched_run(job.threads) as progress:
        will_write(output)
        release = api.anonymize(source, job, output=output, force=force, progress=progress)
    if as_json:
        say(json.dumps(release.summary()))
    else:
        _print_release(release)
    if save_job:
        _save(release, save_job)
    if explain:
        with watched_run(job.threads) as progress:
            found = _explain(release, explain, progress, force=force)
        if not as_json:
            say(f"{explain}: {len(found['cuts']):,} cuts explained, by columns and published values only.")
            if found["note"]:
                say(found["note"])


def _save(release: Release, file: Path) -> None:
    try:
        release.job.save(file)
    except KohortError as error:
        message = f"{error} The release is in place: {release.output} (seed {release.job.seed})."
        raise MachineError(message) from None


def _require_explanation(file: Path, job: Job, others: Sequence[Any], *, force: bool) -> None:
    """Refuse, before any work is done, an explanation that could not be made or written."""
    from kohort.tables import staging
    from kohort.tables.tables import require_other

    if file.suffix.lower() != ".json":
        raise RequestError(f"An explanation (--explain) is a .json file; {str(file)!r} is not.")
    if job.engine in ("disk", "spark"):
        raise RequestError(f"The {job.engine} engine cannot explain cuts. Leave out --explain, or take --engine memory.")
    if any(isinstance(other, Path) and os.path.realpath(other) == os.path.realpath(file) for other in others):
        raise RequestError(f"The run reads or writes {file} already. Give the explanation a file of its own.")
    require_other(file, others)
    staging.require_free(file, force)


def _explain(release: Release, file: Path, progress: Progress, *, force: bool) -> dict[str, Any]:
    from kohort.tables import staging

    try:
        explanation = release.explain(progress=progress)
        with staging.staged(file, force) as part:
            part.write_text(json.dumps(explanation, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            return explanation
    except KohortError as error:
        raise type(error)(f"{error} The release is in place: {release.output}.") from None


def _print_release(release: Release) -> None:
    summary = release.summary()
    classes = f"{summary['classes']:,} classes, the smallest of {summary['k']:,} {summary['counted_in']}"
    say(f"{summary['output']}: {summary['rows']:,} rows in {classes}")
    if summary["suppressed"]:
        where = "stay as one class of *" if release.kept_suppressed else "were left out"
        broken = release.job.suppressed == "star" and not release.kept_suppressed
        why = "; as one class of * they would not keep the promise" if broken else ""
        say(f"{summary['suppressed']:,} of {len(release.labels):,} rows {where} (suppress = {release.job.suppress:g}){why}")
    for sentence in release.notes:
        say(sentence)
    if release.answers is not None:
        say(release.answers.in_words())
    say(f"loss per cell {summary['loss']['leaf']:.4f} by leaves, {summary['loss']['height']:.4f} by height:")
    for name, share in release.loss.per_column.items():
        say(f"  {name:<20} {share:.4f}  {release.axes[name]}")
    if summary["classes"] == 1 and summary["loss"]["leaf"] > LITTLE_LEFT:
        say("Only the whole table as one class keeps what is promised, so little is left of the quasi-identifiers.")
        say("Promise less; for t of a column of numbers, t_distance=ordered counts near values as near.")
    print_checks(release.evidence)
    spent = ", ".join(f"{step} {seconds:.2f}" for step, seconds in summary["seconds"].items())
    say(f"method {summary['method']}, seed {summary['seed']}; seconds: {spent}")
