"""Checks of a release or of an error that several contracts use. They read only published values and messages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort import api
from kohort.errors import AuditError, PromiseError, RequestError
from kohort.job.job import Job
from kohort.methods import Method
from kohort.release import Release
from kohort.testing.plain_counts import broken, grouped
from kohort.testing.sample_tables import QUASI


def _published(release: Release) -> tuple[list[dict[str, Any]], NDArray[np.int64]]:
    """Return the rows of a release that keeps the order of the source, and the row of the source for each of them."""
    rows = np.arange(len(release.labels)) if release.kept_suppressed else np.flatnonzero(release.labels >= 0)
    assert release.table.num_rows == len(rows), "the release does not have one row for each row that has a label"
    return release.table.to_pylist(), rows


def identity(table: pa.Table, job: Job) -> Counter[tuple[Any, ...]]:
    """Count the rows of a release, each as its original values and its published values. Empty text counts as missing.

    Two releases that differ only in the order of their rows give the same result.
    """
    text, rows = _published(api.anonymize(table, job, keep_order=True))
    own = [
        (*(None if row[name] == "" else row[name] for name in QUASI), *(row[name] for name in ("secret", "ward")))
        for row in table.take(rows).to_pylist()
    ]
    return Counter((*one, *(row[name] for name in QUASI)) for one, row in zip(own, text, strict=True))


def require_kept(table: pa.Table, job: Job) -> Release | None:
    """Check that the published values keep the promises, or that the job fails with a correct error that names the promise.

    Return the release, or None if there was an error.
    """
    source = table.to_pylist()
    unit = next(iter(job.names("unit")), None)
    persons = [row[unit] for row in source] if unit else list(range(len(source)))
    release = _release_or_error(table, job)
    if isinstance(release, PromiseError) and job.algorithm.may_refuse:
        return None
    if not isinstance(release, Release):
        impossible = broken(source, [range(len(source))], job, persons)
        assert impossible, f"the method raised an error, but all rows as one group would keep the promises: {release}"
        _require_sentence(str(release), impossible, source, job)
        return None
    text, rows = _published(release)
    quasi = job.names("quasi")
    assert unit not in release.table.column_names, "the unit column was published"
    assert release.summary()["suppressed"] <= Fraction(str(job.suppress)) * len(source), "more rows suppressed than allowed"
    classes = grouped(tuple(row[name] for name in quasi) for row in text)
    failing = broken(text, classes, job, [persons[row] for row in rows])
    assert not failing, f"the release breaks these promises: {', '.join(failing)}"
    return release


def _release_or_error(table: pa.Table, job: Job) -> Release | PromiseError | RequestError:
    try:
        return api.anonymize(table, job, keep_order=True)
    except AuditError:  # a release that the audit rejects is a failure of the method
        raise
    except (PromiseError, RequestError) as error:
        return error


def _require_sentence(text: str, failing: Sequence[str], source: Sequence[Mapping[str, Any]], job: Job) -> None:
    """Check that the error names a promise that cannot be kept and its column, ends as a sentence, and contains no cell value."""
    named = [tuple(reversed(name.split("."))) for name in failing]
    right = [(promise, *column) for promise, *column in named if re.search(rf"\b{promise}\b", text)]
    assert right, f"the error names none of the promises {', '.join(failing)}: {text}"
    assert any(all(repr(name) in text for name in column) for _promise, *column in right), f"the error names no column: {text}"
    assert text.endswith("."), f"the error does not end with a full stop: {text}"
    cells = {str(row[name]) for row in source for name in job.names("sensitive")}
    shown = [cell for cell in cells if cell.isalpha() and cell != "None" and re.search(rf"\b{cell}\b", text)]
    assert not shown, "the error contains a cell value"


@contextmanager
def refusals_allowed(method: Method) -> Iterator[None]:
    """Ignore a `PromiseError` of a method that may refuse jobs (`may_refuse`)."""
    try:
        yield
    except PromiseError:
        if not method.may_refuse:
            raise


def require_raises(error: type[Exception], call: Callable[[], object]) -> None:
    """Check that a call raises this error."""
    try:
        call()
    except error:
        return
    raise AssertionError(f"{error.__name__} was not raised")
