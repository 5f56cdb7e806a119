"""Contract suites, public: what every method, promise and engine must do, whoever wrote it. Needs the extra `testing`.

    from kohort.testing import check_algorithm
    check_algorithm("mondrian")

Each contract is a function of its own, listed at the foot, so that a test runner can name the one that fails.
The checks count and compare published text; they share no code with the methods.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kohort import api, datasets, encoding, schema
from kohort import tables as files
from kohort.algorithms import METHODS, Method, Partition
from kohort.axes import Points
from kohort.checks import Checks
from kohort.engines import ENGINES
from kohort.errors import CancelledError, PromiseError
from kohort.job import Job
from kohort.privacy import DEFINITIONS
from kohort.progress import Progress

EXAMPLES = 30
TREE = (("a", "ab", "*"), ("b", "ab", "*"), ("c", "cde", "*"), ("d", "cde", "*"), ("e", "cde", "*"), ("z", "z", "*"))
COLUMNS = {
    "few": st.integers(0, 3),
    "many": st.integers(-(2**40), 2**40),
    "decimal": st.floats(-1e6, 1e6, allow_nan=False).map(lambda number: round(number, 2)),
    "text": st.sampled_from(["", "x", "ä", "*", "a,b", '"', "[1 - 2]"]),
    "tree": st.sampled_from([row[0] for row in TREE]),
}
QUASI = tuple(COLUMNS)
KINDS = {"few": pa.int64(), "many": pa.int64(), "decimal": pa.float64(), "text": pa.string(), "tree": pa.string()}


@st.composite
def tables(draw: st.DrawFn, least: int = 0, most: int = 40) -> pa.Table:
    """Small tables of every kind of column, rich in ties, duplicates and missing values, with two carried columns."""
    rows = draw(st.integers(least, most))
    cells = {
        name: draw(st.lists(st.one_of(st.none(), values) if draw(st.booleans()) else values, min_size=rows, max_size=rows))
        for name, values in COLUMNS.items()
    }
    carried = {
        name: draw(st.lists(st.sampled_from(["flu", "", None]), min_size=rows, max_size=rows)) for name in ("secret", "ward")
    }
    made = pa.table({**{name: pa.array(cells[name], KINDS[name]) for name in QUASI},
                     **{name: pa.array(values, pa.string()) for name, values in carried.items()}})  # fmt: skip
    copies = draw(st.integers(1, 3))
    return pa.concat_tables([made] * copies)


def special_tables() -> Iterator[tuple[str, pa.Table]]:
    """The corners: one value, all unique, all missing, two heaps, one outlier."""
    rows = 24
    same, other = dict(zip(QUASI, (0, -9, 0.5, "x", "a"), strict=True)), dict(zip(QUASI, (3, 10**9, 1e5, "y", "e"), strict=True))
    cells: dict[str, dict[str, list[Any]]] = {
        "one value": {name: [same[name]] * rows for name in QUASI},
        "all unique": {
            "few": list(range(rows)),
            "many": [7**i % 10**9 for i in range(rows)],
            "decimal": [i / 7 for i in range(rows)],
            "text": [f"t{i}" for i in range(rows)],
            "tree": [TREE[i % len(TREE)][0] for i in range(rows)],
        },
        "all missing": {name: [None] * rows for name in QUASI},
        "two heaps": {name: [same[name]] * 11 + [other[name]] * 13 for name in QUASI},
        "one outlier": {name: [same[name]] * 23 + [other[name] if name != "tree" else None] for name in QUASI},
    }
    for title, columns in cells.items():
        arrays = {name: pa.array(values, KINDS[name]) for name, values in columns.items()}
        yield title, pa.table({**arrays, "secret": pa.array(["flu", "hiv"] * (rows // 2)), "ward": ["a"] * rows})


def job_for(method: Method, option: dict[str, Any], k: int) -> Job:
    """A job for the tables above."""
    return Job.build(
        quasi=QUASI,
        sensitive="secret",
        other="ward",
        allow="ward",
        hierarchy={"tree": TREE},
        method=method.name,
        option=option,
        k=k,
        seed=7,
    )


def option_sets(method: Method) -> list[dict[str, Any]]:
    """The defaults, and each truth-valued option turned."""
    flags = {name: field.default for name, field in method.options.model_fields.items() if isinstance(field.default, bool)}
    return [{}, *({name: not default} for name, default in flags.items())]


def _points(table: pa.Table, job: Job) -> Points:
    return encoding.encode(table, schema.resolve(job.columns, table))


def _partition(points: Points, job: Job, progress: Progress | None = None) -> Partition:
    checks = Checks(job.promise, points.rows)
    return job.algorithm.partition(points, checks, job.method_options(), job.seed or 0, progress or Progress(1))


def _require_labels(labels: NDArray[np.int64], rows: int, k: int) -> None:
    sizes = Counter(labels.tolist())
    sizes.pop(-1, None)
    assert labels.shape == (rows,), "one label per row"
    assert sorted(sizes) == list(range(len(sizes))), "labels are 0, 1, ... without gaps"
    assert all(size >= k for size in sizes.values()), "every cluster holds at least k rows"


def _identity(table: pa.Table, job: Job) -> Counter[tuple[Any, ...]]:
    """A release up to the order of its rows: each record's own values beside its published ones. Empty is missing."""
    release = api.anonymize(table, job)
    before, after = release.preview(range(table.num_rows))
    own = [
        (*(None if row[name] == "" else row[name] for name in QUASI), row["secret"], row["ward"]) for row in before.to_pylist()
    ]
    told = [tuple(row[name] for name in QUASI) for row in after.to_pylist()]
    return Counter(zip(own, told, strict=True))


