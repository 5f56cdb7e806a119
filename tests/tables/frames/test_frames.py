"""Test that releases of data frames of every library keep types and cells."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from decimal import Decimal

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kohort as kh
from kohort.tables import frames
from kohort.tables.frames import arrow_table as arrow_frames
from tests.tables.frames.round_trips import RARE, refused, same_column, through

AGES = [20, 20, 30, 30, 40, 40]
TEXTS = ["b", "a", None, "b", "a", "b"]


def test_only_pandas_frames_have_index_names():
    assert frames.index_names(pl.DataFrame({"a": [1]})) == []
    assert frames.index_names(pa.table({"a": [1]})) == []
    assert frames.index_names("a.csv") == []


# --- frames of other libraries


def test_release_of_narwhals_frame_is_a_narwhals_frame():
    made = through(nw.from_native(pd.DataFrame({"age": AGES, "s": pd.Series([1, None] * 3, dtype="Int8")})))
    assert isinstance(made, nw.DataFrame)
    assert made.to_native()["s"].dtype == "Int8"
    lazy = through(nw.from_native(pl.LazyFrame({"age": AGES, "s": TEXTS})))
    assert isinstance(lazy, nw.LazyFrame)
    assert isinstance(lazy.to_native(), pl.LazyFrame)


@pytest.mark.parametrize(
    "make", [lambda: pd.DataFrame({"age": AGES, "s": "x"}), lambda: duckdb.sql("SELECT i // 2 AS age, 'x' s FROM range(6) t(i)")]
)
def test_frame_read_through_narwhals_keeps_its_class(make):
    source = make()
    taken = arrow_frames.take_other(source)
    assert taken is not None
    table, kind = taken
    release = kh.anonymize(table, quasi="age", sensitive="s", k=2, keep_order=True).table
    made = frames.give_back(release, kind, ["s"])
    assert type(made) is type(source)
    assert nw.from_native(made).lazy().collect("pyarrow").to_native().column("s").to_pylist() == ["x"] * 6


def test_release_is_a_table_if_the_frame_cannot_be_created():
    made = arrow_frames._to_other(nw.Implementation.PYSPARK, True, pa.table({"s": TEXTS}), ["s"])
    assert isinstance(made, pa.Table)


class Stream:
    """An object that only provides an Arrow stream."""

    def __init__(self, source):
        self._source = source

    def __arrow_c_stream__(self, requested_schema=None):
        return self._source.__arrow_c_stream__(requested_schema)


def test_release_of_arrow_stream_is_a_table():
    made = through(Stream(pa.table({"age": AGES, "s": pa.array(TEXTS, pa.string_view())})))
    assert isinstance(made, pa.Table)
    assert made.column("s").to_pylist() == TEXTS
    assert made.column("s").type == pa.string_view()


@pytest.mark.parametrize(
    "source",
    [
        None,
        7,
        "a.csv",
        [1],
        {"a": [1]},
        np.zeros((2, 2)),
        pa.array([1]),
        pa.chunked_array([[1]]),
        pd.Series([1]),
        pl.Series([1]),
        pd,
    ],
)
def test_objects_that_are_not_data_frames_are_not_read(source):
    assert frames.take_in(source) is None


@pytest.mark.parametrize(
    "cells",
    [
        [1, RARE],
        [1.5, RARE],
        [RARE, b"x"],
        [dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 5)],  # noqa: DTZ001
        [[1], RARE],
        [True, 1],
        [1, 2.5],
        [Decimal(1), 1],
    ],
)
def test_columns_with_several_types_are_rejected(cells):
    message = refused(pd.DataFrame({"fine": range(len(cells)), "odd": pd.Series(cells, dtype=object)}))
    assert "'odd'" in message
    assert all(type(cell).__name__ in message for cell in cells)
    assert "fine" not in message


def test_one_error_names_all_unsupported_columns():
    frame = pd.DataFrame(
        {"x": [1j, 2j], "y": pd.Series([1, RARE], dtype=object), "z": [2**70, 1], "w": pd.Series(["\ud800", RARE], dtype=object)}
    )
    frame["period"] = pd.Categorical(pd.period_range("2020", periods=2, freq="Y"))
    message = refused(frame)
    assert message.startswith("5 mistakes")
    assert "Column 'x' has the type complex128, which Arrow cannot store" in message


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([RARE, "b", RARE], "same name (columns 1, 3)"),
        (["a", 1, None], "The data frame has 2 columns whose name is not text (columns 2, 3)"),
        ([1, 1, 2], "same name (columns 1, 2)"),
        (pd.MultiIndex.from_tuples([(RARE, "a"), (RARE, "b"), ("c", "d")]), "names of the data frame have 2 levels"),
    ],
)
def test_unusable_column_names_are_rejected(columns, message):
    assert message in refused(pd.DataFrame([[1, 2, 3]], columns=columns))


def test_table_with_text_that_is_not_utf8_is_rejected():
    made = pa.array([RARE.encode(), b"\xff\xfe"], pa.binary_view())
    broken = pa.Array.from_buffers(pa.string_view(), 2, made.buffers())
    assert "not UTF-8" in refused(pa.table({"a": broken}))


# --- random types

COLUMNS = st.one_of(
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=6, max_size=6).map(
        lambda cells: (cells, "Int64", pl.Int64())
    ),
    st.lists(st.none() | st.floats(allow_nan=False), min_size=6, max_size=6).map(lambda cells: (cells, "Float64", pl.Float64())),
    st.lists(st.none() | st.booleans(), min_size=6, max_size=6).map(lambda cells: (cells, "boolean", pl.Boolean())),
    st.lists(st.none() | st.text(max_size=4), min_size=6, max_size=6).map(lambda cells: (cells, "string", pl.String())),
    st.lists(st.none() | st.dates(dt.date(1, 1, 1)), min_size=6, max_size=6).map(lambda cells: (cells, "object", pl.Date())),
    st.lists(st.none() | st.sampled_from("abcé"), min_size=6, max_size=6).map(
        lambda cells: (cells, pd.CategoricalDtype(["é", "b", "a", "c", RARE], ordered=True), pl.Enum(["é", "b", "a", "c", RARE]))
    ),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(COLUMNS, min_size=1, max_size=3), st.lists(st.integers(0, 5), min_size=1, max_size=6, unique=True))
def test_any_columns_keep_their_types_and_cells(columns, rows):
    in_pandas = pd.DataFrame({f"c{at}": pd.Series(cells, dtype=kind) for at, (cells, kind, _) in enumerate(columns)})
    in_polars = pl.DataFrame({f"c{at}": pl.Series(cells, dtype=kind) for at, (cells, _, kind) in enumerate(columns)})
    made = through(in_pandas.assign(age=AGES), rows=rows)
    published = through(in_polars.with_columns(age=pl.Series(AGES)), rows=rows)
    for name in in_pandas:
        expected = in_pandas[name].iloc[rows]
        expected = expected.cat.remove_unused_categories() if isinstance(expected.dtype, pd.CategoricalDtype) else expected
        same_column(made[name], expected)
        assert published[name].to_list() == in_polars[name].gather(rows).to_list()
        dtype = in_polars.schema[name]
        held = set(published[name])
        assert published.schema[name] == (pl.Enum([v for v in dtype.categories if v in held]) if dtype == pl.Enum else dtype)


# --- imported libraries

COLUMN = "pa.Array.from_buffers(pa.int64(), 2, [None, pa.py_buffer(bytes(16))])"  # pyarrow would import pandas to convert a list


@pytest.mark.parametrize(
    ("code", "loaded"),
    [
        (f"source = pa.Table.from_arrays([{COLUMN}], ['a'])", []),
        (f"source = pa.Table.from_arrays([{COLUMN}], ['a']).to_reader()", []),
        ("import polars as pl; source = pl.LazyFrame({'a': [1, 1]})", ["polars"]),
        ("import pandas as pd; source = pd.DataFrame({'a': [1, 1]})", ["pandas"]),
        ("import duckdb; source = duckdb.sql('SELECT 1 a')", ["duckdb"]),
    ],
)
def test_only_the_library_of_the_data_frame_is_imported(code, loaded):
    script = (
        f"import sys, pyarrow as pa\nfrom kohort.tables import frames\n{code}\n"
        "table, kind = frames.take_in(source, ['a'])\nframes.give_back(table, kind, ['a'])\n"
        "print([name for name in ('pandas', 'polars', 'duckdb', 'narwhals') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == f"{loaded}\n"
