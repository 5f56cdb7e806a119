"""How the checks of an audit are printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.cli.process import say

if TYPE_CHECKING:
    from kohort.auditor import Evidence


def print_checks(evidence: Evidence) -> None:
    """Print whether the audit passed, then a line for each check."""
    say("audit " + ("passed" if evidence.passed else "FAILED"))
    longest = max(len(check.name) for check in evidence.checks)
    for check in evidence.checks:
        required, found = _figure(check.required), _figure(check.found)
        say(f"  {check.verdict:<7} {check.name:<{longest}}  required {required}, found {found}: {check.meaning}")


def _figure(figure: float | str | None) -> str:
    return "-" if figure is None else f"{figure:.6g}" if isinstance(figure, float) else str(figure)