def _everywhere(method: Method, test: Callable[[pa.Table, Job], None], examples: int = EXAMPLES) -> None:
    """Run a test with every set of options on random tables and in the corners."""
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    sized = settings(max_examples=examples, deadline=None, suppress_health_check=quiet, database=None)
    for option in option_sets(method):

        def on_random(option: dict[str, Any], table: pa.Table, k: int) -> None:
            test(table, job_for(method, option, k))

        sized(given(st.just(option), tables(least=12), st.integers(2, 6))(on_random))()
        for _title, table in special_tables():
            for k in (2, 5, table.num_rows):
                test(table, job_for(method, option, k))


# --- what every method must do


def labels_without_gaps(method: Method) -> None:
    """Labels 0, 1, ..., each on at least k rows."""

    def check(table: pa.Table, job: Job) -> None:
        _require_labels(_partition(_points(table, job), job).labels, table.num_rows, job.promise.k)

    _everywhere(method, check)


def inputs_untouched(method: Method) -> None:
    """The codes that came in are as they were, and need not be writable."""
    job = job_for(method, {}, 3)
    for _title, table in special_tables():
        points = _points(table, job)
        before = points.codes.copy()
        points.codes.setflags(write=False)
        _partition(points, job)
        assert np.array_equal(points.codes, before)


def promise_kept(method: Method) -> None:
    """The published table, grouped by its own text, has no class below k."""

    def check(table: pa.Table, job: Job) -> None:
        release = api.anonymize(table, job)
        classes = Counter(tuple(row[name] for name in QUASI) for row in release.table.to_pylist())
        assert min(classes.values()) >= job.promise.k
        assert sum(classes.values()) == table.num_rows - np.count_nonzero(release.labels < 0)

    _everywhere(method, check)


def same_at_any_thread_count(method: Method) -> None:
    """1 and 4 threads give the same labels."""
    table = datasets.census(100_000, quasi=5)
    for option in option_sets(method):
        job = Job.build(quasi=table.column_names[:5], sensitive="s1", method=method.name, option=option, k=10, seed=7)
        points = _points(table, job)
        one, four = (_partition(points, job, Progress(threads)).labels for threads in (1, 4))
        assert np.array_equal(one, four)


