"""The suggested job as a file with a reason on every line that is a guess, and the trees it starts with.

What could be asked beside stands as a commented line. Whoever takes its mark away has a job that runs, so nothing is offered
that the table could not keep.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import tomli_w

from kohort.encoding.number_axis import Grid
from kohort.errors import MachineError, RequestError
from kohort.inspection.profile import Profile
from kohort.inspection.roles import FEW_VALUES, K, Suggestion
from kohort.job.files import require_job_file
from kohort.schema import trees as hierarchies
from kohort.schema.columns import DECIMAL_STEP, WHOLE_STEP
from kohort.schema.presets import PRESETS
from kohort.schema.tree_rules import ColumnValues, Rule
from kohort.tables.staging import staged
from kohort.tables.tables import require_other

if TYPE_CHECKING:
    from kohort.inspection.inspection import Inspection

FOR_EVERYONE = "public"
MOST_DIFFERENT = 3  # what is offered as l: a class of k rows has room for it
GOOD_SHARE = 0.05  # of the rows, from which what they hold is found in most parts of the table
CLOSE = 0.2  # what is offered as t


def job_text(inspection: Inspection, trees: Mapping[str, str] | None = None) -> str:
    """The job with comments; `trees` are files that stand for the rules of these columns."""
    lines = [
        f"# A job drafted from {inspection.rows:,} rows. Every guess is for you to check: roles decide what is protected.",
        *_how_to_run(inspection.source),
        "version = 1",
        'method = "auto"',
        *([f"encoding = {_text(inspection.encoding)}"] if inspection.encoding else []),
        *_missing_lines(inspection),
        *_grid_lines(inspection),
        *_preset_lines(inspection),
        "",
        "[promise]",
        f"# k = {K}  # everyone hides among at least this many: {K} if nothing is said; a public release usually asks for 11",
        "",
        *_risk_lines(inspection),
    ]
    for profile, suggestion in zip(inspection.profiles, inspection.suggestions, strict=True):
        lines += ["", *_column_lines(profile, suggestion, (trees or {}).get(profile.name))]
    return "\n".join(lines) + "\n"


def _how_to_run(source: str | None) -> list[str]:
    if source is None or not source.isprintable():
        return []
    return [f"# Run it: kohort anonymize {shlex.quote(source)} -o release.csv --job THIS_FILE"]


def _missing_lines(inspection: Inspection) -> list[str]:
    if not inspection.missing:
        return []
    tokens = ", ".join(_text(token) for token in inspection.missing)
    columns = sum(bool(profile.tokens) for profile in inspection.profiles)
    return [f"missing = [{tokens}]  # guess: stand for a missing value ({columns} column(s))"]


def _grid_lines(inspection: Inspection) -> list[str]:
    if not any(_on_grid(suggestion) for suggestion in inspection.suggestions) or not _default_grid_fits(inspection):
        return []
    return ['# ranges = "grid"  # ranges of numbers then end at multiples of a step, not at values that somebody has']


def _preset_lines(inspection: Inspection) -> list[str]:
    if inspection.risk.total < PRESETS[FOR_EVERYONE].k or not _default_grid_fits(inspection):
        return []
    floors = ", ".join(f"{name} {preset.k}" for name, preset in PRESETS.items())
    gridded = " and ".join(name for name, preset in PRESETS.items() if preset.ranges == "grid")
    text = f"sets k, by who gets the release: {floors}; {gridded} set ranges too"
    return [f"# preset = {_text(FOR_EVERYONE)}  # {text}"]


def _on_grid(suggestion: Suggestion) -> bool:
    """Whether the ends of its ranges are numbers, so that they could lie on a grid."""
    return suggestion.role == "quasi" and suggestion.rule is None and suggestion.type in ("integer", "decimal")


def _default_grid_fits(inspection: Inspection) -> bool:
    """Whether every column of numbers could end its ranges at multiples of the step that it gets if none is declared."""
    numbers = (
        (np.asarray(profile.reading.numbers), WHOLE_STEP if suggestion.type == "integer" else DECIMAL_STEP)
        for profile, suggestion in zip(inspection.profiles, inspection.suggestions, strict=True)
        if _on_grid(suggestion)
    )
    return all(Grid(Decimal(step)).suits(values) for values, step in numbers)


def _risk_lines(inspection: Inspection) -> list[str]:
    risk = inspection.risk
    if not risk.quasi:
        return ['# No column was recognised as one that others may know of a person. Name at least one: role = "quasi".']
    alone = f"{risk.unique:,} of {risk.total:,} {risk.counted_in} ({risk.unique_share:.1%})"
    return [
        *_person_lines(inspection),
        f"# As the table stands, {alone} are alone with their quasi-identifiers; k = {risk.k}.",
        *(
            f"# By {' and '.join(map(repr, worst.columns))} alone: {worst.unique:,} ({worst.share:.1%})."
            for worst in risk.singling_out
        ),
    ]


def _person_lines(inspection: Inspection) -> list[str]:
    """What is counted, where it is or may be persons with several rows."""
    if inspection.unit is not None:
        text = f"k counts persons: {inspection.risk.total:,} in {inspection.rows:,} rows"
        return [f"# Rows with the same {inspection.unit!r} are taken for one person's, and {text}."]
    return [
        f'# {name!r} repeats: if it numbers persons, give it role = "unit", or k counts rows and not persons.'
        for name in inspection.repeating
    ]


def _column_lines(profile: Profile, suggestion: Suggestion, tree_file: str | None) -> list[str]:
    missing = f", {profile.missing / max(profile.rows, 1):.1%} missing" if profile.missing else ""
    alone = f"{profile.unique_share:.1%}"
    lines = [
        f"[columns.{_key(profile.name)}]",
        f"# {profile.value_type}, {profile.distinct:,} distinct, {alone} of the rows alone with theirs{missing}",
        f'role = "{suggestion.role}"  # guess: {suggestion.reason}',
    ]
    if suggestion.role == "sensitive":
        return lines + _more_than_k(profile)
    return lines + _quasi_lines(profile, suggestion, tree_file) if suggestion.role == "quasi" else lines


def _quasi_lines(profile: Profile, suggestion: Suggestion, tree_file: str | None) -> list[str]:
    lines = []
    asks = bool(profile.reading.question) and not suggestion.format  # a declared type answers; so does the format of dates
    if tree_file is None or (suggestion.rule is None and asks):  # a tree file takes the values as text
        lines.append(f'type = "{suggestion.type}"')
    if suggestion.format:
        lines.append(f"format = {_text(suggestion.format)}{'  # guess' if profile.reading.question else ''}")
    elif asks and lines:
        lines[-1] += "  # guess"
    if suggestion.rule is not None:
        lines.append(f"hierarchy = {_text(tree_file) if tree_file else _rule(suggestion.rule)}  # guess")
    elif suggestion.choice is not None:
        instead = "fixed bands instead of the tightest ranges" + ("; then remove the type" if tree_file and asks else "")
        lines.append(f"# hierarchy = {_text(tree_file or suggestion.choice.short())}  # {instead}")
    if suggestion.step is not None:
        step = int(suggestion.step) if suggestion.step.is_integer() else suggestion.step
        lines.append(f'# step = {step}  # serves ranges = "grid" above: they then end at multiples of it')
    return lines


def _more_than_k(profile: Profile) -> list[str]:
    """A promise about the values of a sensitive column that the whole table keeps, so that some release can."""
    ordered = profile.reading.numbers is not None and not profile.reading.question
    if ordered and profile.distinct > FEW_VALUES:
        text = 'every class spreads as the table does; add t_distance = "ordered", or near values count as far apart'
        return [f"# t = {CLOSE}  # more than k: {text}"]
    least, rest = _different(profile)
    if least < 2:
        return []
    others = "another than the most frequent" if least == 2 else f"others than the {least - 1} most frequent"
    text = f"every class holds at least {least} different values; {rest:.0%} of the rows hold {others}"
    amounts = '; for amounts rather t with t_distance = "ordered"' if ordered and profile.distinct > 2 else ""
    return [f"# l = {least}  # more than k: {text}{amounts}"]


def _different(profile: Profile) -> tuple[int, float]:
    """How many different values every class could hold without losing much, and what share holds the last of them or a rarer."""
    share = np.sort(profile.counts)[::-1] / profile.rows
    rest = np.cumsum(share[::-1])[::-1]  # of each value and all that are rarer
    least = min(int(np.count_nonzero(rest >= GOOD_SHARE)), MOST_DIFFERENT)
    return least, float(rest[least - 1]) if least else 0.0


def _key(name: str) -> str:
    """A column's name as TOML writes a key."""
    return tomli_w.dumps({name: 0}).rpartition(" = ")[0]


