"""Personal columns are recognised batch by batch."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from kohort.engines.disk.personal_columns import Look
from kohort.schema.columns import _looks_personal

QUICK = settings(max_examples=60, deadline=None)


@QUICK
@given(
    cells=st.lists(
        st.none() | st.sampled_from(["a", "b", "one two three four five six", "x y"]) | st.text(max_size=3), max_size=60
    ),
    size=st.integers(1, 20),
)
def test_a_column_in_batches_looks_as_personal_as_whole(cells, size, tmp_path_factory):
    column = pa.array(cells, pa.string())
    look = Look(tmp_path_factory.mktemp("look") / "seen")
    for start in range(0, len(column), size):
        look.add(column.slice(start, size))
    assert look.reason() == _looks_personal(pa.chunked_array([column]))
