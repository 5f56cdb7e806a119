"""What a run and an audit print: first whether the promise is kept, then the detail lost, then what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from kohort.cli.process import say
from kohort.wording import counted, percent

if TYPE_CHECKING:
    from kohort.auditor import Check, Evidence
    from kohort.job.job import Job
    from kohort.release import Release

LITTLE_LEFT = 0.9  # of the detail lost; from here on one group for the whole table is worth a warning
SEVERITY = {"fail": 0, "not run": 1, "warn": 2, "pass": 3}


def print_release(release: Release, *, saved: Path | None) -> None:
    """Print the result of `kohort anonymize`. `saved` is the file of `--save-job`."""
    _print_kept(release.evidence, str(release.output), release.job, counted(release.evidence.k, *_unit(release.job)))
    for line in (*_loss(release), *_next_step(release, saved)):
        say(line)
    say("\nDetail lost by column:")
    longest = max(map(len, release.loss.per_column), default=0)
    for name, share in release.loss.per_column.items():
        say(f"  {_printable(name):<{longest}}  {percent(share):>7}  {release.axes[name]}")
    say("\nChecks of the written file:")
    _print_checks(release.evidence.checks)
    say("\nThe run:")
    for sentence in (*release.notes, *([] if release.answers is None else [release.answers.in_words()])):
        say(f"  {sentence}")
    seconds = ", ".join(f"{step} {spent:.1f}" for step, spent in release.summary()["seconds"].items())
    say(f"  Settings: method {release.job.method}, seed {release.job.seed}. Seconds: {seconds}.")


def print_audit(evidence: Evidence, file: str, job: Job) -> None:
    """Print the result of `kohort audit`."""
    from kohort.report.homogeneity_text import lines

    if evidence.passed:
        _print_kept(evidence, file, job, counted(evidence.k, *_unit(job)))
        for line in _revealed(evidence):
            say(line)
    else:
        failed = evidence.failures()
        names = ", ".join(check.name for check in failed)
        say(f"The promise is NOT kept: {file} fails {len(failed)} of {counted(len(evidence.checks), 'check')} ({names}).")
        rows, groups = counted(evidence.rows, "row"), counted(evidence.classes, "group")
        say(f"It has {rows} in {groups}. The smallest group has {counted(evidence.k, *_unit(job))}; k is {job.promise.k}.")
        _print_not_checked(evidence)
        say("Next: do not publish this file. Make a release from the original table with `kohort anonymize`.")
    say("\nChecks:")
    _print_checks(evidence.checks)
    for line in lines(evidence):
        say(line)


def _print_kept(evidence: Evidence, file: str, job: Job, least: str) -> None:
    groups = f"{counted(evidence.rows, 'row')} in {counted(evidence.classes, 'group')} of at least {least}"
    say(f"The promise is kept ({_promises(job)}): {file} has {groups}.")
    _print_not_checked(evidence)


def _unit(job: Job) -> tuple[str, str]:
    """Return what groups are counted in, as a noun and its plural."""
    return ("person", "people") if job.names("unit") else ("row", "rows")


def _print_not_checked(evidence: Evidence) -> None:
    not_run = [check.name for check in evidence.checks if check.verdict == "not run"]
    if not_run:
        say(f"Not checked: {', '.join(not_run)}. The reasons are below.")
    undeclared = next((check.found for check in evidence.checks if check.name == "undeclared"), 0)
    if isinstance(undeclared, int) and undeclared:
        say(f"Not checked: {counted(undeclared, 'column')} without a role. Give each a role (--quasi, ...) and audit again.")


def _revealed(evidence: Evidence) -> Iterable[str]:
    """Return the sensitive columns that groups reveal, and what to do next."""
    revealed = [found for found in evidence.homogeneity if found.alike_classes]
    for found in revealed:
        rows = counted(round(found.alike_share * evidence.rows), "row")
        groups = counted(found.alike_classes, "group")
        reveal = "reveals" if found.alike_classes == 1 else "reveal"
        yield f"But {groups} {reveal} {_printable(found.column)} of {rows}: all rows of such a group have the same value."
    if revealed:
        yield "Next: do not publish yet. Anonymize the original again and promise more, such as --l 2. Details are below."
    elif evidence.homogeneity:
        yield "Next: read below what groups reveal about sensitive columns."
    else:
        yield "Next: name the sensitive columns (--sensitive) to see what groups reveal about them."


def _promises(job: Job) -> str:
    """Return what was promised: `k = 5, l = 3`. Promises with several values or for some columns are only named."""
    own = {name for promise in job.sensitive_promises().values() for name in promise.requested}
    values = {"k": job.promise.k, **{name: getattr(job.promise, name) for name in job.promise.requested}}
    figures = [f"{name} = {value}" if isinstance(value, (int, float)) else name for name, value in values.items()]
    return ", ".join([*figures, *sorted(own - set(values))])


def _loss(release: Release) -> Iterable[str]:
    lost = release.loss.per_column
    most = max(lost, key=lambda name: lost[name]) if lost else None
    where = f", most in {_printable(most)} ({percent(lost[most])})" if most is not None and lost[most] > 0 else ""
    yield f"{percent(release.loss.leaf)} of detail lost{where}."
    suppressed = release.summary()["suppressed"]
    rows = release.evidence.rows + (0 if release.kept_suppressed else suppressed)
    if suppressed:
        limit = f"{percent(suppressed / rows)}; the limit is {percent(release.job.suppress)}"
        what = "published as one group of *" if release.kept_suppressed else "left out"
        yield f"{suppressed:,} of {counted(rows, 'row')} were suppressed: {what} ({limit})."
        if release.job.suppressed == "star" and not release.kept_suppressed:
            yield "They were left out because one group of * would not keep the promise."


def _next_step(release: Release, saved: Path | None) -> Iterable[str]:
    job = release.job
    if release.evidence.classes == 1 and release.loss.leaf > LITTLE_LEFT:
        yield "Only one group of all rows keeps this promise, so almost no detail is left."
        yield "Next: promise less." + (" For t on numbers, try --t-distance ordered." if job.promise.t is not None else "")
        return
    again = _audit_command(release, saved) or "kohort audit, with the job that --save-job saves"
    unprotected = [name for name, promise in job.sensitive_promises().items() if not promise.requested]
    if unprotected:
        yield f"k alone does not protect {_printable(', '.join(unprotected))}: all rows of a group may have the same value."
        yield f"Next: see what groups reveal with: {again}"
    else:
        yield f"Next: check the file again at any time with: {again}"


def _audit_command(release: Release, saved: Path | None) -> str:
    """Return the command that audits the release; empty if only a saved job can hold its promises."""
    job, command = release.job, ["kohort", "audit", str(release.output)]
    unit = [word for name in job.names("unit") for word in ("--drop", name)]  # the release cannot show who is who
    if saved is not None:
        return shlex.join([*command, "--job", str(saved), *unit])
    own = any(promise.requested != job.promise.requested for promise in job.sensitive_promises().values())
    flags = {"k": job.promise.k, **{name: getattr(job.promise, name) for name in job.promise.requested}}
    if own or job.ranges == "grid" or not all(isinstance(value, (int, float)) for value in flags.values()):
        return ""
    for role in ("quasi", "sensitive"):
        published = [name for column in job.names(role) for name, _statistic in job.columns[column].published(column)]
        plain = all(name == name.strip() and not set(name) & set(',"\r\n') for name in published)
        given = [",".join(published)] if plain and published else published
        command += [word for names in given for word in (f"--{role}", names)]
    promised = [word for name, value in flags.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    return shlex.join([*command, *unit, *promised])


def _printable(text: str) -> str:
    """Return a text without characters that a terminal could take for a command."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def _print_checks(checks: Iterable[Check]) -> None:
    """Print one line for each check, failed checks first."""
    rows = [
        (check.verdict, check.name, _figure(check.required), _figure(check.found), check.meaning)
        for check in sorted(checks, key=lambda check: SEVERITY.get(check.verdict, 0))
    ]
    widths = [max(len(row[at]) for row in rows) for at in range(4)]
    for verdict, name, required, found, meaning in rows:
        figures = f"required {required:<{widths[2]}}  found {found:<{widths[3]}}"
        say(f"  {verdict:<{widths[0]}}  {name:<{widths[1]}}  {figures}  {meaning}")


def _figure(figure: float | str | None) -> str:
    if figure is None:
        return "-"
    if isinstance(figure, float):
        return f"{figure:.6g}"
    return f"{figure:,}" if isinstance(figure, int) else figure
