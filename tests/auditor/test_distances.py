"""Distances between distributions: examples from papers, comparison with scipy, order and type of values."""

from __future__ import annotations

import math
from datetime import date, timedelta

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from kohort.auditor.promise_checks import ValueDistance
from kohort.errors import RequestError
from kohort.schema import trees as hierarchies
from tests.auditor.checked_groups import TREE, agrees, checked, evidence_of

TREE_DISTANCE = ValueDistance(tree=hierarchies.build(TREE))


# --- examples from the papers


SALARIES = [str(thousands) for thousands in range(3, 12)]


@pytest.mark.parametrize(("group", "distance"), [(["3", "4", "5"], 0.375), (["6", "8", "11"], 0.166667)])
def test_t_closeness_of_li_et_al(group, distance):
    rest = [salary for salary in SALARIES if salary not in group]
    check = checked([group, rest], {"t": 0.375, "t_distance": "ordered"})
    assert (check.name, check.required, check.found, check.verdict) == ("t s", 0.375, distance, "pass")
    assert checked([group, rest], {"t": distance - 0.001, "t_distance": "ordered"}).verdict == "fail"


DISEASES = [
    ("flu", "infection", "respiratory", "*"),
    ("bronchitis", "infection", "respiratory", "*"),
    ("embolism", "vascular", "respiratory", "*"),
    ("ulcer", "stomach", "digestive", "*"),
]


@pytest.mark.parametrize(("other", "distance"), [("bronchitis", 1 / 3), ("embolism", 2 / 3), ("ulcer", 1), (None, 1)])
def test_tree_distance_of_li_et_al(other, distance):
    """Each group has one disease, so half of the rows must move."""
    value_distance = ValueDistance(tree=hierarchies.build(DISEASES))
    check = checked([["flu"] * 2, [other] * 2], {"t": 0.9, "t_distance": "tree"}, value_distance)
    assert check.found == pytest.approx(distance / 2, rel=1e-5)


@settings(max_examples=40, deadline=None, database=None)
@given(st.lists(st.lists(st.integers(-20, 20), min_size=1, max_size=12), min_size=1, max_size=6))
def test_ordered_distance_matches_scipy(groups):
    ranks = {number: rank for rank, number in enumerate(sorted({number for numbers in groups for number in numbers}))}
    all_ranks = [ranks[number] for numbers in groups for number in numbers]
    distance = max(wasserstein_distance([ranks[number] for number in numbers], all_ranks) for numbers in groups)
    check = checked([[str(number) for number in numbers] for numbers in groups], {"t": 0.5, "t_distance": "ordered"})
    assert agrees(check, distance / max(len(ranks) - 1, 1))


# --- types and order of values


DAYS = [date(2019, 12, 30) + timedelta(days=days) for days in range(9)]
LONG = [str(10**16 - 4 + number) for number in range(9)]  # some of them are equal as doubles
ORDERS = {
    "numbers": (SALARIES, ValueDistance()),
    "long numbers": (LONG, ValueDistance()),
    "decimal commas": ([f"{number},5" for number in range(3, 12)], ValueDistance(comma=True)),
    "dates": ([f"{day:%d.%m.%Y}" for day in DAYS], ValueDistance(dates="DD.MM.YYYY")),
    "a tree's leaves": (list("zebrafish"), ValueDistance(tree=hierarchies.flat(list("zebrafish")))),
}


@pytest.mark.parametrize("what", ORDERS)
def test_ordered_distance_of_each_type(what):
    values, value_distance = ORDERS[what]
    check = checked([values[:3], values[3:]], {"t": 0.375, "t_distance": "ordered"}, value_distance)
    assert (check.found, check.verdict) == (0.375, "pass")


def test_missing_is_the_first_value():
    far_away = checked([[None, "-9"], ["5", "6"]], {"t": 0.9, "t_distance": "ordered"})
    assert far_away.found == checked([["1", "2"], ["3", "4"]], {"t": 0.9, "t_distance": "ordered"}).found


def test_missing_and_whole_numbers_in_typed_columns():
    """NaN is missing in a column of numbers and a value in a column of text. A limit for 1 applies to 1.0."""
    numbers = pa.array([1.0, math.nan, None, 2.5])
    columns = {"a": ["x"] * 4, "s": numbers}
    assert evidence_of(columns, {"s": {"l": 3}}).checks[2].found == 3
    assert evidence_of(columns, {"s": {"alpha": {"1": 0.2}}}).checks[2].found == 1.25
    assert evidence_of(columns, {"s": {"alpha": {"2.5": 0.2, "-9": 0.4}}}, missing=["-9"]).checks[2].found == 1.25
    assert evidence_of(columns | {"s": ["1", "nan", None, "2.5"]}, {"s": {"l": 3}}).checks[2].found == 4
    assert evidence_of(columns | {"s": pa.array([1, 1, -9, None])}, {"s": {"l": 2}}, missing=["-9"]).checks[2].found == 2


# --- errors never show a value


@pytest.mark.parametrize("persons", [None, ["p", "q", "r"]], ids=["rows", "persons"])
@pytest.mark.parametrize(
    ("distance", "value_distance", "message"),
    [
        ("tree", TREE_DISTANCE, "2 distinct values are not in the tree"),
        ("tree", ValueDistance(), "no tree"),
        ("ordered", TREE_DISTANCE, "2 distinct values are not in the tree"),
        ("ordered", ValueDistance(), "2 distinct values are not numbers"),
        ("ordered", ValueDistance(dates="DD.MM.YYYY"), "3 distinct values are not dates written as DD.MM.YYYY"),
    ],
)
def test_values_without_a_distance_raise_an_error(distance, value_distance, message, persons):
    with pytest.raises(RequestError, match=message) as error:
        checked([["zebra", "okapi", "1"]], {"t": 0.5, "t_distance": distance}, value_distance, persons=persons)
    assert "zebra" not in str(error.value)
