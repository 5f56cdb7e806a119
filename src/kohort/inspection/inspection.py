"""What is in this table? Types, what singles people out, and a job to start from: guesses, each with its reason, for review."""

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
from kohort.inspection.roles import Suggestion, may_number_persons, suggest
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.schema.columns import ROW_LIKE

__all__ = ["Combination", "Inspection", "Profile", "Risk", "Suggestion", "inspect_table", "require_header"]


@dataclass(frozen=True, eq=False, repr=False)
class Inspection:
    """What was found in a table, and what is suggested. No cell of the table is in anything that it shows."""

    rows: int
    profiles: tuple[Profile, ...]
    suggestions: tuple[Suggestion, ...]
    missing: tuple[str, ...]
    """Texts that seem to stand for a missing value."""
    risk: Risk
    """The table as it stands, for the suggested quasi-identifiers; in persons where a unit is suggested."""
    encoding: str | None = None
    source: str | None = None

    def __repr__(self) -> str:
        alone = f"{self.risk.unique:,} {self.risk.counted_in} alone with their quasi-identifiers"
        return f"Inspection({self.rows:,} rows, {len(self.profiles)} columns, k={self.risk.k} as it stands, {alone})"

    def _repr_html_(self) -> str:
        from kohort.report.notebook import inspection_html

        return inspection_html(self.to_dict())

    @cached_property
    def job(self) -> Job:
        """The suggested job."""
        return Job.from_toml(self.to_toml())

    def to_toml(self) -> str:
        """The suggested job as a commented file."""
        return draft.job_text(self)

    def write(
        self, path: str | os.PathLike[str] | None, *, trees: str | os.PathLike[str] | None = None, force: bool = False
    ) -> None:
        """Write the job, and with `trees` a file for each tree into that folder, which the job then uses."""
        draft.write(self, Path(path) if path is not None else None, Path(trees) if trees is not None else None, force=force)

    @cached_property
    def unit(self) -> str | None:
        """The column that seems to tell persons apart, where they have several rows."""
        both = zip(self.profiles, self.suggestions, strict=True)
        return next((one.name for one, said in both if said.role == "unit"), None)

    @cached_property
    def repeating(self) -> tuple[str, ...]:
        """Identifiers that repeat, if no unit is suggested: if one of them numbers persons, it should be the unit."""
        if self.unit is not None:
            return ()
        return tuple(one.profile.name for one in may_number_persons(self.profiles, self.suggestions))

    def lines(self) -> list[str]:
        """The findings as lines for a terminal."""
        return draft.report_lines(self)

    def to_dict(self) -> dict[str, Any]:
        """All figures, as `--json` prints them."""
        return {
            "rows": self.rows,
            "missing": list(self.missing),
            "unit": self.unit,
            "repeating": list(self.repeating),
            "columns": [_told(*pair) for pair in zip(self.profiles, self.suggestions, strict=True)],
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
    """Look at every column of a table; `missing` are texts already known to stand for nothing."""
    progress = progress or Progress()
    if not table.num_columns or not table.num_rows:
        raise RequestError(f"The table has no {'rows' if table.num_columns else 'columns'}.")
    with progress.step("inspect", total=table.num_columns):
        done = progress.slot()
        profiles = []
        for column in table.column_names:
            profiles.append(profile(table.column(column), column, missing))
            done[0] += 1
            progress.check()
        profiles, tokens = _agreed(table, profiles, missing)
        suggestions = suggest(profiles)
        quasi = [one for one, suggestion in zip(profiles, suggestions, strict=True) if suggestion.role == "quasi"]
        unit = next((one for one, suggestion in zip(profiles, suggestions, strict=True) if suggestion.role == "unit"), None)
        risk = assess(quasi, table.num_rows, unit)
    return Inspection(table.num_rows, tuple(profiles), tuple(suggestions), (*missing, *tokens), risk, encoding, source)


def require_header(inspection: Inspection) -> None:
    """Refuse a table whose names stand among the values below them: its header is somebody's record."""
    own = [at for at, one in enumerate(inspection.profiles, start=1) if pc.any(pc.equal(one.texts, one.name)).as_py()]
    if len(own) >= max(2, ROW_LIKE * len(inspection.profiles)):
        numbers = ", ".join(map(str, own[:8]))
        raise RequestError(
            f"The first line looks like a row: {len(own)} of {len(inspection.profiles)} names (columns {numbers}) are also "
            "values below them. Put the columns' names above it."
        )


def _agreed(table: pa.Table, profiles: list[Profile], missing: Sequence[str]) -> tuple[list[Profile], list[str]]:
    """Missing tokens hold for all columns; one that is a value somewhere is none anywhere."""
    found = {token for one in profiles for token in one.tokens}
    values = {
        token
        for token in found & AMBIGUOUS_TOKENS
        for one in profiles
        if token not in one.tokens and pc.any(pc.equal(one.texts, token)).as_py()
    }
    allowed = [token for token in TOKENS if token not in values]
    agreed = [
        profile(table.column(one.name), one.name, missing, allowed) if set(one.tokens) & values else one for one in profiles
    ]
    return agreed, [token for token in TOKENS if token in found - values]


def _told(one: Profile, suggestion: Suggestion) -> dict[str, Any]:
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
