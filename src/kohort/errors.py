"""The errors that kohort raises on purpose. A message says what happened, where, and what to do. It never shows a cell value.

Each error carries the exit code of the command line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches

CLOSE = 0.8  # names are suggested only above this similarity; a wrong suggestion confuses more than none


class KohortError(Exception):
    """Base class of all errors that kohort raises on purpose.

    Attributes
    ----------
    exit_code : int
        Exit code of the command line for this error.

    Examples
    --------
    >>> import kohort as kh
    >>> try:
    ...     kh.audit("patients.dat", quasi=["age"], k=5)
    ... except kh.KohortError as error:
    ...     print(type(error).__name__, error.exit_code)
    RequestError 2
    """

    exit_code = 3


class RequestError(KohortError):
    """The request is wrong: a setting, a file or a column. Nothing is published.

    Attributes
    ----------
    problems : tuple of str
        Every mistake that was found, one sentence each.

    Examples
    --------
    >>> import kohort as kh
    >>> try:
    ...     kh.Job.build(quasi="age", k=1, method="mondrain")
    ... except kh.RequestError as error:
    ...     print(len(error.problems))
    2
    """

    exit_code = 2

    def __init__(self, problems: str | Sequence[str]) -> None:
        self.problems = (problems,) if isinstance(problems, str) else tuple(problems)
        lead = "" if len(self.problems) == 1 else f"{len(self.problems)} mistakes:\n- "
        super().__init__(lead + "\n- ".join(self.problems))


class PromiseError(KohortError):
    """The table cannot keep the promise. Nothing is published.

    Examples
    --------
    >>> import kohort as kh
    >>> table = kh.datasets.hospital(rows=100).table.select(["age", "sex"])
    >>> try:
    ...     kh.anonymize(table, quasi=["age", "sex"], k=101)
    ... except kh.PromiseError as error:
    ...     print(error.exit_code)
    1
    """

    exit_code = 1


class AuditError(PromiseError):
    """The audit of the result failed before it was published. Nothing is published. This is a fault of kohort: report it.

    Examples
    --------
    >>> import kohort as kh
    >>> issubclass(kh.AuditError, kh.PromiseError), kh.AuditError.exit_code
    (True, 1)
    """


class MachineError(KohortError):
    """The machine failed: disk or memory is full, or a component is not installed. Nothing is published.

    Examples
    --------
    >>> import kohort as kh
    >>> kh.MachineError.exit_code
    3
    """

    exit_code = 3


class CancelledError(KohortError):
    """The run was cancelled, for example by `Progress.cancel`. Nothing is published.

    Examples
    --------
    >>> import kohort as kh
    >>> progress = kh.Progress()
    >>> progress.cancel()
    >>> sample = kh.datasets.hospital(rows=100)
    >>> try:
    ...     kh.anonymize(sample.table, sample.job, progress=progress)
    ... except kh.CancelledError as error:
    ...     print(error.exit_code)
    130
    """

    exit_code = 130


@contextmanager
def gathered(problems: list[str]) -> Iterator[None]:
    """Add the mistakes of a `RequestError` to a list instead of raising it, so that one message reports all mistakes."""
    try:
        yield
    except RequestError as error:
        problems += error.problems


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a sentence that names the closest known name, or all known names when none is close.

    >>> nearest("agee", ["age", "sex"])
    " Did you mean 'age'?"
    >>> nearest("weight", ["age", "sex"])
    ' Known: age, sex.'
    """
    names = list(known)
    return did_you_mean(name, names) or (f" Known: {', '.join(names)}." if names else "")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a sentence that names the closest known name, or an empty text if none is close.

    >>> did_you_mean("birthdate", ["birth_date", "sex"]), did_you_mean("income", ["name", "sex"])
    (" Did you mean 'birth_date'?", '')
    """
    folded = {candidate.casefold(): candidate for candidate in known}
    match = get_close_matches(name.casefold(), folded, n=1, cutoff=CLOSE)
    return f" Did you mean {folded[match[0]]!r}?" if match else ""


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return column names for a message. A long list is shortened."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
