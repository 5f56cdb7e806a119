"""What can go wrong, in one voice: what, where, how much, and what to do. Never a cell value.

The exit code of the command line is a property of the error, so that every surface agrees on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches


class KohortError(Exception):
    """Base of every error that kohort raises on purpose."""

    exit_code = 3


class RequestError(KohortError):
    """The request is wrong: a job, a file, a column. Carries every mistake that was found, not only the first."""

    exit_code = 2

    def __init__(self, problems: str | Sequence[str]) -> None:
        self.problems = (problems,) if isinstance(problems, str) else tuple(problems)
        lead = "" if len(self.problems) == 1 else f"{len(self.problems)} mistakes:\n- "
        super().__init__(lead + "\n- ".join(self.problems))


class PromiseError(KohortError):
    """The promise cannot be kept on this table; nothing is published."""

    exit_code = 1


class AuditError(PromiseError):
    """The audit of what was about to be published failed; nothing is published."""


class MachineError(KohortError):
    """The machine failed: disk, memory, a missing extra."""

    exit_code = 3


class CancelledError(KohortError):
    """The run was stopped from outside; nothing is published."""

    exit_code = 130


@contextmanager
def gathered(problems: list[str]) -> Iterator[None]:
    """Note what is wrong with a request and go on, so that all of it is told at once."""
    try:
        yield
    except RequestError as error:
        problems += error.problems


def nearest(name: str, known: Iterable[str]) -> str:
    """A closing clause that points to the right name: the closest one, or all of them when none is close.

    >>> nearest("agee", ["age", "sex"])
    " Did you mean 'age'?"
    >>> nearest("weight", ["age", "sex"])
    ' Known: age, sex.'
    """
    names = list(known)
    return did_you_mean(name, names) or (f" Known: {', '.join(names)}." if names else "")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The closest of the known names as a closing clause, or nothing."""
    folded = {candidate.casefold(): candidate for candidate in known}
    match = get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return f" Did you mean {folded[match[0]]!r}?" if match else ""


def listed(names: Sequence[str], most: int = 8) -> str:
    """Column names for a message, a long list cut short."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
