"""Contract suites, public: what every method, promise and engine must do, whoever wrote it. Needs the extra `testing`.

    from kohort.testing import check_algorithm, check_promise
    check_algorithm("mondrian")
    check_promise("l")

Each contract is a function of its own, listed at the foot, so that a test runner can name the one that fails.
The checks count and compare published text; they share no code with the methods.
"""

from __future__ import annotations

import math
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
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
from kohort.errors import AuditError, CancelledError, PromiseError, RequestError
from kohort.job import Job
from kohort.privacy import DEFINITIONS, SECRECY, Secrecy
from kohort.progress import Progress

EXAMPLES = 30
EXAMPLES_PER_PROMISE = 12  # for each promise, contract and set of options
ROWS = 24
TREE = (("a", "ab", "*"), ("b", "ab", "*"), ("c", "cde", "*"), ("d", "cde", "*"), ("e", "cde", "*"), ("z", "z", "*"))
COLUMNS = {
    "few": st.integers(0, 3),
    "many": st.integers(-(2**40), 2**40),
    "decimal": st.floats(-1e6, 1e6, allow_nan=False).map(lambda number: round(number, 2)),
    "text": st.sampled_from(["", "x", "ä", "*", "a,b", '"', "[1 - 2]"]),
    "tree": st.sampled_from([row[0] for row in TREE]),
}
QUASI = tuple(COLUMNS)
SECRETS = ("gout", "Gout", "mumps", "ebola", "r\u00f6teln", "rabies")
SECRET_TREE = (
    ("gout", "joints", "*"),
    ("Gout", "joints", "*"),
    ("mumps", "children", "infections", "*"),
    ("r\u00f6teln", "children", "infections", "*"),
    ("ebola", "infections", "*"),
    ("rabies", "*"),
)
BESIDE = ("secret", "score", "ward", "person")
KINDS = {
    "few": pa.int64(),
    "many": pa.int64(),
    "decimal": pa.float64(),
    "text": pa.string(),
    "tree": pa.string(),
    "secret": pa.string(),
    "score": pa.int64(),
    "ward": pa.string(),
    "person": pa.int64(),
}


