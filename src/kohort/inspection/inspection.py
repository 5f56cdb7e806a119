"""Inspect a table: detect types, count unique rows, and suggest roles with reasons (`Inspection`)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kohort.errors import RequestError
from kohort.inspection import job_draft as draft
from kohort.inspection.profile import AMBIGUOUS_TOKENS, TOKENS, Profile, profile
from kohort.inspection.risk import Combination, Risk, assess
from kohort.inspection.roles import Suggestion, repeating_identifiers, suggest
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.schema.columns import NO_ROWS, ROW_LIKE

__all__ = ["Combination", "Inspection", "Profile", "Risk", "Suggestion", "inspect_table", "require_header"]


@dataclass(frozen=True, eq=False, repr=False)
class Inspection:
    """What `kohort.inspect` found in a table, and the roles that it suggests.

    The texts of an inspection contain column names and counts, but no cells of the table. Every suggested role is a guess.
    Check it before you use the job.

    Attributes
    ----------
    rows : int
        Number of rows in the table.
    profiles : tuple of Profile
        Per column: type, number of distinct values, number of unique rows, number of missing values. Profiles contain values
        of the table, so do not publish them.
    suggestions : tuple of Suggestion
        Per column: suggested role, reason, type and tree rule.
    missing : tuple of str
        Texts that mean a missing value: those given, and those that kohort recognised.
    risk : Risk
        Groups and unique rows by the suggested quasi-identifiers. Counts people if a unit is suggested.
    encoding : str or None
        Encoding of the text file, if given.
    source : str or None
        Path of the file, if the table was read from one.
    job : Job
        The suggested job.
    unit : str or None
        The column that identifies people with several rows.
    repeating : tuple of str
        Identifiers that may have to be the unit.

    Examples
    --------
    >>> import kohort as kh
    >>> found = kh.inspect(kh.datasets.hospital(rows=500).table)
    >>> found
    Inspection(500 rows, 8 columns, smallest group k=1, 500 of 500 rows unique)
    >>> print(found.lines()[0])
    500 of 500 rows are unique: no other row has their quasi-identifiers.
    >>> found.suggestions[2].role, found.suggestions[2].reason
    ('quasi', 'Column name suggests an age. Other people may know it: quasi-identifier.')

    """

    rows: int
    profiles: tuple[Profile, ...]
    suggestions: tuple[Suggestion, ...]
    missing: tuple[str, ...]
    risk: Risk
    encoding: str | None = None
    source: str | None = None

    def __repr__(self) -> str:
        """Return the figures in one line."""
        risk = "no quasi-identifier recognised"
        if self.risk.quasi:
            risk = f"smallest group k={self.risk.k}, {self.risk.unique:,} of {self.risk.total:,} {self.risk.counted} unique"
        return f"Inspection({self.rows:,} rows, {len(self.profiles)} columns, {risk})"

    def _repr_html_(self) -> str:
        from kohort.report.notebook import inspection_html

        return inspection_html(self.to_dict())

    @cached_property
    def job(self) -> Job:
        """The suggested job, as an object for `kohort.anonymize`.

        Raises
        ------
        RequestError
            If no column is suggested as a quasi-identifier.

        Examples
        --------
        >>> import kohort as kh
        >>> kh.inspect(kh.datasets.hospital(rows=500).table).job.names("sensitive")
        ['diagnosis', 'cost']

        """
        return Job.from_toml(self.to_toml())

    def to_toml(self) -> str:
        """Return the suggested job as the text of a TOML file with comments.

        Returns
        -------
        str
            The text that `write` writes. Every guess is marked and has a reason.

        Examples
        --------
        >>> import kohort as kh
        >>> text = kh.inspect(kh.datasets.hospital(rows=500).table).to_toml()
        >>> print(text[text.index("[columns.sex]"):text.index("[columns.zip]")].rstrip())
        [columns.sex]
        # text, 2 distinct values, 0 % of rows have a value that occurs only once
        role = "quasi"  # guess: Column name suggests sex or gender. Other people may know it: quasi-identifier.
        type = "text"

        """
        return draft.job_text(self)

    def write(
        self, path: str | os.PathLike[str] | None, *, trees: str | os.PathLike[str] | None = None, force: bool = False
    ) -> None:
        """Write the suggested job to a file, and optionally its trees to a folder.

        Parameters
        ----------
        path : str, path or None
            The job file (.toml). With None no job is written.
        trees : str, path or None
            A folder. If given, one file per tree is written there, and the job uses these files.
        force : bool
            Replace existing files.

        Raises
        ------
        RequestError
            If a file exists and `force` is not set. Nothing is written then.
        MachineError
            If the files cannot be written. Nothing is left behind then.

        Examples
        --------
        >>> import tempfile
        >>> import kohort as kh
        >>> found = kh.inspect(kh.datasets.hospital(rows=500).table)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found.write(f"{folder}/job.toml")
        ...     kh.Job.build(f"{folder}/job.toml").names("quasi")
        ['birth_date', 'age', 'sex', 'zip', 'occupation']

        """
        draft.write(self, Path(path) if path is not None else None, Path(trees) if trees is not None else None, force=force)

    @cached_property
    def unit(self) -> str | None:
        """The column that identifies people, if people have several rows; None if there is no such column.

        Examples
        --------
        >>> import kohort as kh
        >>> import pyarrow as pa
        >>> ages, sexes = [20 + n % 50 for n in range(50)], ["f", "m"] * 25
        >>> visits = pa.table({"patient": [n for n in range(50)] * 3, "age": ages * 3, "sex": sexes * 3})
        >>> kh.inspect(visits).unit
        'patient'

        """
        pairs = zip(self.profiles, self.suggestions, strict=True)
        return next((one.name for one, suggestion in pairs if suggestion.role == "unit"), None)

    @cached_property
    def repeating(self) -> tuple[str, ...]:
        """Identifiers with repeated values, if no unit is suggested. If each value of one is a person, make it the unit.

        Examples
        --------
        >>> import kohort as kh
        >>> kh.inspect(kh.datasets.hospital(rows=500).table).repeating
        ()

        """
        if self.unit is not None:
            return ()
        return tuple(one.profile.name for one in repeating_identifiers(self.profiles, self.suggestions))

    def lines(self) -> list[str]:
        """Return the findings as lines of text, as `kohort inspect` prints them.

        Returns
        -------
        list of str
            First the number of unique rows and what it means; then one line per column.

        Examples
        --------
        >>> import kohort as kh
        >>> lines = kh.inspect(kh.datasets.hospital(rows=500).table).lines()
        >>> [line for line in lines if line.startswith("  age")]
        ['  age         integer  ... Column name suggests an age. Other people may know it: quasi-identifier.']

        """
        return draft.report_lines(self)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures and suggestions as a dict, as `kohort inspect --json` prints them.

        Returns
        -------
        dict
            With the keys `rows`, `missing`, `unit`, `repeating`, `columns` and `risk`. It contains no cells of the table.

        Examples
        --------
        >>> import kohort as kh
        >>> facts = kh.inspect(kh.datasets.hospital(rows=500).table).to_dict()
        >>> facts["rows"], facts["risk"]["k"], facts["columns"][2]["role"]
        (500, 1, 'quasi')

        """
        return {
            "rows": self.rows,
            "missing": list(self.missing),
            "unit": self.unit,
            "repeating": list(self.repeating),
            "columns": [_column_facts(*pair) for pair in zip(self.profiles, self.suggestions, strict=True)],
            "risk": {
                "quasi": list(self.risk.quasi),
                "counted_in": self.risk.counted_in,
                "total": self.risk.total,
                "k": self.risk.k,
                "classes": self.risk.classes,
                "unique": self.risk.unique,
                "unique_share": round(self.risk.unique_share, 6),
                "singling_out": [
                    {"columns": list(worst.columns), "unique": worst.unique, "unique_share": round(worst.share, 6)}
                    for worst in self.risk.singling_out
                ],
            },
        }


