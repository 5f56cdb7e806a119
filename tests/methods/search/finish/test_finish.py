"""Final groups are counted in persons."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import kohort as kh
from kohort.errors import PromiseError


def test_classes_are_counted_in_persons():
    table = pa.table({"age": [20] * 6 + [60] * 6, "s": list("abcabc") * 2, "u": [0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8]})
    release = kh.anonymize(table, quasi="age", sensitive="s", unit="u", k=3, seed=7)
    assert sorted(release._publication.result.class_sizes.tolist()) == [3, 6]
    assert release.evidence.k == 3
    assert release.table.column_names == ["age", "s"]


def test_classes_that_look_alike_must_stand_as_one_where_persons_are_counted():
    """Both halves hold each value once a person; together each person holds both, so half is no limit any more."""
    table = pa.table({"age": [20] * 8, "s": list("abababab"), "u": [0, 1, 2, 3, 1, 0, 3, 2]})
    asked: dict[str, Any] = {"quasi": "age", "sensitive": "s", "unit": "u", "k": 2, "alpha": 0.6}
    asked |= {"method": "mondrian", "option": {"relaxed": True}}
    with pytest.raises(PromiseError, match=r"alpha=0\.6"):
        kh.anonymize(table, **asked)
