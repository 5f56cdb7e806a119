"""Columns that identify people are recognised batch by batch."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from kohort.engines.disk.personal_columns import PersonalColumnCheck
from kohort.schema.columns import _looks_personal

QUICK = settings(max_examples=60, deadline=None)


@QUICK
@given(
    cells=st.lists(
        st.none() | st.sampled_from(["a", "b", "one two three four five six", "x y"]) | st.text(max_size=3), max_size=60
    ),
    size=st.integers(1, 20),
)
def test_check_in_batches_gives_the_same_reason_as_for_the_whole_column(cells, size, tmp_path_factory):
    column = pa.array(cells, pa.string())
    check = PersonalColumnCheck(tmp_path_factory.mktemp("check") / "seen")
    for start in range(0, len(column), size):
        check.add(column.slice(start, size))
    assert check.reason() == _looks_personal(pa.chunked_array([column]))