def inspect_table(
    table: pa.Table,
    *,
    missing: Sequence[str] = (),
    encoding: str | None = None,
    source: str | None = None,
    progress: Progress | None = None,
) -> Inspection:
    """Inspect every column of a table. `missing` are texts that mean a missing value."""
    progress = progress or Progress()
    if not table.num_columns or not table.num_rows:
        raise RequestError(NO_ROWS if table.num_columns else "The table has no columns. Check that the export contains data.")
    with progress.step("inspect", total=table.num_columns):
        done = progress.slot()
        profiles = []
        for column in table.column_names:
            profiles.append(profile(table.column(column), column, missing))
            done[0] += 1
            progress.check()
        profiles, tokens = _with_common_tokens(table, profiles, missing)
        suggestions = suggest(profiles)
        quasi = [one for one, suggestion in zip(profiles, suggestions, strict=True) if suggestion.role == "quasi"]
        unit = next((one for one, suggestion in zip(profiles, suggestions, strict=True) if suggestion.role == "unit"), None)
        risk = assess(quasi, table.num_rows, unit)
    return Inspection(table.num_rows, tuple(profiles), tuple(suggestions), (*missing, *tokens), risk, encoding, source)


def require_header(inspection: Inspection) -> None:
    """Raise an error if column names also occur as values in their columns: the header is then probably a row of data."""
    repeated = [at for at, one in enumerate(inspection.profiles, start=1) if pc.any(pc.equal(one.texts, one.name)).as_py()]
    if len(repeated) >= max(2, ROW_LIKE * len(inspection.profiles)):
        numbers = ", ".join(map(str, repeated[:8]))
        raise RequestError(
            f"The first line looks like a row of data: {len(repeated)} of {len(inspection.profiles)} column names (columns "
            f"{numbers}) also occur as values in their columns. Add a line with the column names above it."
        )


def _with_common_tokens(table: pa.Table, profiles: list[Profile], missing: Sequence[str]) -> tuple[list[Profile], list[str]]:
    """Use the same texts for missing values in all columns. A text that is a value in one column means missing in none."""
    found = {token for one in profiles for token in one.tokens}
    values = {
        token
        for token in found & AMBIGUOUS_TOKENS
        for one in profiles
        if token not in one.tokens and pc.any(pc.equal(one.texts, token)).as_py()
    }
    allowed = [token for token in TOKENS if token not in values]
    changed = [
        profile(table.column(one.name), one.name, missing, allowed) if set(one.tokens) & values else one for one in profiles
    ]
    return changed, [token for token in TOKENS if token in found - values]


def _column_facts(one: Profile, suggestion: Suggestion) -> dict[str, Any]:
    """Return what `to_dict` shows about one column."""
    rule, choice = suggestion.rule, suggestion.choice
    return {
        "name": one.name,
        "type": one.value_type,
        "format": one.reading.format,
        "distinct": one.distinct,
        "unique": one.unique,
        "unique_share": round(one.unique_share, 6),
        "missing": one.missing,
        "missing_tokens": list(one.tokens),
        "looks_like": one.contents.described(),
        "role": suggestion.role,
        "reason": suggestion.reason,
        "tree": rule.describe() if rule else None,
        "possible_tree": choice.describe() if choice else None,
        "possible_step": suggestion.step,
    }
