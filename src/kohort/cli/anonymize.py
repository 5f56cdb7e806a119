"""`kohort anonymize`: anonymize a table and audit the written file."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kohort.cli.options import JSON, LOCATION, PATH, PRESET_LINES, job_flags, names, pairs, promise_flags, value_flags
from kohort.cli.process import say, watched_run, will_write
from kohort.cli.sections import SectionedCommand, flag, setting
from kohort.cli.verdict import print_release
from kohort.errors import KohortError, MachineError, RequestError
from kohort.schema.setting_texts import OUTPUT, WHAT_TO_PUBLISH
from kohort.tables.locations import Location
from kohort.wording import counted

if TYPE_CHECKING:
    from kohort.job.job import Job
    from kohort.progress import Progress
    from kohort.release import Release

EXAMPLES = """\b
Examples, in the folder that `make demo` leaves (cd kohort-demo):
  kohort anonymize patients.csv -o k11.csv --job job.toml --k 11
  kohort anonymize patients.csv -o safer.parquet --job job.toml --l 3 --json
  kohort anonymize patients.csv -o public.csv --job job.toml --k 11 --preset public \\
         --save-job public.toml
  kohort anonymize patients.csv -o own.csv --quasi age,sex,zip --sensitive diagnosis \\
         --drop name,birth_date,occupation,cost --hierarchy zip=prefix:3,2 --k 5

"""


@click.command(
    cls=SectionedCommand,
    short_help="Anonymize a table.",
    epilog=EXAMPLES,
    appendix=PRESET_LINES,
    options_metavar="-o OUTPUT [FLAGS]",
)
@click.argument("source", metavar="INPUT", type=LOCATION)
@flag(
    "-o", "--output", required=True, type=LOCATION, metavar="OUTPUT", section=WHAT_TO_PUBLISH, first=True,
    help="File to write: .csv, .tsv (also .gz, .zst), .parquet or .arrow. Spark writes a folder.",
)  # fmt: skip
@job_flags({})
@setting("allow", multiple=True, callback=names)
@promise_flags
@setting("suppress", type=float)
@setting("suppressed")
@setting("method", first=True)
@setting("effort", type=int)
@setting("objective")
@setting("label")
@setting("weight", multiple=True, callback=pairs(float, last=True))
@setting("workload", type=PATH)
@setting("option", multiple=True, callback=pairs())
@setting("block", type=int)
@setting("seed", type=int)
@setting("row_order")
@value_flags
@setting("statistic", multiple=True, callback=pairs(last=True))
@setting("ranges")
@setting("step", multiple=True, callback=pairs(float, last=True))
@setting("keep_order", is_flag=True, default=None)
@flag(
    "--save-job", type=PATH, metavar="FILE", section=OUTPUT, first=True,
    help="Save all settings and the seed as TOML or JSON. The saved job makes the same rows again.",
)  # fmt: skip
@flag(
    "--explain", type=PATH, metavar="F.JSON", section=OUTPUT,
    help="Write why each group was formed as it was. Memory engine only.",
)  # fmt: skip
@flag("--force", is_flag=True, section=OUTPUT, first=True, help="Replace OUTPUT and the files of --save-job and --explain.")
@JSON
@setting("engine")
@setting("memory")
@setting("master")
@setting("threads", type=int)
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
    """Anonymize a table so that every row is identical to at least k-1 others in the columns that other people may know.

    kohort writes OUTPUT only if the written file passes its audit. Every column of INPUT needs a role.
    """
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
        print_release(release, saved=save_job)
    if save_job:
        _save(release, save_job)
    if explain:
        with watched_run(job.threads) as progress:
            found = _explain(release, explain, progress, force=force)
        if not as_json:
            say(f"Explanation: {explain} ({counted(len(found['cuts']), 'cut')}; column names and published values only).")
            if found["note"]:
                say(found["note"])


def _save(release: Release, file: Path) -> None:
    try:
        release.job.save(file)
    except KohortError as error:
        message = f"{error} The release itself was written: {release.output} (seed {release.job.seed})."
        raise MachineError(message) from None


def _require_explanation(file: Path, job: Job, others: Sequence[Any], *, force: bool) -> None:
    """Refuse, before the run starts, an explanation that could not be made or written."""
    from kohort.tables import staging
    from kohort.tables.tables import require_other

    if file.suffix.lower() != ".json":
        raise RequestError(f"--explain writes a .json file. Change the ending of {str(file)!r}.")
    if job.engine in ("disk", "spark"):
        raise RequestError(
            f"--explain needs the memory engine, but engine is {job.engine}. Leave out --explain, or use --engine memory."
        )
    if any(isinstance(other, Path) and os.path.realpath(other) == os.path.realpath(file) for other in others):
        raise RequestError(f"--explain would replace {file}, which this run reads or writes. Choose another name.")
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
        raise type(error)(f"{error} The release itself was written: {release.output}.") from None
