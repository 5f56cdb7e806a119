"""Write the suggested job as a TOML file in which every guess has a reason, its tree files, and the report for a terminal.

Further settings are written as commented lines. The job still runs after a user removes the `#` from such a line, so only
settings that the table can satisfy are written.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
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
from kohort.wording import counted, percent, quoted

if TYPE_CHECKING:
    from kohort.inspection.inspection import Inspection

FOR_EVERYONE = "public"
MOST_DIFFERENT = 3  # the largest l that is offered; a group of k rows can have so many different values
GOOD_SHARE = 0.05  # values in at least this share of the rows are found in most parts of the table
CLOSE = 0.2  # the t that is offered


def job_text(inspection: Inspection, trees: Mapping[str, str] | None = None) -> str:
    """Return the job with comments. `trees` are tree files by column, which replace the tree rules of these columns."""
    lines = [
        f"# Draft of a job for a table of {inspection.rows:,} rows. Check every guess: the roles decide what is protected.",
        *_how_to_run(inspection.source),
        "version = 1",
        'method = "auto"',
        *([f"encoding = {_text(inspection.encoding)}"] if inspection.encoding else []),
        *_missing_lines(inspection),
        *_grid_lines(inspection),
        *_preset_lines(inspection),
        "",
        "[promise]",
        f"# k = {K}  # minimum size of a group, in {inspection.risk.counted}; default {K}, public releases usually have 11",
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
    return [f"missing = [{tokens}]  # guess: these texts mean a missing value (found in {counted(columns, 'column')})"]


def _grid_lines(inspection: Inspection) -> list[str]:
    if not any(_on_grid(suggestion) for suggestion in inspection.suggestions) or not _default_grid_fits(inspection):
        return []
    return ['# ranges = "grid"  # ranges of numbers end at multiples of a step, not at exact values of the table']


def _preset_lines(inspection: Inspection) -> list[str]:
    if inspection.risk.total < PRESETS[FOR_EVERYONE].k or not _default_grid_fits(inspection):
        return []
    minimums = ", ".join(f"{name} {preset.k}" for name, preset in PRESETS.items())
    gridded = " and ".join(name for name, preset in PRESETS.items() if preset.ranges == "grid")
    text = f"sets k according to who receives the release: {minimums}; {gridded} also set ranges"
    return [f"# preset = {_text(FOR_EVERYONE)}  # {text}"]


def _on_grid(suggestion: Suggestion) -> bool:
    """Whether the column is published as ranges of numbers, which can end at multiples of a step."""
    return suggestion.role == "quasi" and suggestion.rule is None and suggestion.type in ("integer", "decimal")


def _default_grid_fits(inspection: Inspection) -> bool:
    """Whether the ranges of all columns of numbers can end at multiples of the default step."""
    numbers = (
        (np.asarray(profile.reading.numbers), WHOLE_STEP if suggestion.type == "integer" else DECIMAL_STEP)
        for profile, suggestion in zip(inspection.profiles, inspection.suggestions, strict=True)
        if _on_grid(suggestion)
    )
    return all(Grid(Decimal(step)).suits(values) for values, step in numbers)


def _risk_lines(inspection: Inspection) -> list[str]:
    """Return the comments about unique rows."""
    lines = [*_finding(inspection), *_combination_lines(inspection), *_person_lines(inspection)]
    return [f"# {line}" for line in lines]


def _finding(inspection: Inspection) -> list[str]:
    """Return how many rows are unique, and what that means. Each line has at most two short sentences."""
    risk = inspection.risk
    if not risk.quasi:
        nothing = "No column was recognised as a quasi-identifier (a column that other people may know)"
        return [f'{nothing}, so unique rows were not counted. Give at least one column role = "quasi".']
    unique = f"{risk.unique:,} of {risk.total:,} {risk.counted} {'is' if risk.unique == 1 else 'are'} unique"
    if not risk.unique:
        return [f"{unique}. In the smallest group, {risk.k:,} {risk.counted} have the same quasi-identifiers (k = {risk.k:,})."]
    if risk.counted_in == "persons":
        return [
            f"{unique}: no other person has a row with their quasi-identifiers.",
            "Anyone who knows these values of a person can find the rows of that person.",
        ]
    return [
        f"{unique}: no other row has {'its' if risk.unique == 1 else 'their'} quasi-identifiers.",
        "Anyone who knows these values of a person can find the row of that person.",
    ]


def _combination_lines(inspection: Inspection) -> list[str]:
    """Return how many rows are unique by two and by three columns."""
    risk = inspection.risk
    found = ((_listed(worst.columns), f"{worst.unique:,} of {risk.total:,}", percent(worst.share)) for worst in risk.singling_out)
    return [f"Using only {names}, {count} {risk.counted} ({share}) are unique." for names, count, share in found if risk.unique]


def _listed(names: Sequence[str]) -> str:
    *first, last = map(repr, names)
    return f"{', '.join(first)} and {last}"


def _person_lines(inspection: Inspection) -> list[str]:
    """Return what is counted, if people have or may have several rows."""
    if inspection.unit is not None:
        counts = f"k counts people: {inspection.risk.total:,} people in {inspection.rows:,} rows"
        return [f"Rows with the same {inspection.unit!r} are treated as rows of one person. {counts}."]
    return [
        f'{name!r} has repeated values. If each value is one person, give this column role = "unit". Without it, k counts rows '
        "and not people."
        for name in inspection.repeating
    ]


def _column_lines(profile: Profile, suggestion: Suggestion, tree_file: str | None) -> list[str]:
    """Return the table of one column in the job file."""
    missing = f", {percent(profile.missing / max(profile.rows, 1))} missing" if profile.missing else ""
    once = f"{percent(profile.unique_share)} of rows have a value that occurs only once"
    lines = [
        f"[columns.{_key(profile.name)}]",
        f"# {profile.value_type}, {profile.distinct:,} distinct values, {once}{missing}",
        f'role = "{suggestion.role}"  # guess: {suggestion.reason}',
    ]
    if suggestion.role == "sensitive":
        return lines + _more_than_k(profile)
    return lines + _quasi_lines(profile, suggestion, tree_file) if suggestion.role == "quasi" else lines


def _quasi_lines(profile: Profile, suggestion: Suggestion, tree_file: str | None) -> list[str]:
    """Return the settings of a quasi-identifier in the job file."""
    lines = []
    # If the type is uncertain, the job must declare it, unless the format of dates already makes it certain.
    uncertain = bool(profile.reading.question) and not suggestion.format
    if tree_file is None or (suggestion.rule is None and uncertain):  # with a tree file, values are text and need no type
        lines.append(f'type = "{suggestion.type}"')
    if suggestion.format:
        lines.append(f"format = {_text(suggestion.format)}{'  # guess' if profile.reading.question else ''}")
    elif uncertain and lines:
        lines[-1] += "  # guess"
    if suggestion.rule is not None:
        lines.append(f"hierarchy = {_text(tree_file) if tree_file else _rule(suggestion.rule)}  # guess")
    elif suggestion.choice is not None:
        remove = "; if you use it, remove the type" if tree_file and uncertain else ""
        lines.append(
            f"# hierarchy = {_text(tree_file or suggestion.choice.short())}  # fixed bands instead of the tightest ranges{remove}"
        )
    if suggestion.step is not None:
        step = int(suggestion.step) if suggestion.step.is_integer() else suggestion.step
        lines.append(f'# step = {step}  # only with ranges = "grid" above: ranges end at multiples of this number')
    return lines


def _more_than_k(profile: Profile) -> list[str]:
    """Offer a promise about the values of a sensitive column. The whole table keeps it, so a release can keep it."""
    ordered = profile.reading.numbers is not None and not profile.reading.question
    if ordered and profile.distinct > FEW_VALUES:
        text = "in each group, the values are distributed almost as in the whole table"
        distance = 'also add t_distance = "ordered", so that similar numbers count as similar'
        return [f"# t = {CLOSE}  # stronger than k: {text}; {distance}"]
    least, rest = _different(profile)
    if least < 2:
        return []
    others = "a value other than the most frequent" if least == 2 else f"a value other than the {least - 1} most frequent"
    text = f"each group has at least {least} different values; {100 * rest:.0f} % of the rows have {others}"
    amounts = '; for amounts, t with t_distance = "ordered" is better' if ordered and profile.distinct > 2 else ""
    return [f"# l = {least}  # stronger than k: {text}{amounts}"]


def _different(profile: Profile) -> tuple[int, float]:
    """Return how many different values each group can have without much loss.

    Also return the share of rows with the last of these values, ranked by frequency, or a rarer one.
    """
    share = np.sort(profile.counts)[::-1] / profile.rows
    rest = np.cumsum(share[::-1])[::-1]  # share of each value together with all rarer values
    least = min(int(np.count_nonzero(rest >= GOOD_SHARE)), MOST_DIFFERENT)
    return least, float(rest[least - 1]) if least else 0.0


def _key(name: str) -> str:
    """Write a column name as a TOML key."""
    return tomli_w.dumps({name: 0}).rpartition(" = ")[0]


def _rule(rule: Rule) -> str:
    """Write a tree rule in one line, as it appears in a job."""
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
    """Write a text as a TOML string."""
    return tomli_w.dumps({"x": text}).partition(" = ")[2].rstrip("\n")


# --- lines for a terminal

NAME_WIDTH = 28
ONCE_EXPLAINED = "'once' is the share of rows with a value that occurs only once in the column."


def report_lines(inspection: Inspection) -> list[str]:
    """Return the report for a terminal: first the finding and what it means; then the table of columns."""
    named = [_shown(profile.name) for profile in inspection.profiles]
    width = max(6, *map(len, named))
    lines = [
        *_finding(inspection),
        *_combination_lines(inspection),
        *_person_lines(inspection),
        "",
        f"{inspection.rows:,} rows, {len(inspection.profiles)} columns. {ONCE_EXPLAINED}",
        f"  {'column':<{width}}  {'type':<9} {'distinct':>9} {'once':>7} {'missing':>7}  {'role':<10}  reason for this role",
    ]
    for name, profile, suggestion in zip(named, inspection.profiles, inspection.suggestions, strict=True):
        once, missing = percent(profile.unique_share), percent(profile.missing / max(profile.rows, 1))
        tree = f" Tree: {suggestion.rule.describe()}" if suggestion.rule else ""
        lines.append(
            f"  {name:<{width}}  {profile.value_type:<9} {profile.distinct:>9,} {once:>7} {missing:>7}  "
            f"{suggestion.role:<10}  {suggestion.reason}{tree}"
        )
    if inspection.missing:
        lines.append(f"Treated as missing values: {' '.join(inspection.missing)}")
    return lines


def _shown(name: str) -> str:
    """Return a column name on one line; a long name is shortened."""
    plain = name if name.isprintable() else repr(name)[1:-1]
    return plain if len(plain) <= NAME_WIDTH else plain[: NAME_WIDTH - 3] + "..."


# --- files


def write(inspection: Inspection, job: Path | None, folder: Path | None, *, force: bool) -> None:
    """Write the trees to their folder, then the job that uses them. Existing files are replaced only with `force`."""
    trees = _tree_files(inspection, folder) if folder is not None else {}
    if job is not None:
        require_job_file(job, force)
    text = _job_with_trees({name: file for name, (file, _tree) in trees.items()}, job, inspection)
    for file, _tree in trees.values():
        require_other(file, [inspection.source])
        if file.exists() and not force:
            raise RequestError(
                f"The file {quoted(file)} exists. Choose another folder for trees (--trees), or set force (--force)."
            )
    with _all_or_nothing(folder) as made:
        for file, tree in trees.values():
            with staged(file, force) as part:
                hierarchies.save(tree, part)
            made.append(file)
        if job is not None:
            with staged(job, force) as part:
                part.write_bytes(text)


@contextmanager
def _all_or_nothing(folder: Path | None) -> Iterator[list[Path]]:
    """Make the folder of trees. If the body fails or is interrupted, delete the folder and the files in the yielded list."""
    made: list[Path] = []
    existed = folder is None or folder.is_dir()
    try:
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise MachineError(
                    f"The folder {quoted(folder)} cannot be made: {error.strerror}. Choose another folder."
                ) from None
        yield made
    except BaseException:
        with suppress(OSError):
            for file in made:
                file.unlink(missing_ok=True)
            if folder is not None and not existed:
                folder.rmdir()
        raise


def _job_with_trees(trees: Mapping[str, Path], job: Path | None, inspection: Inspection) -> bytes:
    """Return the job that uses these tree files, with paths relative to the job file."""
    home = job.parent if job is not None else Path()
    used = {name: os.path.relpath(file, home) for name, file in trees.items()}
    try:
        return job_text(inspection, used).encode()
    except UnicodeEncodeError:
        raise RequestError(
            "The name of the folder of trees is not valid text, so the job cannot contain it. Choose another folder."
        ) from None


def _tree_files(inspection: Inspection, folder: Path) -> dict[str, tuple[Path, hierarchies.Tree]]:
    """Return the file and the tree of each quasi-identifier with a suggested or possible tree rule."""
    files: dict[str, tuple[Path, hierarchies.Tree]] = {}
    taken: set[str] = set()
    for profile, suggestion in zip(inspection.profiles, inspection.suggestions, strict=True):
        rule: Rule | None = suggestion.rule or suggestion.choice
        if rule is None or not profile.distinct:
            continue
        values = ColumnValues(profile.name, profile.texts.to_pylist(), profile.counts, profile.reading)
        try:
            tree = rule.tree(values)
        except RequestError:  # the column has too many values for a tree, so the job has none
            continue
        stem = re.sub(r"[^\w .-]", "_", profile.name).strip(" .")[:80] or "column"
        stem = stem if stem.casefold() not in taken else f"{stem}-{len(taken) + 1}"
        taken.add(stem.casefold())
        files[profile.name] = (folder / f"{stem}.csv", tree)
    return files