def _rule(rule: Rule) -> str:
    """A rule as it stands in a job, in one line."""
    written = rule.written()
    if isinstance(written, str):
        return _text(written)
    parts = (
        f"{key} = [{', '.join(map(_text, value))}]" if isinstance(value, list) else f"{key} = {_text(value)}"
        for key, value in written.items()
        if value
    )
    return "{" + ", ".join(parts) + "}"


def _text(text: str) -> str:
    return tomli_w.dumps({"x": text}).partition(" = ")[2].rstrip("\n")


# --- lines for a terminal

NAME_WIDTH = 28


def report_lines(inspection: Inspection) -> list[str]:
    """A table of the columns, then who stands alone."""
    named = [_shown(profile.name) for profile in inspection.profiles]
    width = max(6, *map(len, named))
    lines = [
        f"{inspection.rows:,} rows, {len(inspection.profiles)} columns",
        f"  {'column':<{width}}  {'type':<9} {'distinct':>9} {'alone':>6} {'missing':>7}  suggested role, and why",
    ]
    for name, profile, suggestion in zip(named, inspection.profiles, inspection.suggestions, strict=True):
        missing = profile.missing / max(profile.rows, 1)
        tree = f"; tree {suggestion.rule.describe()}" if suggestion.rule else ""
        lines.append(
            f"  {name:<{width}}  {profile.value_type:<9} {profile.distinct:>9,} {profile.unique_share:>6.1%} {missing:>7.1%}  "
            f"{suggestion.role}: {suggestion.reason}{tree}"
        )
    if inspection.missing:
        lines.append(f"Taken for missing: {' '.join(inspection.missing)}")
    return [*lines, *(line.removeprefix("# ") for line in _risk_lines(inspection))]