@st.composite
def tables(draw: st.DrawFn, least: int = 0, most: int = 40) -> pa.Table:
    """Small tables of every kind of column, rich in ties, duplicates and missing values.

    Beside the quasi-identifiers: sensitive text and numbers (few or several, even or skewed, some missing), a column to pass
    on, and whose each row is.
    """
    rows = draw(st.integers(least, most))
    cells = {
        name: draw(st.lists(st.one_of(st.none(), values) if draw(st.booleans()) else values, min_size=rows, max_size=rows))
        for name, values in COLUMNS.items()
    }
    beside = {
        "secret": _secrets(draw, SECRETS, ("", None)),
        "score": _secrets(draw, tuple(range(7)), (None,)),
        "ward": ["north", "", None],
        "person": list(range(max(1, rows // draw(st.integers(1, 3))))),
    }
    cells |= {name: draw(st.lists(st.sampled_from(beside[name]), min_size=rows, max_size=rows)) for name in BESIDE}
    made = pa.table({name: pa.array(cells[name], kind) for name, kind in KINDS.items()})
    copies = draw(st.integers(1, 3))
    return pa.concat_tables([made] * copies)


def _secrets(draw: st.DrawFn, values: tuple[Any, ...], missing: tuple[Any, ...]) -> list[Any]:
    """What sensitive cells are drawn from: the first so many values, the first of them perhaps often, perhaps missing ones."""
    different = draw(st.integers(1, len(values)))
    often = draw(st.sampled_from((0, 0, 3, 20)))
    return [*values[:different], *(values[:1] * often), *(missing if draw(st.booleans()) else ())]


def special_tables() -> Iterator[tuple[str, pa.Table]]:
    """The corners: one value, all unique, all missing, two heaps, one outlier."""
    rows = ROWS
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
        columns |= {"secret": ["gout", "ebola"] * (rows // 2), "score": list(range(rows)), "ward": ["north"] * rows}
        columns["person"] = [row // 2 for row in range(rows)]
        yield title, pa.table({name: pa.array(columns[name], kind) for name, kind in KINDS.items()})


def special_secrets() -> Iterator[tuple[str, pa.Table]]:
    """The corners of a sensitive column: one value, all different, all missing, one who differs, one who is missing."""
    table = dict(special_tables())["all unique"]
    for title, values in {
        "one value": ["7"] * ROWS,
        "all different": [str(row) for row in range(ROWS)],
        "all missing": ["", None] * (ROWS // 2),
        "one differs": ["1", *["7"] * (ROWS - 1)],
        "one missing": [None, *["7", "8", "9"] * ROWS][:ROWS],
    }.items():
        yield title, table.set_column(table.column_names.index("secret"), "secret", pa.array(values, pa.string()))


def many_secrets() -> pa.Table:
    """20,000 rows, 10,000 different sensitive values."""
    rows = 20_000
    secret = pa.array([str(value) for value in np.random.default_rng(5).permutation(rows) // 2])
    return datasets.census(rows, quasi=3).drop_columns("s1").append_column("secret", secret)


def job_for(
    method: Method,
    option: dict[str, Any],
    k: int,
    *,
    sensitive: Sequence[str] = ("secret",),
    unit: Sequence[str] = (),
    **settings: Any,
) -> Job:
    """A job for the tables above."""
    measure = settings.get("t_distance")
    measure = measure.get("secret") if isinstance(measure, Mapping) else measure
    trees = {"tree": TREE, "secret": SECRET_TREE} if measure in ("ordered", "tree") else {"tree": TREE}  # text has no order
    return Job.build(
        quasi=QUASI,
        sensitive=sensitive,
        unit=unit,
        other="ward",
        allow="ward",
        drop=[name for name in BESIDE if name not in {*sensitive, *unit, "ward"}],
        hierarchy=settings.pop("hierarchy", trees),
        method=method.name,
        option=option,
        k=k,
        seed=7,
        **settings,
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


def _published(release: api.Release) -> tuple[list[dict[str, Any]], NDArray[np.int64]]:
    """The rows of a release that kept its order, and the row of the source that each of them was."""
    rows = np.flatnonzero(release.labels >= 0)
    assert release.table.num_rows == len(rows), "every row that has a label is published"
    return release.table.to_pylist(), rows


def _identity(table: pa.Table, job: Job) -> Counter[tuple[Any, ...]]:
    """A release up to the order of its rows: each record's own values beside its published ones. Empty is missing."""
    told, rows = _published(api.anonymize(table, job, keep_order=True))
    own = [
        (*(None if row[name] == "" else row[name] for name in QUASI), *(row[name] for name in ("secret", "ward")))
        for row in table.take(rows).to_pylist()
    ]
    return Counter((*one, *(row[name] for name in QUASI)) for one, row in zip(own, told, strict=True))


def _sized(examples: int) -> settings:
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    return settings(max_examples=examples, deadline=None, suppress_health_check=quiet, database=None)


def _everywhere(method: Method, test: Callable[[pa.Table, Job], None], examples: int = EXAMPLES) -> None:
    """Run a test with every set of options on random tables and in the corners."""
    for option in option_sets(method):

        def on_random(option: dict[str, Any], table: pa.Table, k: int) -> None:
            test(table, job_for(method, option, k))

        _sized(examples)(given(st.just(option), tables(least=12), st.integers(2, 6))(on_random))()
        for _title, table in special_tables():
            for k in (2, 5, table.num_rows):
                test(table, job_for(method, option, k))


# --- a plain count of promises: what a reader of the release could count


Value = str | None
TINY = 1e-9  # sums of shares differ in their last digits from one order of adding to another


@dataclass(frozen=True)
class Held:
    """A class of a release, or all of it: how many persons, and how many of them hold each sensitive value; None is missing."""

    persons: int
    counts: Counter[Value]

    @classmethod
    def by(cls, rows: Iterable[int], persons: Sequence[Hashable], values: Sequence[Value]) -> Held:
        pairs = {(persons[row], values[row]) for row in rows}
        return cls(len({person for person, _value in pairs}), Counter(value for _person, value in pairs))

    @cached_property
    def shares(self) -> dict[Value, float]:
        total = self.counts.total()
        return {value: count / total for value, count in self.counts.items()}

    @cached_property
    def in_order(self) -> list[Value]:
        """Missing, then text as its tree has it, or numbers by size."""
        leaf = {row[0]: place for place, row in enumerate(SECRET_TREE)}
        return sorted(
            self.counts, key=lambda value: -math.inf if value is None else leaf[value] if value in leaf else float(value)
        )


def entropy_l(here: Held) -> float:
    """How many equally frequent values would leave a reader as unsure."""
    return math.exp(-sum(share * math.log(share) for share in here.shares.values()))


def recursive_c(here: Held, l: int) -> float:  # noqa: E741 - its name in every paper
    """What c must exceed for recursive (c,l)-diversity."""
    falling = sorted(here.counts.values(), reverse=True)
    return falling[0] / sum(falling[l - 1 :]) if len(falling) >= l else math.inf


def distance(here: Held, everybody: Held, ground: str) -> float:
    """How much of a class's distribution must be moved how far to make the whole table's."""
    gaps = {value: here.shares.get(value, 0.0) - share for value, share in everybody.shares.items()}
    if ground == "equal":
        return sum(gap for gap in gaps.values() if gap > 0)
    if ground == "ordered":
        return sum(map(abs, accumulate(gaps[value] for value in everybody.in_order))) / max(1, len(gaps) - 1)
    surplus: Counter[tuple[str, ...]] = Counter()  # by node of the tree, each named by its path from the root
    height: Counter[tuple[str, ...]] = Counter()
    for leaf, *above in ((None, "*"), *SECRET_TREE):
        path = (*reversed(above), str(leaf))
        for depth in range(1, len(path) + 1):
            surplus[path[:depth]] += gaps.get(leaf, 0.0)  # type: ignore[assignment]  # a Counter holds any number
            height[path[:depth]] = max(height[path[:depth]], len(path) - depth)
    rise = {node: height[node[:-1]] - height[node] for node in surplus if len(node) > 1}
    return sum(abs(surplus[node]) * rise[node] for node in rise) / 2 / max(height.values())


def gain(here: Held, everybody: Held, value: Value) -> float:
    """By how much a class raises the share of a value, as a share of that."""
    return here.shares[value] / everybody.shares[value] - 1


def disclosure(here: Held, everybody: Held) -> float:
    """The largest doubling or halving of a value's share."""
    if len(here.counts) < len(everybody.counts):
        return math.inf
    return max(abs(math.log2(here.shares[value] / share)) for value, share in everybody.shares.items())


def _keeps_alpha(asked: Secrecy, here: Held, _everybody: Held) -> bool:
    limit, limits = asked.limits
    return all(count <= limits.get(value or "", limit) * here.persons + TINY for value, count in here.counts.items())


def _keeps_beta(asked: Secrecy, here: Held, everybody: Held) -> bool:
    beta = asked.beta or 0.0
    basic = asked.beta_kind == "basic"
    return all(
        gain(here, everybody, value) <= (beta if basic else min(beta, -math.log(everybody.shares[value]))) + TINY
        for value in here.counts
    )


KEEPS: dict[str, Callable[[Secrecy, Held, Held], bool]] = {
    "alpha": _keeps_alpha,
    "l": lambda asked, here, _: len(here.counts) >= (asked.l or 0),
    "entropy_l": lambda asked, here, _: entropy_l(here) >= (asked.entropy_l or 0) - TINY,
    "recursive_l": lambda asked, here, _: (
        asked.recursive_l is None or recursive_c(here, asked.recursive_l.l) < asked.recursive_l.c
    ),
    "t": lambda asked, here, everybody: distance(here, everybody, asked.distance) <= (asked.t or 0) + TINY,
    "beta": _keeps_beta,
    "delta": lambda asked, here, everybody: disclosure(here, everybody) < (asked.delta or 0),
}
"""Whether one class keeps what is asked, given the distribution of the whole release."""


def broken(
    rows: Sequence[Mapping[str, Any]], classes: Sequence[Sequence[int]], job: Job, persons: Sequence[Hashable] | None = None
) -> list[str]:
    """The promises that these classes of published rows break, as `k` or `column.promise`; `persons` says whose each row is."""
    whose = range(len(rows)) if persons is None else persons
    small = any(len({whose[row] for row in members}) < job.promise.k for members in classes)
    found = ["k"] if small or not classes else []
    for name, asked in job.secrecy().items():
        if not asked.asked:
            continue
        values = [_value(row[name], job) for row in rows]
        everybody = Held.by(range(len(rows)), whose, values)
        groups = [Held.by(members, whose, values) for members in classes]
        found += [
            f"{name}.{promise}" for promise in asked.asked if not all(KEEPS[promise](asked, here, everybody) for here in groups)
        ]
    return found


def _value(cell: Any, job: Job) -> Value:
    """A sensitive cell as text; missing is a value of its own, however it is spelt."""
    gone = cell is None or cell != cell or cell in ("", *job.missing)  # noqa: PLR0124 - only NaN differs from itself
    return None if gone else str(cell)


def _grouped(keys: Iterable[Hashable]) -> list[list[int]]:
    """The places of each key."""
    found: dict[Hashable, list[int]] = {}
    for place, key in enumerate(keys):
        found.setdefault(key, []).append(place)
    return list(found.values())


def _require_kept(table: pa.Table, job: Job) -> api.Release | None:
    """The published text keeps what was asked, or there is an error that is right and says what to do."""
    source = table.to_pylist()
    unit = next(iter(job.names("unit")), None)
    persons = [row[unit] for row in source] if unit else list(range(len(source)))
    release = _release_or_error(table, job)
    if not isinstance(release, api.Release):
        impossible = broken(source, [range(len(source))], job, persons)
        assert impossible, f"all rows as one class would keep it: {release}"
        _require_sentence(str(release), impossible, source, job)
        return None
    told, rows = _published(release)
    quasi = job.names("quasi")
    assert unit not in release.table.column_names, "the unit is not published"
    assert release.summary()["suppressed"] <= Fraction(str(job.suppress)) * len(source), "more rows suppressed than allowed"
    classes = _grouped(tuple(row[name] for name in quasi) for row in told)
    assert not (failing := broken(told, classes, job, [persons[row] for row in rows])), f"not kept: {', '.join(failing)}"
    return release


def _release_or_error(table: pa.Table, job: Job) -> api.Release | PromiseError | RequestError:
    try:
        return api.anonymize(table, job, keep_order=True)
    except AuditError:  # a method that makes what the audit must stop has failed, too
        raise
    except (PromiseError, RequestError) as error:
        return error


def _require_sentence(told: str, failing: Sequence[str], source: Sequence[Mapping[str, Any]], job: Job) -> None:
    """The error names a promise that fails and its column, in sentences, without a cell."""
    named = [tuple(reversed(name.split("."))) for name in failing]
    right = [(promise, *column) for promise, *column in named if re.search(rf"\b{promise}\b", told)]
    assert right, f"none of {', '.join(failing)} is named: {told}"
    assert any(all(repr(name) in told for name in column) for _promise, *column in right), f"the column is not named: {told}"
    assert told.endswith(".")
    cells = {str(row[name]) for row in source for name in job.names("sensitive")}
    assert not any(re.search(rf"\b{cell}\b", told) for cell in cells if cell.isalpha() and cell != "None"), "no cell is told"


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


# --- what every method must do with every promise

_SHARES = st.floats(0.1, 0.95).map(lambda share: round(share, 2))
PARAMETERS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "k": st.just({}),
    "alpha": st.fixed_dictionaries(
        {"alpha": _SHARES | st.dictionaries(st.sampled_from(("default", *SECRETS)), _SHARES, min_size=1, max_size=3)}
    ),
    "l": st.fixed_dictionaries({"l": st.integers(2, 5)}),
    "entropy_l": st.fixed_dictionaries({"entropy_l": st.floats(1.05, 4)}),
    "recursive_l": st.fixed_dictionaries({"recursive_l": st.tuples(st.integers(2, 4), st.floats(0.3, 5))}),
    "t": st.fixed_dictionaries({"t": st.floats(0.02, 0.9), "t_distance": st.sampled_from((None, "equal", "ordered", "tree"))}),
    "beta": st.fixed_dictionaries({"beta": st.floats(0.05, 5), "beta_kind": st.sampled_from((None, "enhanced", "basic"))}),
    "delta": st.fixed_dictionaries({"delta": st.floats(0.2, 5)}),
}
"""Settings of each promise, weak and strong, for the column `secret`."""
TYPICAL: dict[str, tuple[dict[str, Any], ...]] = {
    "k": ({},),
    "alpha": ({"alpha": 0.5}, {"alpha": 0.1}),
    "l": ({"l": 3}, {"l": ROWS}),
    "entropy_l": ({"entropy_l": 2.5}, {"entropy_l": ROWS}),
    "recursive_l": ({"recursive_l": (2, 1.5)}, {"recursive_l": (ROWS, 3)}),
    "t": ({"t": 0.4}, {"t": 0.2, "t_distance": "ordered"}),
    "beta": ({"beta": 2}, {"beta": 1, "beta_kind": "basic"}),
    "delta": ({"delta": 1.5},),
}


def _fitting(asked: dict[str, Any], table: pa.Table) -> dict[str, Any] | None:
    """Settings without limits for values that nobody holds: naming those is a mistake of its own."""
    alpha = asked.get("alpha")
    if not isinstance(alpha, Mapping) or "sensitive" in asked:
        return asked
    held = {"default", *table.column("secret").to_pylist()}.difference(asked.get("missing", ()))
    fitting = {value: share for value, share in alpha.items() if value in held}
    return {**asked, "alpha": fitting} if fitting else None


def _with_promises(
    method: Method, drawn: st.SearchStrategy[dict[str, Any]], test: Callable[[pa.Table, Job], object], examples: int
) -> None:
    """Run a test with every set of options on random tables with random settings."""
    for option in option_sets(method):

        def on_random(option: dict[str, Any], table: pa.Table, k: int, asked: dict[str, Any]) -> None:
            fitting = _fitting(asked, table)
            if fitting is not None:
                test(table, job_for(method, option, k, **fitting))

        _sized(examples)(given(st.just(option), tables(least=12), st.integers(2, 5), drawn)(on_random))()


def kept_alone(method: Method, promise: str) -> None:
    """Whatever is asked of a column: the published text keeps it, or an error says why nothing can."""
    _with_promises(method, PARAMETERS[promise], _require_kept, EXAMPLES_PER_PROMISE)


def kept_for_persons(method: Method, promise: str) -> None:
    """The same where a person has several rows: persons are counted, and the column that tells them apart is withheld."""
    of_persons = PARAMETERS[promise].map(lambda asked: {**asked, "unit": ["person"]})
    _with_promises(method, of_persons, _require_kept, EXAMPLES_PER_PROMISE)


def _large() -> pa.Table:
    """1,500 rows of 750 persons, four quasi-identifiers, three sensitive values of unequal shares."""
    table = datasets.census(1_500, quasi=4)
    secret = pa.array([SECRETS[number % 3] for number in table.column("s1").to_pylist()])
    person = pa.array([row * 7 % 750 for row in range(1_500)])
    return table.drop_columns("s1").append_column("secret", secret).append_column("person", person)


BINDING: dict[str, tuple[dict[str, Any], ...]] = {
    "k": ({},),
    "alpha": ({"alpha": 0.75}, {"alpha": {SECRETS[0]: 0.8, SECRETS[2]: 0.45}}),
    "l": ({"l": 3},),
    "entropy_l": ({"entropy_l": 2.6},),
    "recursive_l": ({"recursive_l": (2, 1.3)}, {"recursive_l": (3, 4)}),
    "t": tuple(
        {"t": 0.12, "t_distance": measure, "hierarchy": {"secret": SECRET_TREE}} for measure in ("equal", "ordered", "tree")
    ),
    "beta": ({"beta": 0.5}, {"beta": 0.4, "beta_kind": "basic"}),
    "delta": ({"delta": 0.8}, {"delta": 0.5}),
}
"""Settings that decide where the cuts of that table end."""


def kept_in_many_classes(method: Method, promise: str) -> None:
    """Where there is room for many classes each keeps it, of rows and of persons; and there are many."""
    table = _large()
    for option in option_sets(method):
        for asked in BINDING[promise]:
            for roles in ({"drop": "person"}, {"unit": "person"}):
                job = {"quasi": table.column_names[:4], "sensitive": "secret", "method": method.name, "option": option, "seed": 7}
                release = _require_kept(table, Job.build(**job, **roles, **asked, k=4))
                assert release is not None
                assert release.labels.max() > 8, "rows that could be told apart"


def kept_in_corners(method: Method, promise: str) -> None:
    """A sensitive column of one value, of different ones only, of missing ones only; one of 10,000 values."""
    for option in option_sets(method):
        for asked in TYPICAL[promise]:
            for _title, table in special_secrets():
                _require_kept(table, job_for(method, option, 3, hierarchy={"tree": TREE}, **asked))
    table = many_secrets()
    for asked in TYPICAL[promise]:
        quasi = table.column_names[:3]
        _require_kept(table, Job.build(quasi=quasi, sensitive="secret", method=method.name, k=5, seed=7, **asked))


STRONGEST: dict[str, Callable[[Sequence[Held], Held], dict[str, Any]]] = {
    "k": lambda groups, _: {"k": min(here.persons for here in groups)},
    "alpha": lambda groups, _: {"alpha": max(max(here.counts.values()) / here.persons for here in groups)},
    "l": lambda groups, _: {"l": min(len(here.counts) for here in groups)},
    "entropy_l": lambda groups, _: {"entropy_l": min(entropy_l(here) for here in groups) * (1 - TINY)},
    "recursive_l": lambda groups, _: {"recursive_l": (2, max(recursive_c(here, 2) for here in groups) * (1 + TINY))},
    "t": lambda groups, everybody: {"t": max(distance(here, everybody, "equal") for here in groups) + TINY},
    "beta": lambda groups, everybody: {
        "beta": max(gain(here, everybody, value) for here in groups for value in here.counts) + TINY,
        "beta_kind": "basic",
    },
    "delta": lambda groups, everybody: {"delta": max(disclosure(here, everybody) for here in groups) + TINY},
}
"""The strongest settings that groups keep."""


def changes_nothing_if_kept(method: Method, promise: str) -> None:
    """Asking for just what a release keeps anyway gives the same release."""
    times = 0

    def check(table: pa.Table, job: Job) -> None:
        nonlocal times
        before = api.anonymize(table, job)
        values = [_value(cell, job) for cell in table.column("secret").to_pylist()]
        everybody = Held.by(range(len(values)), range(len(values)), values)
        # Clusters, not classes: one that has no one else's text must stand by itself.
        groups = [Held.by(members, range(len(values)), values) for members in _grouped(before.labels.tolist())]
        strongest = STRONGEST[promise](groups, everybody)
        try:
            asking = Job.build(job, **strongest)
        except RequestError:  # it keeps nothing, such as one value of one
            return
        times += 1
        assert np.array_equal(before.labels, api.anonymize(table, asking).labels), f"other labels with {strongest}"

    large = _large()
    for option in option_sets(method):
        job = {"quasi": large.column_names[:4], "sensitive": "secret", "drop": "person", "method": method.name, "option": option}
        check(large, Job.build(**job, seed=7, k=60))
    assert times, "what such a large release keeps can be asked for"
    _with_promises(method, st.just({}), check, EXAMPLES_PER_PROMISE // 2)


def kept_together(method: Method) -> None:
    """Several promises at once, rows left out or not, persons or rows, texts that stand for missing."""

    @st.composite
    def several(draw: st.DrawFn) -> dict[str, Any]:
        asked: dict[str, Any] = {
            "suppress": draw(st.sampled_from((0, 0, 0.1, 0.3))),
            "suppressed": draw(st.sampled_from(("leave", "star"))),
            "unit": draw(st.sampled_from(((), (), ("person",)))),
            "missing": draw(st.sampled_from(((), ("rabies",)))),
            "ranges": draw(st.sampled_from(("tight", "grid"))),
        }
        for promise in draw(st.lists(st.sampled_from(SECRECY), min_size=2, max_size=4, unique=True)):
            asked |= draw(PARAMETERS[promise])
        return asked

    _with_promises(method, several(), _require_kept, EXAMPLES)


def kept_by_each_column(method: Method) -> None:
    """Two sensitive columns, each with promises of its own."""

    @st.composite
    def by_column(draw: st.DrawFn) -> dict[str, Any]:
        asked: dict[str, Any] = {"sensitive": ("secret", "score")}
        for column in asked["sensitive"]:
            drawn = draw(PARAMETERS[draw(st.sampled_from(SECRECY))])
            for name, value in drawn.items():
                if isinstance(value, Mapping):
                    value = {"default": min(value.values())}  # noqa: PLW2901 - columns name their values in `kept_alone`
                elif column == "score" and value == "tree":
                    value = "ordered"  # noqa: PLW2901
                if value is not None:
                    asked.setdefault(name, {})[column] = value
        return asked

    _with_promises(method, by_column(), _require_kept, EXAMPLES)


def same_promises_for_any_row_order(method: Method) -> None:
    """Rows shuffled, same release, whatever is promised and left out; or the same error."""
    drawn = st.fixed_dictionaries(
        {
            "suppress": st.sampled_from((0, 0.2)),
            "unit": st.sampled_from(((), ("person",))),
            "l": st.sampled_from((None, 2, 3)),
            "t": st.sampled_from((None, 0.4)),
        }
    )

    def identity(table: pa.Table, job: Job) -> Counter[tuple[Any, ...]] | str:
        try:
            return _identity(table, job)
        except PromiseError as error:
            return str(error)

    def check(table: pa.Table, job: Job) -> None:
        shuffled = table.take(np.random.default_rng(1).permutation(table.num_rows))
        assert identity(table, job) == identity(shuffled, job)

    _with_promises(method, drawn, check, EXAMPLES_PER_PROMISE)


def same_promises_at_any_thread_count(method: Method) -> None:
    """1 and 4 threads give the same labels, whatever is promised."""
    table = datasets.census(70_000, quasi=5)
    asked = {"k": 10, "seed": 7, "l": 4, "alpha": 0.5, "t": 0.4, "suppress": 0.01}
    for option in option_sets(method):
        job = Job.build(quasi=table.column_names[:5], sensitive="s1", method=method.name, option=option, **asked)
        one, four = (api.anonymize(table, job, threads=threads).labels for threads in (1, 4))
        assert np.array_equal(one, four)


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
    kept_together,
    kept_by_each_column,
    same_promises_for_any_row_order,
    same_promises_at_any_thread_count,
)
PROMISE_CONTRACTS: tuple[Callable[[Method, str], None], ...] = (
    kept_alone,
    kept_for_persons,
    kept_in_many_classes,
    kept_in_corners,
    changes_nothing_if_kept,
)
ENGINE_CONTRACTS: tuple[Callable[[str], None], ...] = (
    writes_what_it_proved,
    leaves_nothing_when_it_fails,
    shuffles_unpredictably,
)


def promises_kept(method: Method) -> None:
    """Every promise that a method says it can keep."""
    for promise in method.promises:
        for contract in PROMISE_CONTRACTS:
            contract(method, promise)


def check_algorithm(name: str) -> None:
    """Every contract of a method."""
    assert name in METHODS, f"there is no method {name!r}; is it listed in algorithms/__init__.py?"
    for contract in ALGORITHM_CONTRACTS:
        contract(METHODS[name])
    promises_kept(METHODS[name])


def check_promise(name: str) -> None:
    """A promise is kept by every method that says it can keep it."""
    assert name in DEFINITIONS
    for method in METHODS.values():
        if name in method.promises:
            for contract in PROMISE_CONTRACTS:
                contract(method, name)


def check_engine(name: str) -> None:
    """Every contract of an engine."""
    assert name in ENGINES
    for contract in ENGINE_CONTRACTS:
        contract(name)
