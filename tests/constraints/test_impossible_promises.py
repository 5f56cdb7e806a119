"""Promises that cannot be kept: the message says which, why, and what can be."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest

import kohort
from kohort.errors import KohortError, PromiseError, RequestError

# --- what cannot be kept

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
    "every sensitive column": ({"sensitive": ["disease", "doctor"], "other": (), "l": 3}, (r"\bl=3\b", "'doctor'", "l to 2")),
    "persons": ({"unit": "doctor", "other": ()}, (r"\bk=3\b", r"\b2\b")),
}
WRONG: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "alpha 0": ({"alpha": 0}, (r"\balpha\b", "greater than 0")),
    "alpha of a column 0": ({"alpha": {"disease": 0}}, (r"\balpha\b", "disease", "greater than 0")),
    "t 0": ({"t": 0}, (r"\bt\b", "greater than 0")),
    "unit and quasi": ({"unit": "age"}, ("'age'", "two roles", "unit")),
    "a value that nobody holds": ({"alpha": {"default": 0.6, "measles": 0.1}}, (r"\balpha\b", "'disease'")),
    "a value by another case": ({"alpha": {"GOUT": 0.6}}, (r"\balpha\b", "'disease'")),
    "no sensitive column": ({"sensitive": (), "drop": "disease", "l": 2}, (r"\bl\b", "sensitive")),
    "tree without a tree": ({"t": 0.3, "t_distance": "tree"}, (r"\bt_distance\b|\btree\b", "'disease'", "hierarch")),
    "text has no order": ({"t": 0.3, "t_distance": "ordered"}, (r"\bt_distance\b", "'disease'", "hierarch")),
    "a tree that lacks values": (
        {"t": 0.3, "t_distance": "tree", "hierarchy": {"disease": (("gout", "*"), ("mumps", "*"))}},
        ("'disease'", "tree"),
    ),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_what_cannot_be_kept(case):
    asked, words = IMPOSSIBLE[case]
    with pytest.raises(PromiseError) as told:
        kohort.anonymize(WARD, **{**ROLES, **asked})
    require_clear(told.value, words)


@pytest.mark.parametrize("case", WRONG)
def test_what_is_asked_wrongly(case):
    asked, words = WRONG[case]
    with pytest.raises(RequestError) as told:
        kohort.anonymize(WARD, **{**ROLES, **asked})
    require_clear(told.value, words)


def require_clear(error: KohortError, words) -> None:
    message = str(error)
    assert all(re.search(word, message) for word in words), message
    assert message.endswith((".", "?")), message
    assert not re.search("gout|mumps|ebola|quack|shaman", message), message


@pytest.mark.parametrize("asked", [{"l": 9}, {"alpha": 0.1}, {"entropy_l": 9}, {"k": 41}])
def test_what_the_error_advises_can_be_kept(asked):
    """The remedy is a setting that works, and no stronger one of its kind would."""
    name = next(iter(asked))
    with pytest.raises(PromiseError) as told:
        kohort.anonymize(WARD, **{**ROLES, **asked})
    advised = re.search(rf"(?:Ask for {name}=|Set {name} to )(\d+(?:\.\d+)?) or", str(told.value))
    assert advised, str(told.value)
    strongest = float(advised[1]) if name in ("alpha", "entropy_l") else int(advised[1])
    assert kohort.anonymize(WARD, **{**ROLES, name: strongest}).evidence.passed
    stronger = {"l": strongest + 1, "k": strongest + 1, "alpha": strongest - 0.01, "entropy_l": strongest + 0.01}[name]
    with pytest.raises(PromiseError):
        kohort.anonymize(WARD, **{**ROLES, name: stronger})


def test_nothing_is_written_when_a_promise_cannot_be_kept(tmp_path):
    with pytest.raises(PromiseError):
        kohort.anonymize(WARD, **ROLES, l=4, output=tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())
