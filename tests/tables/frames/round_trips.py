"""A column through kohort and back, in the frame of any library."""

from __future__ import annotations

import pandas as pd
import pytest

import kohort as kh
from kohort.errors import RequestError
from kohort.tables import frames

RARE = "Xanthippe-4711"  # planted; must not turn up where it does not belong


def through(source, wanted=("age",), quasi="age", rows=None):
    """What a release of the source comes back as; of `rows` only, if given, as if the others were withheld."""
    taken = frames.take_in(source, wanted)
    assert taken is not None
    table, kind = taken
    carried = [name for name in table.column_names if name != quasi]
    if rows is None and kind.readable_again:
        index = [name for name in frames.index_names(source) if name in wanted and name != quasi]
        return kh.anonymize(source, quasi=quasi, sensitive=[*dict.fromkeys([*index, *carried])], k=2, keep_order=True).table
    release = kh.anonymize(table, quasi=quasi, sensitive=carried, k=2, keep_order=True).table
    return frames.give_back(release if rows is None else release.take(rows), kind, carried)


def same_column(made, given):
    """Equal in type and cells, wherever a cell is missing."""
    pd.testing.assert_series_equal(made.reset_index(drop=True), given.reset_index(drop=True), check_names=False)


# --- odd frames


def refused(source) -> str:
    with pytest.raises(RequestError) as error:
        frames.take_in(source)
    assert error.value.__context__ is None or error.value.__suppress_context__
    assert RARE not in str(error.value)
    return str(error.value)
