"""The sizes of final groups are counted in people."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import kohort as kh
from kohort.errors import PromiseError


def test_group_sizes_are_counted_in_people():
    table = pa.table({"age": [20] * 6 + [60] * 6, "s": list("abcabc") * 2, "u": [0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8]})
    release = kh.anonymize(table, quasi="age", sensitive="s", unit="u", k=3, seed=7)
    assert sorted(release._publication.result.class_sizes.tolist()) == [3, 6]
    assert release.evidence.k == 3
    assert release.table.column_names == ["age", "s"]


def test_groups_published_identically_must_be_valid_as_one_group_of_people():
    """In each half a person has one value. Together each person has both values, so the share of each value is 1."""
    table = pa.table({"age": [20] * 8, "s": list("abababab"), "u": [0, 1, 2, 3, 1, 0, 3, 2]})
    requested: dict[str, Any] = {"quasi": "age", "sensitive": "s", "unit": "u", "k": 2, "alpha": 0.6}
    requested |= {"method": "mondrian", "option": {"relaxed": True}}
    with pytest.raises(PromiseError, match=r"alpha=0\.6"):
        kh.anonymize(table, **requested)
