"""Promises, compared with their definitions in SQL."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kohort
from kohort import datasets, testing
from kohort.errors import PromiseError
from kohort.job.job import Job
from kohort.methods import METHODS
from kohort.schema import promises as privacy
from tests.job_promises import settings_of
from tests.oracles import promises as promise_oracles

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
MONDRIAN = METHODS["mondrian"]
TREE = (("a", "ab", "*"), ("b", "ab", "*"), ("c", "*"))


def release_of(*groups):
    """Return a published table with one quasi-identifier. Each group is given as words `value:count`."""
    cells = [
        (f"[{number}]", None if value == "-" else value)
        for number, words in enumerate(groups)
        for value, count in (word.split(":") for word in words.split())
        for _ in range(int(count))
    ]
    return pa.table({"q": [cell[0] for cell in cells], "s": pa.array([cell[1] for cell in cells], pa.string())})


def worst(release, promise, **given):
    extra = {name: given.pop(name) for name in ("persons", "missing", "tree") if name in given}
    return promise_oracles.worst(release, ["q"], "s", promise, given, **extra)


# --- the SQL definitions, compared with figures calculated by hand

HAND: dict[str, tuple[tuple[str, ...], str, dict[str, Any], float]] = {
    "k": (("x:3 y:1", "x:5"), "k", {}, 4),
    "alpha": (("x:3 y:1", "x:1 y:1"), "alpha", {"alpha": 0.5}, 1.5),
    "alpha of a value": (("x:3 y:1", "x:1 y:1"), "alpha", {"alpha": {"y": 0.25}}, 2),
    "alpha of the others": (("x:3 y:1",), "alpha", {"alpha": {"default": 0.75, "y": 0.5}}, 1),
    "l": (("x:3 y:1 z:1", "x:5 y:1"), "l", {}, 2),
    "missing is a value": (("x:3 -:1",), "l", {}, 2),
    "entropy": (("x:2 y:1 z:1", "x:1 y:1 z:1"), "entropy_l", {}, 2**1.5),
    "recursive": (("w:5 x:3 y:1 z:1",), "recursive_l", {"recursive_l": (3, 1)}, 2.5),
    "recursive without enough": (("w:5 x:3",), "recursive_l", {"recursive_l": (3, 1)}, math.inf),
    "equal": (("x:3 y:1", "x:1 y:3"), "t", {}, 0.25),
    "equal, one without": (("x:4", "x:2 y:2"), "t", {}, 0.25),
    # Li et al. 2007, 5.1: {3k, 4k, 5k} has a distance of 0.375 from nine salaries; here three groups of three make up the table.
    "ordered": (("3:1 4:1 5:1", "6:1 7:1 8:1", "9:1 10:1 11:1"), "t", {"t_distance": "ordered"}, 0.375),
    "numbers by size": (("9:1 10:1", "9:1 11:1"), "t", {"t_distance": "ordered"}, 0.125),
    "missing first": (("-:2", "x:1 y:1"), "t", {"t_distance": "ordered"}, 0.375),
    "as its tree has it": (
        ("c:1 a:1", "b:2"),
        "t",
        {"t_distance": "ordered", "tree": (("c", "*"), ("b", "*"), ("a", "*"))},
        0.25,
    ),
    "tree, near": (("a:1", "b:1"), "t", {"t_distance": "tree", "tree": TREE}, 0.25),
    "tree, far": (("a:1", "c:1"), "t", {"t_distance": "tree", "tree": TREE}, 0.5),
    "tree, missing is far": (("a:1", "-:1"), "t", {"t_distance": "tree", "tree": TREE}, 0.5),
    "basic": (("x:2 y:2", "y:4"), "beta", {"beta": 0.5, "beta_kind": "basic"}, 0.5),
    "enhanced, rare": (("x:2 y:2", "y:4"), "beta", {"beta": 0.5}, 0.5),
    "enhanced, frequent": (("x:2", "y:2"), "beta", {"beta": 5}, 1 - math.log(2)),
    "delta": (("x:2 y:2", "x:1 y:5 ", "y:2 x:1"), "delta", {}, math.log2(4 / 13 * 6)),
    "delta without a value": (("x:2 y:2", "x:1"), "delta", {}, math.inf),
}


@pytest.mark.parametrize("case", HAND)
def test_sql_matches_figures_calculated_by_hand(case):
    groups, promise, settings, figure = HAND[case]
    assert worst(release_of(*groups), promise, **settings) == pytest.approx(figure)


def test_value_equal_to_the_limit():
    """Promises with `at most` or `at least` are kept; promises with `less than` are not."""
    release = release_of("x:2 y:2", "x:1 y:3", "x:3 y:1")
    at = {"alpha": 0.75, "l": 2, "t": 0.25, "beta": 0.5, "beta_kind": "basic", "entropy_l": 4 / 3**0.75}
    assert promise_oracles.broken(release, ["q"], 4, {"s": at}) == []
    stricter = {"alpha": 0.74, "l": 3, "t": 0.24, "beta": 0.49, "beta_kind": "basic", "entropy_l": 1.76}
    assert promise_oracles.broken(release, ["q"], 5, {"s": stricter}) == ["k", "s.alpha", "s.l", "s.t", "s.beta", "s.entropy_l"]
    less = {"recursive_l": (2, 3), "delta": 1}
    assert promise_oracles.broken(release, ["q"], 4, {"s": less}) == ["s.recursive_l", "s.delta"]
    assert promise_oracles.broken(release, ["q"], 4, {"s": {"recursive_l": (2, 3.01), "delta": 1.01}}) == []


def test_people_are_counted_in_each_group():
    """One group of three people: u has x three times, v has x and y, w has y. So two people have x and two have y."""
    release, persons = release_of("x:3 x:1 y:1 y:1"), ["u", "u", "u", "v", "v", "w"]
    assert (worst(release, "k"), worst(release, "k", persons=persons)) == (6, 3)
    assert worst(release, "alpha", alpha=0.5, persons=persons) == pytest.approx(2 / 3 / 0.5)
    assert worst(release, "entropy_l", persons=persons) == pytest.approx(2)
    assert worst(release, "recursive_l", recursive_l=(2, 1), persons=persons) == 1


def test_people_in_the_whole_table_are_counted_once():
    """Person u has x in both groups. In the table two people have x and one has y, so the share of x is 2/3, not 3/4."""
    release, persons = release_of("x:1 y:1", "x:2"), ["u", "v", "u", "w"]
    assert worst(release, "t", persons=persons) == pytest.approx(1 / 3)


def test_all_spellings_of_missing_are_one_value():
    release = release_of("x:1 -:1 ?:1").append_column("n", pa.array([1.0, None, math.nan]))
    assert worst(release, "l") == 3
    assert worst(release, "l", missing=["?"]) == 2
    assert promise_oracles.worst(release, ["q"], "n", "l", {}) == 2


def test_missing_and_star_are_different_groups():
    release = pa.table({"q": ["*", None, "*", None], "r": [None, "*", None, None], "s": list("wxyz")})
    assert promise_oracles.worst(release, ["q", "r"], "s", "k", {}) == 1


EXTRA = ("secret", "person")
COUNTS = st.dictionaries(st.sampled_from(["", "a", "b", "c"]), st.integers(1, 6), min_size=1)


@pytest.mark.slow
@QUICK
@given(one=COUNTS, other=COUNTS)
def test_sql_matches_plain_python(one, other):
    """Two groups: entropy and recursive diversity by their formulas, distances by a linear program and by scipy."""
    words = [" ".join(f"{value or '-'}:{count}" for value, count in counts.items()) for counts in (one, other)]
    release = release_of(*words)
    table = dict(sorted((Counter(one) + Counter(other)).items()))
    distances = promise_oracles.equal_distance, promise_oracles.ordered_distance
    found = {
        "equal": max(distances[0](counts, table) for counts in (one, other)),
        "ordered": max(distances[1](counts, table) for counts in (one, other)),
        "tree": max(promise_oracles.tree_distance(counts, table, TREE) for counts in (one, other)),
    }
    for distance, figure in found.items():
        assert worst(release, "t", t_distance=distance, tree=TREE) == pytest.approx(figure, abs=1e-9)
    assert worst(release, "entropy_l") == pytest.approx(min(map(promise_oracles.entropy_l, (one, other))))
    for l, c in ((2, 0.7), (2, 1), (3, 2)):  # noqa: E741
        kept = all(promise_oracles.is_recursive(counts, l, c) for counts in (one, other))
        assert (promise_oracles.broken(release, ["q"], 1, {"s": {"recursive_l": (l, c)}}) == []) == kept


@pytest.mark.slow
@QUICK
@given(
    table=testing.tables(least=6),
    requested=st.lists(st.sampled_from(privacy.SENSITIVE_PROMISES), min_size=1, unique=True).flatmap(
        lambda names: st.tuples(*(testing.PARAMETERS[name] for name in names))
    ),
    cut=st.integers(1, 5),
    persons=st.booleans(),
)
def test_kohort_testing_agrees_with_sql(table, requested, cut, persons):
    """Two implementations of the definitions agree on any groups: SQL here, and Python in `kohort.testing`."""
    given = {name: value for one in requested for name, value in one.items()}
    job = testing.job_for(MONDRIAN, {}, 2, **given)
    release = table.set_column(0, "few", pa.array([str(row % cut) for row in range(table.num_rows)])).select(
        ["few", "secret", "person"]
    )
    whose = release.column("person").to_pylist() if persons else None
    rows = release.to_pylist()
    groups = [[row for row in range(len(rows)) if row % cut == part] for part in range(min(cut, len(rows)))]
    trees = {"secret": testing.SECRET_TREE}
    by_sql = promise_oracles.broken(release, ["few"], 2, settings_of(job), persons=whose, trees=trees)
    assert sorted(by_sql) == sorted(testing.broken(rows, groups, job, whose))


@pytest.mark.slow
@QUICK
@given(
    table=testing.tables(least=6),
    requested=st.sampled_from(privacy.SENSITIVE_PROMISES).flatmap(lambda name: testing.PARAMETERS[name]),
    cut=st.integers(1, 5),
    unit=st.sampled_from([(), ("person",)]),
)
def test_audit_agrees_with_sql(table, requested, cut, unit):
    """For any groups, valid or not, `kohort.audit` fails for exactly those promises that the SQL here finds broken."""
    release = pa.table({"few": [str(row % cut) for row in range(table.num_rows)], **{name: table.column(name) for name in EXTRA}})
    known = {"default", *release.column("secret").to_pylist()}
    if isinstance(requested.get("alpha"), dict) and not known.issuperset(requested["alpha"]):
        return
    trees = {"secret": testing.SECRET_TREE} if "t" in requested else {}
    job = Job.build(
        quasi="few",
        sensitive="secret",
        unit=unit,
        drop=[name for name in EXTRA if name not in {"secret", *unit}],
        hierarchy=trees,
        k=2,
        **requested,
    )
    release = release.drop_columns(job.names("drop"))
    whose = release.column("person").to_pylist() if unit else None
    by_sql = promise_oracles.broken(release, ["few"], 2, settings_of(job), persons=whose, trees=trees)
    failing = [".".join(reversed(check.name.replace("-", "_").split())) for check in kohort.audit(release, job).failures()]
    # The table has the unit column, which a release must not have; it is needed here to count people.
    assert sorted({*failing} - {"wildcard", "withheld"}) == sorted(by_sql)


# --- values equal to a limit

GROUPS_OF_100 = pa.table({"age": [30] * 100 + [80] * 100, "disease": (["gout"] * 57 + ["mumps"] * 43) * 2})


@pytest.mark.parametrize(
    "requested", [{"alpha": 0.57}, {"alpha": {"gout": 0.57, "mumps": 0.43}}, {"l": 2}, {"k": 100}, {"t": 1e-9}]
)
def test_rounding_does_not_break_a_promise(requested):
    """57 of 100 is a share of 0.57, although 0.57 * 100 is less than 57 in floating point."""
    release = kohort.anonymize(GROUPS_OF_100, quasi="age", sensitive="disease", seed=7, **{"k": 2, **requested})
    assert len(set(release.labels.tolist())) == 2


def test_recursive_l_requires_strictly_less():
    """With c = 1 the promise is 2 < 1 * 2, which is false for every group whose two values are equally frequent."""
    table = pa.table({"age": [30] * 4 + [80] * 4, "disease": ["gout", "gout", "mumps", "mumps"] * 2})
    for c, groups in ((1.01, 2), (1, None)):
        requested: dict[str, Any] = {"quasi": "age", "sensitive": "disease", "k": 2, "recursive_l": (2, c)}
        if groups is None:
            with pytest.raises(PromiseError, match="recursive_l"):
                kohort.anonymize(table, **requested)
        else:
            assert len(set(kohort.anonymize(table, **requested).labels.tolist())) == groups


# --- Adult

ADULT = {"l": 3, "entropy_l": 3, "alpha": 0.5, "t": 0.3}


@pytest.mark.slow
@pytest.mark.parametrize("relaxed", [False, True], ids=["strict", "relaxed"])
@pytest.mark.parametrize("requested", [ADULT, {"t": 0.2}, {"beta": 2}, {"recursive_l": (3, 2)}], ids="-".join)
@pytest.mark.usefixtures("public_data")
def test_release_of_adult_keeps_its_promises(requested, relaxed, tmp_path):
    """The written file is read back and counted by SQL."""
    quasi = [name for name in datasets.ADULT_A if name != "occupation"]
    sample = datasets.adult(quasi, ["occupation"])
    target = tmp_path / "out.csv"
    job = Job.build(sample.job, k=5, method="mondrian", option={"relaxed": relaxed})
    kohort.anonymize(sample.table, job, output=target, **requested)
    written = pa.Table.from_pandas(pd.read_csv(target, dtype=str, keep_default_na=False, na_values=[""]), preserve_index=False)
    assert written.num_rows == sample.table.num_rows
    assert promise_oracles.broken(written, quasi, 5, {"occupation": requested}) == []
    plain = kohort.anonymize(sample.table, job)
    assert promise_oracles.broken(plain.table, quasi, 5, {"occupation": requested}) != []
