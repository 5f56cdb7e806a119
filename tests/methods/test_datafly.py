"""Datafly generalises the column with most values."""

from __future__ import annotations

import pyarrow as pa
import pytest

import kohort

pytestmark = pytest.mark.slow  # compiling the kernels takes long


def test_datafly_generalises_the_column_with_most_values_and_the_first_on_ties():
    columns = {"x": ["a", "b", "c", "a"], "y": ["p", "q", "p", "q"]}
    assert kohort.anonymize(pa.table(columns), quasi=["x", "y"], k=2, method="datafly", keep_order=True).table.to_pydict() == {
        "x": ["*"] * 4,
        "y": ["p", "q", "p", "q"],
    }
    columns = {"x": ["a", "a", "b", "b"], "y": ["p", "q", "p", "q"]}
    for first, other in (("x", "y"), ("y", "x")):
        release = kohort.anonymize(pa.table(columns), quasi=[first, other], k=2, method="datafly", keep_order=True)
        assert release.table[first].to_pylist() == ["*"] * 4
        assert release.table[other].to_pylist() == columns[other]
