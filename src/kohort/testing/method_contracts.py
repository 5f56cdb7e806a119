"""The contracts of a method."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kohort import api
from kohort.constraints.constraints import Constraints
from kohort.encoding import encode as encoding
from kohort.encoding.points import Points
from kohort.errors import CancelledError, PromiseError
from kohort.job.job import Job
from kohort.methods import Method, Partition
from kohort.methods.run import partition_table
from kohort.progress import Progress
from kohort.schema import columns as schema
from kohort.testing.requirements import identity, refusals_allowed, require_raises
from kohort.testing.sample_tables import EXAMPLES, QUASI, enough_for_threads, job_for, option_sets, sized, special_tables, tables


def _points(table: pa.Table, job: Job) -> Points:
    return encoding.encode(table, schema.resolve(job.columns, table))


def _partition(points: Points, job: Job, progress: Progress | None = None) -> Partition:
    constraints = Constraints(job.promise, points.rows)
    options, progress = job.method_options(), progress or Progress(1)
    return partition_table(job.algorithm, points, constraints, options, job.seed or 0, job.block, progress, job.rounds)


def _require_labels(labels: NDArray[np.int64], rows: int, k: int) -> None:
    sizes = Counter(labels.tolist())
    sizes.pop(-1, None)
    assert labels.shape == (rows,), "the method does not return one label for each row"
    assert sorted(sizes) == list(range(len(sizes))), "the labels are not 0, 1, ... without gaps"
    assert all(size >= k for size in sizes.values()), "a cluster has fewer than k rows"


def _everywhere(method: Method, test: Callable[[pa.Table, Job], None], examples: int = EXAMPLES) -> None:
    """Run a check with every set of options on random tables and on the special cases."""
    for option in option_sets(method):

        def on_random(option: dict[str, Any], table: pa.Table, k: int) -> None:
            with refusals_allowed(method):
                test(table, job_for(method, option, k))

        sized(examples)(given(st.just(option), tables(least=12), st.integers(2, 6))(on_random))()
        for _title, table in special_tables():
            for k in (2, 5, table.num_rows):
                on_random(option, table, k)


def labels_without_gaps(method: Method) -> None:
    """Check that the labels are 0, 1, ... without gaps, each on at least k rows; -1 marks suppressed rows."""

    def check(table: pa.Table, job: Job) -> None:
        _require_labels(_partition(_points(table, job), job).labels, table.num_rows, job.promise.k)

    _everywhere(method, check)


def inputs_untouched(method: Method) -> None:
    """Check that the method does not change its input, and that the input may be read-only.

    Parameters
    ----------
    method : Method
        The method, from `kohort.methods.METHODS`.

    Raises
    ------
    AssertionError
        If the codes have changed.

    Examples
    --------
    >>> from kohort.methods import METHODS
    >>> inputs_untouched(METHODS["mondrian"])

    """
    job = job_for(method, {}, 3)
    for _title, table in special_tables():
        points = _points(table, job)
        before = points.codes.copy()
        points.codes.setflags(write=False)
        with refusals_allowed(method):
            _partition(points, job)
        assert np.array_equal(points.codes, before)


def promise_kept(method: Method) -> None:
    """Check that the published table has no group of fewer than k rows, and no row too many or too few."""

    def check(table: pa.Table, job: Job) -> None:
        release = api.anonymize(table, job)
        classes = Counter(tuple(row[name] for name in QUASI) for row in release.table.to_pylist())
        assert min(classes.values()) >= job.promise.k
        assert sum(classes.values()) == table.num_rows - np.count_nonzero(release.labels < 0)

    _everywhere(method, check)


def same_at_any_thread_count(method: Method) -> None:
    """Check that 1 and 4 threads give the same labels."""
    for option in option_sets(method):
        table, job = enough_for_threads(method, option)
        points = _points(table, job)
        one, four = (_partition(points, job, Progress(threads)).labels for threads in (1, 4))
        assert np.array_equal(one, four)


def same_for_any_row_order(method: Method) -> None:
    """Check that the release does not depend on the order of the rows of the source.

    Both releases must hold the same pairs of original and published values, each equally often.
    """

    def check(table: pa.Table, job: Job) -> None:
        shuffled = table.take(np.random.default_rng(1).permutation(table.num_rows))
        assert identity(table, job) == identity(shuffled, job)

    _everywhere(method, check, EXAMPLES // 2)


def too_few_rows(method: Method) -> None:
    """Check that a table of fewer than k rows raises `PromiseError`, and that the method returns no labels for no rows.

    Parameters
    ----------
    method : Method
        The method, from `kohort.methods.METHODS`.

    Raises
    ------
    AssertionError
        If the error is not raised, or if there are labels.

    Examples
    --------
    >>> from kohort.methods import METHODS
    >>> too_few_rows(METHODS["mondrian"])

    """
    table = next(special_tables())[1].slice(0, 4)
    job = job_for(method, {}, 5)
    require_raises(PromiseError, lambda: api.anonymize(table, job))
    assert _partition(_points(table, job).take(np.arange(0)), job).labels.size == 0


def can_be_cancelled(method: Method) -> None:
    """Check that a run that is cancelled while it groups or improves ends with `CancelledError`."""

    class CancelledWhileGrouping(Progress):
        def slot(self) -> NDArray[np.int64]:
            pair = super().slot()
            self.cancel()
            return pair

    class CancelledWhileImproving(Progress):
        def begin_improving(self, cost: int) -> None:
            super().begin_improving(cost)
            self.cancel()

    table, job = enough_for_threads(method, {})
    points = _points(table, job)
    require_raises(CancelledError, lambda: _partition(points, job, CancelledWhileGrouping(2)))
    if job.rounds:
        require_raises(CancelledError, lambda: _partition(points, job, CancelledWhileImproving(2)))