def same_for_any_row_order(method: Method) -> None:
    """Rows shuffled, same release: equal multisets of (own values, published values)."""

    def check(table: pa.Table, job: Job) -> None:
        shuffled = table.take(np.random.default_rng(1).permutation(table.num_rows))
        assert _identity(table, job) == _identity(shuffled, job)

    _everywhere(method, check, EXAMPLES // 2)


def too_few_rows(method: Method) -> None:
    """Fewer rows than k is an error of the run; no rows at all are no labels."""
    table = next(special_tables())[1].slice(0, 4)
    job = job_for(method, {}, 5)
    _require_raises(PromiseError, lambda: api.anonymize(table, job))
    assert _partition(_points(table, job).take(np.arange(0)), job).labels.size == 0


def can_be_cancelled(method: Method) -> None:
    """A run that is cancelled in the middle ends with CancelledError, soon."""

    class Impatient(Progress):
        def slot(self) -> NDArray[np.int64]:
            pair = super().slot()
            self.cancel()
            return pair

    table = datasets.census(100_000, quasi=5)
    job = Job.build(quasi=table.column_names[:5], sensitive="s1", method=method.name, k=10, seed=7)
    points = _points(table, job)
    _require_raises(CancelledError, lambda: _partition(points, job, Impatient(2)))


# --- what every engine must do


def writes_what_it_proved(engine: str) -> None:
    """CSV and Parquet hold the same release, row for row; the source is untouched; nothing else is left behind."""
    sample = datasets.hospital(400)
    job = Job.build(sample.job, engine=engine, seed=7, keep_order=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, _job = sample.write(folder)
        before = source.read_bytes()
        told = []
        for target in (folder / "a.csv", folder / "b.csv.gz", folder / "c.parquet"):
            release = api.anonymize(source, job, output=target)
            assert release.evidence.passed
            told.append(files.read(target)[0].cast(pa.schema([(name, pa.string()) for name in release.table.column_names])))
        assert all(table.equals(told[0]) for table in told)
        assert source.read_bytes() == before
        assert sorted(path.name for path in folder.iterdir()) == [
            "a.csv",
            "b.csv.gz",
            "c.parquet",
            "job.toml",
            "patients.csv",
            "trees",
        ]


def leaves_nothing_when_it_fails(engine: str) -> None:
    """A promise that cannot be kept, a cancelled run: no file, not even a half one."""
    sample = datasets.hospital(100)
    with tempfile.TemporaryDirectory() as name:
        target = Path(name) / "out.csv"
        job = Job.build(sample.job, engine=engine, k=101)
        _require_raises(PromiseError, lambda: api.anonymize(sample.table, job, output=target))
        stopped = Progress(1)
        stopped.cancel()
        job = Job.build(sample.job, engine=engine, k=5)
        _require_raises(CancelledError, lambda: api.anonymize(sample.table, job, output=target, progress=stopped))
        assert not list(Path(name).iterdir())


def shuffles_unpredictably(engine: str) -> None:
    """The same job twice: the same records, in another order, which the seed does not tell."""
    sample = datasets.hospital(400)
    job = Job.build(sample.job, engine=engine, seed=7)
    one, two = (api.anonymize(sample.table, job).table.to_pylist() for _ in range(2))
    assert one != two
    assert Counter(map(str, one)) == Counter(map(str, two))


def _require_raises(kind: type[Exception], call: Callable[[], object]) -> None:
    try:
        call()
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was not raised")


ALGORITHM_CONTRACTS: tuple[Callable[[Method], None], ...] = (
    labels_without_gaps,
    inputs_untouched,
    promise_kept,
    same_at_any_thread_count,
    same_for_any_row_order,
    too_few_rows,
    can_be_cancelled,
)
ENGINE_CONTRACTS: tuple[Callable[[str], None], ...] = (
    writes_what_it_proved,
    leaves_nothing_when_it_fails,
    shuffles_unpredictably,
)


def check_algorithm(name: str) -> None:
    """Every contract of a method."""
    assert name in METHODS, f"there is no method {name!r}; is it listed in algorithms/__init__.py?"
    for contract in ALGORITHM_CONTRACTS:
        contract(METHODS[name])


def check_promise(name: str) -> None:
    """A promise is kept by every method that says it can keep it."""
    assert name in DEFINITIONS
    for method in METHODS.values():
        if name in method.promises:
            promise_kept(method)


def check_engine(name: str) -> None:
    """Every contract of an engine."""
    assert name in ENGINES
    for contract in ENGINE_CONTRACTS:
        contract(name)
