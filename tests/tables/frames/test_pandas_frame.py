"""Test pandas frames."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from kohort.tables import frames
from tests.tables.frames.round_trips import RARE, same_column, through

AGES = [20, 20, 30, 30, 40, 40]
TEXTS = ["b", "a", None, "b", "a", "b"]
DAYS = [dt.date(2020, 1, day) for day in (1, 2, 2, 3, 1, 1)]
TIMES = [None, *(dt.datetime(2020, 1, day, 5, 30) for day in (1, 2, 3, 4, 5))]  # noqa: DTZ001


# --- pandas

PANDAS = {
    "int64": pd.Series([1, 2, 3, 4, 5, 2**62 + 1]),
    "uint8": pd.Series([1, 2, 3, 4, 5, 255], dtype="uint8"),
    "bool": pd.Series([True, False] * 3),
    "float64": pd.Series([1.5, np.nan, np.inf, -0.0, 2, 3]),
    "float16": pd.Series([1.5, np.nan, 2, 3, 4, 5], dtype="float16"),
    "Int64": pd.Series([1, None, 3, 4, 5, 2**62 + 1], dtype="Int64"),
    "UInt8": pd.Series([1, None, 3, 4, 5, 6], dtype="UInt8"),
    "Float32": pd.Series([1, None, 3, 4, 5, 6], dtype="Float32"),
    "boolean": pd.Series([True, None, False] * 2, dtype="boolean"),
    "str": pd.Series(TEXTS, dtype="str"),
    "string": pd.Series(TEXTS, dtype="string"),
    "string[python]": pd.Series(TEXTS, dtype="string[python]"),
    "object of texts": pd.Series(TEXTS, dtype=object),
    "object of dates": pd.Series([None, *DAYS[1:]], dtype=object),
    "object of integers": pd.Series([None, 1, 2, 3, 4, 2**62 + 1], dtype=object),
    "object of lists": pd.Series([None, [1], [2, 3], [], [4], [5]], dtype=object),
    "object of decimals": pd.Series([None, *map(Decimal, "12345")], dtype=object),
    "datetime64[s]": pd.Series(TIMES, dtype="datetime64[s]"),
    "datetime64[ns]": pd.Series(TIMES, dtype="datetime64[ns]"),
    "datetime64[us, Europe/Berlin]": pd.Series(TIMES, dtype="datetime64[us]").dt.tz_localize("Europe/Berlin"),
    "datetime64 with an offset": pd.Series(TIMES, dtype="datetime64[ms]").dt.tz_localize("+02:00"),
    "timedelta64[ms]": pd.Series([None, 1, 2, 3, 4, 5], dtype="timedelta64[ms]"),
    "category": pd.Series(pd.Categorical(TEXTS, ["b", "a"], ordered=False)),
    "ordered category": pd.Series(pd.Categorical(TEXTS, ["b", "a"], ordered=True)),
    "category of integers": pd.Series(pd.Categorical([7, 3, None, 7, 3, 3], [7, 3])),
    "category of times": pd.Series(pd.Categorical(pd.Series(TIMES, dtype="datetime64[ns, UTC]"))),
    "category of booleans": pd.Series(pd.Categorical([True, False, None] * 2)),
    "Sparse": pd.Series(pd.arrays.SparseArray([0, 0, 1, 0, 2, 0])),
    "int8[pyarrow]": pd.Series([1, None, 3, 4, 5, 6], dtype=pd.ArrowDtype(pa.int8())),
    "list[pyarrow]": pd.Series([None, [1], [2, 3], [], [4], [5]], dtype=pd.ArrowDtype(pa.list_(pa.int16()))),
    "dictionary[pyarrow]": pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))),
    "timestamp[pyarrow]": pd.Series(TIMES, dtype=pd.ArrowDtype(pa.timestamp("ms", "Asia/Tokyo"))),
}


@pytest.mark.parametrize("name", PANDAS)
def test_pandas_columns_keep_their_type_and_cells(name):
    made = through(pd.DataFrame({"age": AGES, "carried": PANDAS[name]}).set_axis(list("uvwxyz")))
    assert list(made.columns) == ["age", "carried"]
    assert isinstance(made.index, pd.RangeIndex)
    assert made["age"].dtype == "str"
    same_column(made["carried"], PANDAS[name])


def test_cells_of_a_pandas_release_can_be_changed():
    kinds = ["int64", "bool", "float64", "Int64", "str", "datetime64[ns]", "category"]
    made = through(pd.DataFrame({"age": AGES, **{kind: PANDAS[kind] for kind in kinds}}))
    for name in made:
        made.loc[0, name] = made.loc[3, name]
        assert made.loc[0, name] == made.loc[3, name]


@pytest.mark.parametrize("values", [["b", RARE, "a", "c"], [5, 7, 3, 4], [Decimal("1.5"), Decimal(7), Decimal(3), Decimal(2)]])
@pytest.mark.parametrize("ordered", [True, False])
def test_pandas_categories_keep_their_order_and_drop_unused_values(values, ordered):
    cells = pd.Categorical([values[0], values[2], None, values[2], values[0], values[3]], values, ordered=ordered)
    made = through(pd.DataFrame({"age": AGES, "c": cells}), rows=[0, 1, 2, 3, 4])["c"]
    assert made.cat.categories.tolist() == [values[0], values[2]]
    assert made.cat.ordered == ordered
    assert made.cat.categories.dtype == cells.categories.dtype
    assert made.dropna().tolist() == [values[0], values[2], values[2], values[0]]


def test_generalised_pandas_category_is_a_category():
    frame = pd.DataFrame({"age": AGES, "ward": pd.Categorical(TEXTS, ["b", RARE, "a"], ordered=True)})
    made = through(frame, quasi="ward")
    assert isinstance(made["ward"].dtype, pd.CategoricalDtype)
    assert RARE not in made["ward"].cat.categories
    assert not made["ward"].cat.ordered
    assert made["age"].tolist() == AGES


def test_pandas_release_has_no_attributes_of_the_source():
    frame = pd.DataFrame({"age": AGES, "s": TEXTS})
    frame.attrs["note"] = RARE
    assert through(frame).attrs == {}
    taken = frames.take_in(pd.DataFrame({"s": pd.Categorical([RARE])}))
    assert taken is not None
    assert repr(taken[1]) == "FrameLibrary('pandas DataFrame')"


# --- the index of pandas


def test_index_is_dropped_unless_it_has_a_role():
    frame = pd.DataFrame({"s": TEXTS, "t": AGES}, index=pd.Index(AGES, name="age", dtype="int32"))
    assert frames.index_names(frame) == ["age"]
    assert list(through(frame, role_columns=["s", "t"], quasi="t").columns) == ["s", "t"]
    made = through(frame, role_columns=["s", "age", "t"], quasi="t")
    assert list(made.columns) == ["age", "s", "t"]
    assert made["age"].tolist() == AGES
    assert made["age"].dtype == "int32"
    assert isinstance(made.index, pd.RangeIndex)


@pytest.mark.parametrize(
    ("index", "names"),
    [
        (pd.RangeIndex(6), []),
        (pd.RangeIndex(10, 22, 2), []),
        (pd.RangeIndex(6, name="row"), ["row"]),
        (pd.Index(AGES), ["index"]),
        (pd.Index(AGES, name="s"), []),  # the name means the column
        (pd.Index(AGES, name=7), []),
        (pd.MultiIndex.from_arrays([AGES, TEXTS], names=["age", None]), ["age", "level_1"]),
        (pd.CategoricalIndex(TEXTS, name="ward"), ["ward"]),
        (pd.DatetimeIndex(DAYS, name="day"), ["day"]),
    ],
)
def test_names_of_index_levels(index, names):
    frame = pd.DataFrame({"s": range(6), "t": range(6)}, index=index)
    assert frames.index_names(frame) == names
    assert frames.index_names(nw.from_native(frame)) == names
    taken = frames.take_in(frame, ["s", "index", "row", "age", "level_1", "ward", "day"])
    assert taken is not None
    assert taken[0].column_names == [*names, "s", "t"]
    assert taken[0].column("s").to_pylist() == list(range(6))
    for at, name in enumerate(names):
        expected = index.get_level_values(at).to_series().reset_index(drop=True)
        same_column(frames.give_back(taken[0], taken[1], taken[0].column_names)[name], expected)
