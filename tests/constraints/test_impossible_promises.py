"""Promises that cannot be kept: the message says which promise, why, and which promise is possible."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest

import kohort
from kohort.errors import KohortError, PromiseError, RequestError

DISEASES = ["gout", "gout", "mumps", "ebola"] * 10
WARD = pa.table({"age": list(range(40)), "disease": DISEASES, "doctor": ["quack", "shaman"] * 20})
ROLES: dict[str, Any] = {"quasi": "age", "sensitive": "disease", "other": "doctor", "k": 3, "seed": 7}

IMPOSSIBLE: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "l": ({"l": 4}, (r"\bl=4\b", "'disease'", r"\b3\b", r"\bl to 3\b")),
    "alpha": ({"alpha": 0.4}, (r"\balpha=0\.4\b", "'disease'", r"\balpha to 0\.5\b")),
    "alpha of a value": ({"alpha": {"gout": 0.3}}, (r"\balpha\b", "'disease'", r"\b0\.5\b")),
    "entropy_l": ({"entropy_l": 3}, (r"\bentropy_l=3(\.0)?\b", "'disease'", r"\b2\.82")),
    "recursive_l": ({"recursive_l": (3, 1.5)}, (r"\brecursive_l\b", "'disease'")),
    "recursive_l without enough": ({"recursive_l": (4, 9)}, (r"\brecursive_l\b", "'disease'", r"\b3\b")),
    "every sensitive column": (
        {"sensitive": ["disease", "doctor"], "other": (), "l": 3},
        (r"\bl=3\b", "'doctor'", r"\bl to 2\b"),
    ),
    "people": ({"unit": "doctor", "other": ()}, (r"\bk=3\b", r"\b2\b")),
}
WRONG: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "alpha 0": ({"alpha": 0}, (r"\balpha\b", "greater than 0")),
    "alpha of a column 0": ({"alpha": {"disease": 0}}, (r"\balpha\b", "disease", "greater than 0")),
    "t 0": ({"t": 0}, (r"\bt\b", "greater than 0")),
    "unit and quasi": ({"unit": "age"}, ("'age'", "two roles", "unit")),
    "a value that does not occur": ({"alpha": {"default": 0.6, "measles": 0.1}}, (r"\balpha\b", "'disease'")),
    "a value in another case": ({"alpha": {"GOUT": 0.6}}, (r"\balpha\b", "'disease'")),
    "no sensitive column": ({"sensitive": (), "drop": "disease", "l": 2}, (r"\bl\b", "sensitive")),
    "tree without a tree": ({"t": 0.3, "t_distance": "tree"}, (r"\bt_distance\b|\btree\b", "'disease'", "hierarch")),
    "text has no order": ({"t": 0.3, "t_distance": "ordered"}, (r"\bt_distance\b", "'disease'", "hierarch")),
    "a tree that lacks values": (
        {"t": 0.3, "t_distance": "tree", "hierarchy": {"disease": (("gout", "*"), ("mumps", "*"))}},
        ("'disease'", "tree"),
    ),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_error_for_an_impossible_promise(case):
    requested, words = IMPOSSIBLE[case]
    with pytest.raises(PromiseError) as caught:
        kohort.anonymize(WARD, **{**ROLES, **requested})
    require_clear_message(caught.value, words)


@pytest.mark.parametrize("case", WRONG)
def test_error_for_an_invalid_request(case):
    requested, words = WRONG[case]
    with pytest.raises(RequestError) as caught:
        kohort.anonymize(WARD, **{**ROLES, **requested})
    require_clear_message(caught.value, words)


def require_clear_message(error: KohortError, words) -> None:
    """Require that a message has all words, ends as a sentence and shows no cell value."""
    message = str(error)
    assert all(re.search(word, message) for word in words), message
    assert message.endswith((".", "?")), message
    assert not re.search("gout|mumps|ebola|quack|shaman", message), message


@pytest.mark.parametrize("requested", [{"l": 9}, {"alpha": 0.1}, {"entropy_l": 9}])
def test_advice_of_the_error_is_the_strongest_possible_promise(requested):
    """The advised setting works, and no stronger setting does."""
    name = next(iter(requested))
    with pytest.raises(PromiseError) as caught:
        kohort.anonymize(WARD, **{**ROLES, **requested})
    advised = re.search(rf"Set {name} to (\d+(?:\.\d+)?) or", str(caught.value))
    assert advised, str(caught.value)
    strongest = float(advised[1]) if name in ("alpha", "entropy_l") else int(advised[1])
    assert kohort.anonymize(WARD, **{**ROLES, name: strongest}).evidence.passed
    stronger = {"l": strongest + 1, "alpha": strongest - 0.01, "entropy_l": strongest + 0.01}[name]
    with pytest.raises(PromiseError):
        kohort.anonymize(WARD, **{**ROLES, name: stronger})


@pytest.mark.parametrize(("rows", "advice"), [(40, "example 5 (--k 5), "), (6, "example 3 (--k 3), "), (3, "Add more rows.")])
def test_advice_for_a_k_larger_than_the_table_is_not_one_group_of_all_rows(rows, advice):
    with pytest.raises(PromiseError) as caught:
        kohort.anonymize(WARD.slice(0, rows), **{**ROLES, "k": 41})
    assert advice in str(caught.value)
    assert (f"With k={rows} all rows would be one group." in str(caught.value)) == (rows > 3)


def test_advice_for_recursive_l_is_an_example_that_works():
    with pytest.raises(PromiseError) as caught:
        kohort.anonymize(WARD, **ROLES, recursive_l=(2, 0.5))
    advised = re.search(r"second number, c, to more than 1, for example --recursive-l (\S+)\.", str(caught.value))
    assert advised, str(caught.value)
    assert kohort.anonymize(WARD, **ROLES, recursive_l=advised[1]).evidence.passed


def test_nothing_is_written_if_a_promise_cannot_be_kept(tmp_path):
    with pytest.raises(PromiseError):
        kohort.anonymize(WARD, **ROLES, l=4, output=tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())
