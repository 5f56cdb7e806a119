"""What an audit found: a list of checks, each with what was required and what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Verdict = Literal["pass", "warn", "fail", "not run"]


@dataclass(frozen=True)
class Check:
    """One question asked of the release."""

    name: str
    required: int | str | None
    found: int | str | None
    verdict: Verdict
    meaning: str
    sql: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "required": self.required, "found": self.found, "verdict": self.verdict}


@dataclass(frozen=True, repr=False)
class Evidence:
    """The checks of one audit and the figures they rest on, all read from the release itself."""

    rows: int
    classes: int
    k: int
    """The smallest class."""
    dm: int
    """The sum of squared class sizes."""
    checks: tuple[Check, ...]
    columns: Mapping[str, str]
    """The name map of the view: q1, s1, o1, ... to columns of the release."""

    @property
    def passed(self) -> bool:
        return all(check.verdict != "fail" for check in self.checks)

    def __repr__(self) -> str:
        failed = ", ".join(check.name for check in self.failures())
        verdict = f"FAILED: {failed}" if failed else "passed"
        return f"Evidence({self.rows:,} rows, {self.classes:,} classes, k={self.k}, audit {verdict})"

    def failures(self) -> list[Check]:
        return [check for check in self.checks if check.verdict == "fail"]

    def to_dict(self) -> dict[str, Any]:
        return {"passed": self.passed, "checks": [check.to_dict() for check in self.checks]}

    def _repr_html_(self) -> str:
        from kohort.report.notebook import evidence_html  # how it looks is not the auditor's business

        return evidence_html(self)
