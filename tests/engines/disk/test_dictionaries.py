"""Dictionaries that are filled batch by batch."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kohort.encoding.encode import distinct
from kohort.engines.disk.dictionaries import Dictionary, require_room
from kohort.errors import RequestError

QUICK = settings(max_examples=60, deadline=None)
COLUMNS = st.one_of(
    st.lists(st.none() | st.integers(-3, 3), max_size=40).map(lambda cells: pa.array(cells, pa.int64())),
    st.lists(st.none() | st.sampled_from(["", "a", "b", "?", "ä"]), max_size=40).map(lambda cells: pa.array(cells, pa.string())),
    st.lists(st.none() | st.sampled_from([0.0, -0.0, 1.5, float("nan")]), max_size=40).map(
        lambda cells: pa.array(cells, pa.float64(), from_pandas=False)
    ),
)


@QUICK
@given(column=COLUMNS, size=st.integers(1, 9))
def test_dictionary_from_batches_equals_the_dictionary_of_the_whole_column(column, size):
    expected, indices = distinct(pa.chunked_array([column]), "c", ("?",))
    growing = Dictionary("c", sensitive=False)
    raw = [growing.add(column.slice(start, size)) for start in range(0, len(column), size)]
    found, renumbered = growing.finished(("?",))
    found_indices = renumbered[np.concatenate([np.empty(0, np.int32), *raw])]

    def texts(held, indices):
        return [str(held.values[index]) if index >= 0 else None for index in indices.tolist()]

    def counted(held):
        first = held.first_rows() if held.first_rows is not None else []
        return sorted(zip(map(str, held.values), held.counts.tolist(), first, strict=False))

    assert texts(found, found_indices) == texts(expected, indices)
    assert counted(found) == counted(expected)
    assert found.counts[-1] == expected.counts[-1]


def test_too_many_distinct_values_raise_an_error_that_names_the_largest_column():
    zips, sexes = Dictionary("zip", sensitive=False), Dictionary("sex", sensitive=False)
    zips.add(pa.array(range(1000)))
    sexes.add(pa.array(["f", "m"] * 500))
    require_room([zips, sexes], 1000, zips.nbytes + sexes.nbytes)
    with pytest.raises(
        RequestError, match=r"Column 'zip' has too many different values .*: 1,000 in the first 1,000 rows.*--memory"
    ):
        require_room([sexes, zips], 1000, zips.nbytes)
