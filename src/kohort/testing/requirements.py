"""What contracts require of a release or of an error, by the published text alone."""

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
    """The rows of a release that kept its order, and the row of the source that each of them was."""
    rows = np.arange(len(release.labels)) if release.kept_suppressed else np.flatnonzero(release.labels >= 0)
    assert release.table.num_rows == len(rows), "every row that has a label is published"
    return release.table.to_pylist(), rows


def identity(table: pa.Table, job: Job) -> Counter[tuple[Any, ...]]:
    """A release up to the order of its rows: each record's own values beside its published ones. Empty is missing."""
    text, rows = _published(api.anonymize(table, job, keep_order=True))
    own = [
        (*(None if row[name] == "" else row[name] for name in QUASI), *(row[name] for name in ("secret", "ward")))
        for row in table.take(rows).to_pylist()
    ]
    return Counter((*one, *(row[name] for name in QUASI)) for one, row in zip(own, text, strict=True))


def require_kept(table: pa.Table, job: Job) -> Release | None:
    """The published text keeps what was asked, or there is an error that is right and says what to do."""
    source = table.to_pylist()
    unit = next(iter(job.names("unit")), None)
    persons = [row[unit] for row in source] if unit else list(range(len(source)))
    release = _release_or_error(table, job)
    if isinstance(release, PromiseError) and job.algorithm.may_refuse:
        return None
    if not isinstance(release, Release):
        impossible = broken(source, [range(len(source))], job, persons)
        assert impossible, f"all rows as one class would keep it: {release}"
        _require_sentence(str(release), impossible, source, job)
        return None
    text, rows = _published(release)
    quasi = job.names("quasi")
    assert unit not in release.table.column_names, "the unit is not published"
    assert release.summary()["suppressed"] <= Fraction(str(job.suppress)) * len(source), "more rows suppressed than allowed"
    classes = grouped(tuple(row[name] for name in quasi) for row in text)
    assert not (failing := broken(text, classes, job, [persons[row] for row in rows])), f"not kept: {', '.join(failing)}"
    return release


def _release_or_error(table: pa.Table, job: Job) -> Release | PromiseError | RequestError:
    try:
        return api.anonymize(table, job, keep_order=True)
    except AuditError:  # a method that makes what the audit must stop has failed, too
        raise
    except (PromiseError, RequestError) as error:
        return error


def _require_sentence(text: str, failing: Sequence[str], source: Sequence[Mapping[str, Any]], job: Job) -> None:
    """The error names a promise that fails and its column, in sentences, without a cell."""
    named = [tuple(reversed(name.split("."))) for name in failing]
    right = [(promise, *column) for promise, *column in named if re.search(rf"\b{promise}\b", text)]
    assert right, f"none of {', '.join(failing)} is named: {text}"
    assert any(all(repr(name) in text for name in column) for _promise, *column in right), f"the column is not named: {text}"
    assert text.endswith(".")
    cells = {str(row[name]) for row in source for name in job.names("sensitive")}
    assert not any(re.search(rf"\b{cell}\b", text) for cell in cells if cell.isalpha() and cell != "None"), "no cell is told"


@contextmanager
def refusals_allowed(method: Method) -> Iterator[None]:
    """A method that may refuse may do so here."""
    try:
        yield
    except PromiseError:
        if not method.may_refuse:
            raise


def require_raises(kind: type[Exception], call: Callable[[], object]) -> None:
    try:
        call()
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was not raised")