def _shown(name: str) -> str:
    """A column's name on one line, a long one cut."""
    plain = name if name.isprintable() else repr(name)[1:-1]
    return plain if len(plain) <= NAME_WIDTH else plain[: NAME_WIDTH - 3] + "..."


# --- files


def write(inspection: Inspection, job: Path | None, folder: Path | None, *, force: bool) -> None:
    """The trees into their folder, then the job that names them; nothing is replaced unless forced."""
    grown = _tree_files(inspection, folder) if folder is not None else {}
    if job is not None:
        require_job_file(job, force)
    text = _job_naming({name: file for name, (file, _tree) in grown.items()}, job, inspection)
    for file, _tree in grown.values():
        require_other(file, [inspection.source])
        if file.exists() and not force:
            raise RequestError(f"{file} exists. Choose another folder for the trees, or replace it with force (--force).")
    with _all_or_nothing(folder) as made:
        for file, tree in grown.values():
            with staged(file, force) as part:
                hierarchies.save(tree, part)
            made.append(file)
        if job is not None:
            with staged(job, force) as part:
                part.write_bytes(text)


@contextmanager
def _all_or_nothing(folder: Path | None) -> Iterator[list[Path]]:
    """Make the folder of trees; if what follows fails, or is interrupted, take it and the files named back."""
    made: list[Path] = []
    was_there = folder is None or folder.is_dir()
    try:
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise MachineError(f"The folder {folder} could not be made: {error.strerror}.") from None
        yield made
    except BaseException:
        with suppress(OSError):
            for file in made:
                file.unlink(missing_ok=True)
            if folder is not None and not was_there:
                folder.rmdir()
        raise


def _job_naming(trees: Mapping[str, Path], job: Path | None, inspection: Inspection) -> bytes:
    """The job with these tree files, named from where it will lie."""
    home = job.parent if job is not None else Path()
    used = {name: os.path.relpath(file, home) for name, file in trees.items()}
    try:
        return job_text(inspection, used).encode()
    except UnicodeEncodeError:
        raise RequestError("The name of the folder of trees is not text, so no job can name it. Choose another.") from None


def _tree_files(inspection: Inspection, folder: Path) -> dict[str, tuple[Path, hierarchies.Tree]]:
    """For each quasi-identifier with a rule, or that could have one: its file and its tree."""
    files: dict[str, tuple[Path, hierarchies.Tree]] = {}
    taken: set[str] = set()
    for profile, suggestion in zip(inspection.profiles, inspection.suggestions, strict=True):
        rule: Rule | None = suggestion.rule or suggestion.choice
        if rule is None or not profile.distinct:
            continue
        values = ColumnValues(profile.name, profile.texts.to_pylist(), profile.counts, profile.reading)
        try:
            tree = rule.tree(values)
        except RequestError:  # too many values: the job goes on without
            continue
        stem = re.sub(r"[^\w .-]", "_", profile.name).strip(" .")[:80] or "column"
        stem = stem if stem.casefold() not in taken else f"{stem}-{len(taken) + 1}"
        taken.add(stem.casefold())
        files[profile.name] = (folder / f"{stem}.csv", tree)
    return files
