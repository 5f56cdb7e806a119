"""What an audit found: a list of checks, each with what was required and what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from kohort.auditor.homogeneity import Homogeneity, Together

if TYPE_CHECKING:
    from kohort.report.notebook import Panels

Verdict = Literal["pass", "warn", "fail", "not run"]


@dataclass(frozen=True)
class Check:
    """One question asked of the release."""

    name: str
    required: int | float | str | None
    found: int | float | str | None
    verdict: Verdict
    meaning: str
    sql: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        facts = {"name": self.name, "required": self.required, "found": self.found, "verdict": self.verdict}
        return {**facts, "meaning": self.meaning}


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
    homogeneity: tuple[Homogeneity, ...] = ()
    """What each sensitive column shows to one who knows a person's class, where it was asked."""
    homogeneity_all: Together | None = None
    """What several sensitive columns show at once."""

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

    def graph(self) -> Panels:
        """Sensitive values and classes as a bipartite graph, of a small table: one matplotlib axes for each column."""
        from kohort.report.notebook import homogeneity_graph

        return homogeneity_graph(self)

    def curves(self) -> Panels:
        """How the number of classes alike to expect moves with n and with k: two matplotlib axes."""
        from kohort.report.notebook import homogeneity_curves

        return homogeneity_curves(self)

    def _repr_html_(self) -> str:
        from kohort.report.notebook import evidence_html  # how it looks is not the auditor's business

        return evidence_html(self)
