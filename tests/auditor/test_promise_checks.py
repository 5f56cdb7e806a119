"""The auditor's figure for every promise, compared with its definition in plain Python."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from kohort.auditor.promise_checks import ValueDistance
from kohort.errors import RequestError
from kohort.schema import trees as hierarchies
from kohort.schema.promises import SENSITIVE_PROMISES
from tests.auditor.checked_groups import TREE, agrees, checked, evidence_of

MISSING = ("NA", "it's", "\\N")
NUMBERS = ("1", "2", "10", "3.5", "-4", "2.0")
TREE_DISTANCE = ValueDistance(tree=hierarchies.build(TREE))


# --- definitions in plain Python


class Oracle:
    """Counts of the values in each group and in the table, one for each row or for each person."""

    def __init__(self, keys, values, persons):
        cells = ["" if value is None or value in MISSING else value for value in values]
        who = range(len(cells)) if persons is None else persons
        held, people = defaultdict(set), defaultdict(set)
        for key, value, person in zip(keys, cells, who, strict=True):
            held[key].add((value, person))
            people[key].add(person)
        self.groups = {key: Counter(value for value, _person in pairs) for key, pairs in held.items()}
        self.persons = people
        self.table = Counter(value for value, _person in set(zip(cells, who, strict=True)))

    def shares(self):
        """Return the values of the table in order, and for each group the shares q and p of every value."""
        order = sorted(self.table, key=lambda value: (value != "", float(value or 0), value))
        p = [self.table[value] / self.table.total() for value in order]
        return order, [([counts[value] / counts.total() for value in order], p) for counts in self.groups.values()]

    def alpha(self, limits):
        default = limits.get("default", 1)
        found = [
            (counts[value] / len(self.persons[key]), limits.get(value, default))
            for key, counts in self.groups.items()
            for value in counts
            if limits.get(value, default) < 1
        ]
        holds = all(share <= limit + 1e-9 for share, limit in found)
        if set(limits) == {"default"}:
            return max((share for share, _limit in found), default=0), holds
        return max((share / limit for share, limit in found), default=0), holds  # share divided by the limit of that value

    def l(self, least):  # noqa: E743
        found = min(map(len, self.groups.values()))
        return found, found >= least

    def entropy_l(self, least):
        found = min(
            math.prod((counts.total() / n) ** (n / counts.total()) for n in counts.values()) for counts in self.groups.values()
        )
        return found, found >= least - 1e-9

    def recursive_l(self, parameters):
        many, factor = parameters
        ratios = []
        for counts in self.groups.values():
            falling = sorted(counts.values(), reverse=True)
            tail = sum(falling[many - 1 :])
            ratios.append(falling[0] / tail if tail else math.inf)
        return max(ratios), max(ratios) < factor

    def t(self, most, distance):
        order, groups = self.shares()
        found = max({"equal": equal, "ordered": ordered, "tree": tree}[distance](q, p, order) for q, p in groups)
        return found, found <= most + 1e-9

    def beta(self, most, kind):
        gains = [(q / p - 1, p) for _order, groups in [self.shares()] for qs, ps in groups for q, p in zip(qs, ps, strict=True)]
        holds = all(gain <= (most if kind == "basic" else min(most, -math.log(p))) + 1e-9 for gain, p in gains)
        return max(gain for gain, _p in gains), holds

    def delta(self, most):
        found = max(
            abs(math.log2(counts[value] * self.table.total() / (counts.total() * n))) if counts[value] else math.inf
            for counts in self.groups.values()
            for value, n in self.table.items()
        )
        return found, found < most


def equal(q, p, _order):
    return sum(abs(here - there) for here, there in zip(q, p, strict=True)) / 2


def ordered(q, p, order):
    gaps = [sum(q[: end + 1]) - sum(p[: end + 1]) for end in range(len(order))]
    return sum(map(abs, gaps)) / max(len(order) - 1, 1)


def tree_distance(one, other):
    """Return the height of the lowest common ancestor divided by the tree height. Missing has distance 1 from all values."""
    if one == other:
        return 0.0
    if "" in (one, other):
        return 1.0
    paths = {row[0]: row[::-1] for row in TREE}
    depth = next(depth for depth, (a, b) in enumerate(zip(paths[one], paths[other], strict=False)) if a != b)
    below = max(len(path) - depth for path in paths.values() if path[:depth] == paths[one][:depth])
    return below / max(len(path) - 1 for path in paths.values())


def tree(q, p, order):
    """Return the cost of the cheapest plan to move q to p: the definition, as a linear program."""
    size = len(order)
    leaving = [[float(to // size == place) for to in range(size * size)] for place in range(size)]
    arriving = [[float(to % size == place) for to in range(size * size)] for place in range(size)]
    plan = linprog([tree_distance(one, other) for one in order for other in order], A_eq=leaving + arriving, b_eq=q + p)
    return plan.fun


PART = st.builds(lambda part, whole: min(part, whole - 1) / whole, st.integers(1, 8), st.integers(2, 9))
REQUESTED = st.one_of(
    st.fixed_dictionaries({"alpha": PART}),
    st.fixed_dictionaries({"alpha": st.dictionaries(st.sampled_from(["default", "1", "", "-4", "nobody"]), PART, min_size=1)}),
    st.fixed_dictionaries({"l": st.integers(2, 4)}),
    st.fixed_dictionaries({"entropy_l": st.sampled_from([1.5, 2, 2.5, 3])}),
    st.fixed_dictionaries({"recursive_l": st.tuples(st.integers(2, 4), st.sampled_from([0.5, 1, 1.5, 2, 3]))}),
    st.fixed_dictionaries({"t": PART, "t_distance": st.sampled_from(["equal", "ordered", "tree"])}),
    st.fixed_dictionaries({"beta": st.sampled_from([0.5, 1, 2, 4]), "beta_kind": st.sampled_from(["basic", "enhanced"])}),
    st.fixed_dictionaries({"delta": st.sampled_from([0.5, 1, 1.5, 2])}),
)
VALUES = st.sampled_from([None, "", *MISSING, *NUMBERS])
ROW = st.tuples(st.sampled_from([None, "*", "x"]), st.sampled_from([None, "", "y"]), VALUES, VALUES, st.integers(0, 5))


def promised(requested):
    return next(name for name in requested if name in SENSITIVE_PROMISES)


def expected(oracle, requested):
    promise = promised(requested)
    parameter = requested[promise]
    if promise == "alpha":
        return oracle.alpha(parameter if isinstance(parameter, dict) else {"default": parameter})
    if promise in ("t", "beta"):
        return getattr(oracle, promise)(parameter, requested.get("t_distance") or requested.get("beta_kind"))
    return getattr(oracle, promise)(parameter)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(
    rows=st.lists(ROW, min_size=1, max_size=24),
    first=REQUESTED,
    second=REQUESTED,
    with_persons=st.booleans(),
    few=st.integers(1, 6),
)
def test_every_promise_matches_its_definition(rows, first, second, with_persons, few):
    a, b, s, z, who = map(list, zip(*rows, strict=True))
    s = [value if value is None or value in NUMBERS[:few] else None for value in s]  # often a single value
    persons = who if with_persons else None
    evidence = evidence_of(
        {"a": a, "b": b, "s": s, "z": z},
        {"s": first, "z": second},
        persons=persons,
        missing=MISSING,
        value_distances={
            "s": TREE_DISTANCE if first.get("t_distance") == "tree" else ValueDistance(),
            "z": TREE_DISTANCE if second.get("t_distance") == "tree" else ValueDistance(),
        },
    )
    keys = list(zip(a, b, strict=True))
    for check, name, values, requested in zip(evidence.checks[2:], "sz", (s, z), (first, second), strict=True):
        figure, holds = expected(Oracle(keys, values, persons), requested)
        assert check.name == f"{promised(requested)} {name}"
        assert agrees(check, figure), (check, figure)
        assert (check.verdict != "fail") == holds, (check, figure)
    people = Oracle(keys, s, persons).persons
    assert evidence.k == min(map(len, people.values()))
    assert (evidence.rows, evidence.dm) == (len(rows), sum(n * n for n in Counter(keys).values()))
    fits = [set().union(*(people[other] for other in people if matches(one, other))) for one in people]
    assert evidence.checks[1].found == min(map(len, fits))


def matches(one, other):
    return all(a == b or {a, b} & {None, "*"} for a, b in zip(one, other, strict=True))


GOLDEN = {
    "a share at its limit": ({"alpha": 0.5}, [["x", "x", "y", "z"]], 0.5, "pass"),
    "a share at an inexact limit": (
        {"alpha": 0.3},
        [["x"] * 3 + ["y"] * 3 + ["z"] * 3 + ["w"]],
        0.3,
        "pass",
    ),
    "a share over its limit": ({"alpha": 0.49}, [["x", "x", "y", "z"]], 0.5, "fail"),
    "a share over its own limit": ({"alpha": {"default": 0.5, "y": 0.2}}, [["x", "x", "y", "z"]], 1.25, "fail"),
    "only one value is limited": ({"alpha": {"y": 0.25}}, [["x", "x", "y", "x"]], 1.0, "pass"),
    "a limit for an absent value": ({"alpha": {"Y": 0.25}}, [["x", "x", "y", "x"]], 0.0, "warn"),
    "missing has a limit": ({"alpha": {"": 0.4}}, [["x", None, "", "x"]], 1.25, "fail"),
    "missing is one value": ({"l": 2}, [["", None]], 1, "fail"),
    "two values": ({"l": 2}, [["x", None], ["x", "y"]], 2, "pass"),
    "entropy of two equals": ({"entropy_l": 2}, [["x", "y"]], 2, "pass"),
    "entropy of a half and two quarters": ({"entropy_l": 2.9}, [["x", "x", "y", "z"]], 2.82843, "fail"),
    "entropy of ten equals": ({"entropy_l": 10}, [list("abcdefghij")], 10, "pass"),
    "4 against 2 + 1, less than 2 times": ({"recursive_l": (3, 2)}, [list("aaaabbbccd")], 1.33333, "pass"),
    "4 against 2 + 1, not less than 4/3 times": ({"recursive_l": (3, 4 / 3)}, [list("aaaabbbccd")], 1.33333, "fail"),
    "no value from rank 3 on": ({"recursive_l": (3, 100)}, [["x", "y"]], "inf", "fail"),
    "half of the rows move": ({"t": 0.5}, [["x"] * 2, ["y"] * 2], 0.5, "pass"),
    "one group is the whole table": ({"t": 0.01, "t_distance": "equal"}, [["x", "y"]], 0, "pass"),
    "one value has no order": ({"t": 0.01, "t_distance": "ordered"}, [["7"], ["7"]], 0, "pass"),
    "twice as frequent": ({"beta": 1, "beta_kind": "basic"}, [["x", "x"], ["y", "y"]], 1, "pass"),
    "twice as frequent, ln 2 allowed": ({"beta": 1}, [["x", "x"], ["y", "y"]], 1, "fail"),
    "twice as frequent, ln 4 allowed": ({"beta": 1}, [list("xxyy"), list("zzww")], 1, "pass"),
    "all rows have the same value": ({"beta": 0.1}, [["x", "x"]], 0, "pass"),
    "2^1 is not less than 2^1": ({"delta": 1}, [list("xxyy"), list("xyyyyyyy")], 1, "fail"),
    "2^1 is less than 2^1.01": ({"delta": 1.01}, [list("xxyy"), list("xyyyyyyy")], 1, "pass"),
    "a value is absent": ({"delta": 9}, [["x", "x"], ["x", "y"]], "inf", "fail"),
    "the same shares as in the table": ({"delta": 0.001}, [["x", "y"], ["y", "x"]], 0, "pass"),
}


@pytest.mark.parametrize("what", GOLDEN)
def test_examples_computed_by_hand(what):
    requested, groups, found, verdict = GOLDEN[what]
    check = checked(groups, requested)
    assert (check.found, check.verdict) == (found, verdict)
    assert "'s'" in check.meaning


def test_promises_need_a_sensitive_column():
    with pytest.raises(RequestError, match="no sensitive column"):
        evidence_of({"a": ["x"], "s": ["1"]}, {"a": {"l": 2}})


def test_promises_are_not_run_without_rows():
    requested = {
        "alpha": {"default": 0.5, "x": 0.1},
        "l": 2,
        "entropy_l": 2,
        "recursive_l": (2, 2),
        "t": 0.5,
        "beta": 1,
        "delta": 1,
    }
    evidence = evidence_of({"a": [], "s": []}, {"s": requested})
    assert {(check.found, check.verdict) for check in evidence.checks[2:]} == {(None, "not run")}
    assert not evidence.passed


def test_checks_never_show_a_cell():
    requested = {
        "alpha": {"default": 0.5, "okapi": 0.1},
        "l": 2,
        "entropy_l": 2,
        "recursive_l": (2, 2),
        "t": 0.5,
        "beta": 1,
        "delta": 1,
    }
    evidence = evidence_of({"a": ["giraffe"] * 3, "s": ["zebra", "okapi", "zebra"]}, {"s": requested})
    assert len(evidence.checks) == 9
    assert not any(animal in repr(evidence.checks) for animal in ("zebra", "okapi", "giraffe"))
    assert all(check.sql for check in evidence.checks)
