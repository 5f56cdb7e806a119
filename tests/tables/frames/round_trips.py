"""Anonymize a data frame of any library and return the release as a data frame."""

from __future__ import annotations

import pandas as pd
import pytest

import kohort as kh
from kohort.errors import RequestError
from kohort.tables import frames

RARE = "Xanthippe-4711"  # a planted value that must not appear in messages or releases


def through(source, role_columns=("age",), quasi="age", rows=None):
    """Return the release of a data frame. If `rows` is given, return only these rows, as if the others were suppressed."""
    taken = frames.take_in(source, role_columns)
    assert taken is not None
    table, library = taken
    carried = [name for name in table.column_names if name != quasi]
    if rows is None and library.readable_again:
        index = [name for name in frames.index_names(source) if name in role_columns and name != quasi]
        return kh.anonymize(source, quasi=quasi, sensitive=[*dict.fromkeys([*index, *carried])], k=2, keep_order=True).table
    release = kh.anonymize(table, quasi=quasi, sensitive=carried, k=2, keep_order=True).table
    return frames.give_back(release if rows is None else release.take(rows), library, carried)


def same_column(made, given):
    """Check that two columns have the same type and cells, including missing cells."""
    pd.testing.assert_series_equal(made.reset_index(drop=True), given.reset_index(drop=True), check_names=False)


# --- frames that are rejected


def refused(source) -> str:
    """Check that a data frame is rejected without cells in the message. Return the message."""
    with pytest.raises(RequestError) as error:
        frames.take_in(source)
    assert error.value.__context__ is None or error.value.__suppress_context__
    assert RARE not in str(error.value)
    return str(error.value)
