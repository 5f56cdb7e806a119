"""Sensitive columns of any type."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import kohort
from kohort.errors import PromiseError
from tests.oracles import promises as promise_oracles

# --- sensitive columns of any type

KINDS = {
    "integers": pa.array([1, 2, 3, None] * 30),
    "decimals": pa.array([1.5, math.nan, None, 2.5, -3.0] * 24),
    "booleans": pa.array([True, True, False, None] * 30),
    "dates": pa.array([1, 400, 900, 900] * 30, pa.int32()).cast(pa.date32()),
    "categories": pa.array(["x", "y", "", None, "z", "z"] * 20).dictionary_encode(),
    "text like missing": pa.array(["nan", "None", "NULL", "null", ""] * 24),
    "text like numbers": pa.array(["1", "1.0", "01", "1e0"] * 30),
    "long text": pa.array(["x" * 5_000, "x" * 5_000 + "y", "z"] * 40),
}


ORDERED = ("integers", "decimals", "dates")


@pytest.mark.parametrize("name", KINDS)
def test_promises_for_sensitive_columns_of_any_type(name):
    """Values are compared as published text. Missing is one of the values."""
    column = KINDS[name]
    table = pa.table({"age": [7 * row % 60 for row in range(len(column))], "secret": column})
    promises: list[dict[str, Any]] = [{"l": 2}, {"alpha": 0.6}, {"t": 0.3}, {"entropy_l": 1.8}]
    promises += [{"t": 0.1, "t_distance": "ordered"}] if name in ORDERED else []
    for requested in promises:
        release = kohort.anonymize(table, quasi="age", sensitive="secret", k=3, seed=7, **requested)
        assert promise_oracles.broken(release.table, ["age"], 3, {"secret": requested}) == []
    with pytest.raises(PromiseError):
        kohort.anonymize(table, quasi="age", sensitive="secret", k=3, l=promise_oracles.different(table.column("secret")) + 1)


def test_alpha_limit_for_a_number():
    table = pa.table({"age": list(range(120)), "secret": [1, 1, 2, 3] * 30})
    requested: dict[str, Any] = {"alpha": {"1": 0.55, "default": 0.4}}
    release = kohort.anonymize(table, quasi="age", sensitive="secret", k=3, seed=7, **requested)
    assert len(set(release.labels.tolist())) > 5
    assert promise_oracles.broken(release.table, ["age"], 3, {"secret": requested}) == []


def test_missing_tokens_count_as_one_value():
    table = pa.table({"age": list(range(90)), "secret": ["?", "-", "x"] * 30})
    requested: dict[str, Any] = {"quasi": "age", "sensitive": "secret", "seed": 7, "k": 3, "missing": ["?", "-"]}
    with pytest.raises(PromiseError, match=r"\bl to 2\b"):
        kohort.anonymize(table, **requested, l=3)
    release = kohort.anonymize(table, **requested, l=2)
    assert promise_oracles.broken(release.table, ["age"], 3, {"secret": {"l": 2}}, missing=["?", "-"]) == []
    assert Counter(release.table.column("secret").to_pylist()) == {"?": 30, "-": 30, "x": 30}
