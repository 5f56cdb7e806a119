"""Data frames in, the same kind out: types and carried cells as they were, no value that nobody holds, no cell in a message."""

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
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kohort as kh
from kohort.errors import RequestError
from kohort.publishing import publish as publishing
from kohort.tables import frames
from kohort.tables.frames import arrow_table as arrow_frames

RARE = "Xanthippe-4711"  # planted; must not turn up where it does not belong
AGES = [20, 20, 30, 30, 40, 40]
TEXTS = ["b", "a", None, "b", "a", "b"]
DAYS = [dt.date(2020, 1, day) for day in (1, 2, 2, 3, 1, 1)]
TIMES = [None, *(dt.datetime(2020, 1, day, 5, 30) for day in (1, 2, 3, 4, 5))]  # noqa: DTZ001


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


def test_a_pandas_frame_that_comes_back_can_be_written_to():
    kinds = ["int64", "bool", "float64", "Int64", "str", "datetime64[ns]", "category"]
    made = through(pd.DataFrame({"age": AGES, **{kind: PANDAS[kind] for kind in kinds}}))
    for name in made:
        made.loc[0, name] = made.loc[3, name]
        assert made.loc[0, name] == made.loc[3, name]


@pytest.mark.parametrize("values", [["b", RARE, "a", "c"], [5, 7, 3, 4], [Decimal("1.5"), Decimal(7), Decimal(3), Decimal(2)]])
@pytest.mark.parametrize("ordered", [True, False])
def test_pandas_categories_keep_their_order_and_lose_those_that_no_row_holds(values, ordered):
    cells = pd.Categorical([values[0], values[2], None, values[2], values[0], values[3]], values, ordered=ordered)
    made = through(pd.DataFrame({"age": AGES, "c": cells}), rows=[0, 1, 2, 3, 4])["c"]
    assert made.cat.categories.tolist() == [values[0], values[2]]
    assert made.cat.ordered == ordered
    assert made.cat.categories.dtype == cells.categories.dtype
    assert made.dropna().tolist() == [values[0], values[2], values[2], values[0]]


def test_a_pandas_category_that_is_generalized_stays_a_category():
    frame = pd.DataFrame({"age": AGES, "ward": pd.Categorical(TEXTS, ["b", RARE, "a"], ordered=True)})
    made = through(frame, quasi="ward")
    assert isinstance(made["ward"].dtype, pd.CategoricalDtype)
    assert RARE not in made["ward"].cat.categories
    assert not made["ward"].cat.ordered
    assert made["age"].tolist() == AGES


def test_a_frame_keeps_nothing_else_of_the_source():
    frame = pd.DataFrame({"age": AGES, "s": TEXTS})
    frame.attrs["note"] = RARE
    assert through(frame).attrs == {}
    taken = frames.take_in(pd.DataFrame({"s": pd.Categorical([RARE])}))
    assert taken is not None
    assert repr(taken[1]) == "FrameLibrary('pandas DataFrame')"


# --- the index of pandas


def test_the_index_is_dropped_unless_a_job_asks_for_it():
    frame = pd.DataFrame({"s": TEXTS, "t": AGES}, index=pd.Index(AGES, name="age", dtype="int32"))
    assert frames.index_names(frame) == ["age"]
    assert list(through(frame, wanted=["s", "t"], quasi="t").columns) == ["s", "t"]
    made = through(frame, wanted=["s", "age", "t"], quasi="t")
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
        (pd.Index(AGES, name="s"), []),  # the column of that name is meant
        (pd.Index(AGES, name=7), []),
        (pd.MultiIndex.from_arrays([AGES, TEXTS], names=["age", None]), ["age", "level_1"]),
        (pd.CategoricalIndex(TEXTS, name="ward"), ["ward"]),
        (pd.DatetimeIndex(DAYS, name="day"), ["day"]),
    ],
)
def test_what_an_index_may_be_called(index, names):
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


def test_other_frames_have_no_index():
    assert frames.index_names(pl.DataFrame({"a": [1]})) == []
    assert frames.index_names(pa.table({"a": [1]})) == []
    assert frames.index_names("a.csv") == []


# --- polars

POLARS = {
    "Int8": pl.Series([1, 2, None, 4, 5, 6], dtype=pl.Int8),
    "UInt64": pl.Series([1, 2, None, 4, 5, 2**64 - 1], dtype=pl.UInt64),
    "Float64": pl.Series([1.5, None, float("inf"), 4, 5, 6]),
    "Float32": pl.Series([1.5, None, 3, 4, 5, 6], dtype=pl.Float32),
    "Boolean": pl.Series([True, None, False] * 2),
    "String": pl.Series(TEXTS),
    "Binary": pl.Series([b"a", None, b"\xff", b"", b"b", b"c"]),
    "Date": pl.Series(DAYS),
    "Time": pl.Series([dt.time(1, 2, 3, 4)] * 6),
    "Datetime": pl.Series(TIMES, dtype=pl.Datetime("ms")),
    "Datetime with a zone": pl.Series(TIMES, dtype=pl.Datetime("ns", "Europe/Berlin")),
    "Duration": pl.Series([dt.timedelta(hours=hour) for hour in range(6)], dtype=pl.Duration("ms")),
    "Decimal": pl.Series([Decimal("1.50"), None, *map(Decimal, "1234")], dtype=pl.Decimal(10, 2)),
    "List": pl.Series([[1], None, [], [2, 3], [None], [4]], dtype=pl.List(pl.Int16)),
    "Array": pl.Series([[1, 2]] * 5 + [None], dtype=pl.Array(pl.Int16, 2)),
    "Struct": pl.Series([{"a": 1, "b": "x"}] * 5 + [{"a": None, "b": "y"}]),
    "Categorical": pl.Series(TEXTS, dtype=pl.Categorical),
    "Enum": pl.Series(TEXTS, dtype=pl.Enum(["b", "a"])),
    "List of Enum": pl.Series([["b"], None, [], ["a", "b"], [None], ["a"]], dtype=pl.List(pl.Enum(["b", "a"]))),
    "Struct of Enum": pl.Series([{"e": text} for text in TEXTS], dtype=pl.Struct({"e": pl.Enum(["b", "a"])})),
    "Array of Enum": pl.Series([["b", "a"]] * 6, dtype=pl.Array(pl.Enum(["b", "a"]), 2)),
}


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("name", POLARS)
def test_polars_columns_keep_their_type_and_cells(name, lazy):
    frame = pl.DataFrame({"age": AGES, "carried": POLARS[name]})
    made = through(frame.lazy() if lazy else frame)
    assert isinstance(made, pl.LazyFrame if lazy else pl.DataFrame)
    made = made.collect() if isinstance(made, pl.LazyFrame) else made
    assert made.schema == {"age": pl.String(), "carried": POLARS[name].dtype}
    assert made["carried"].to_list() == POLARS[name].to_list()


def test_a_polars_half_float_keeps_its_type():
    if not hasattr(pl, "Float16"):
        pytest.skip("needs a polars with Float16")
    made = through(pl.DataFrame({"age": AGES, "f": pl.Series([1.5, None, 2, 3, 4, 5], dtype=pl.Float16)}))
    assert made["f"].dtype == pl.Float16
    assert made["f"].to_list() == [1.5, None, 2, 3, 4, 5]


def test_polars_enums_keep_their_order_and_lose_values_that_no_row_holds():
    enum = pl.Enum(["c", "b", RARE, "a"])
    frame = pl.DataFrame(
        {
            "age": AGES,
            "e": pl.Series(["a", "b", None, "b", "a", "c"], dtype=enum),
            "l": pl.Series([["a"], ["b"], None, [], ["a"], ["c"]], dtype=pl.List(enum)),
            "s": pl.Series([{"x": text} for text in ["a", "b", None, "b", "a", "c"]], dtype=pl.Struct({"x": enum})),
        }
    )
    made = through(frame, rows=[0, 1, 2, 3, 4])
    kept = pl.Enum(["b", "a"])
    assert made.schema == {"age": pl.String(), "e": kept, "l": pl.List(kept), "s": pl.Struct({"x": kept})}
    nobody = through(frame, rows=[2])
    assert nobody["e"].dtype == pl.Enum([])
    assert nobody["e"].to_list() == [None]


@pytest.mark.parametrize("dtype", [pl.Categorical(), pl.Enum(["b", RARE, "a"])])
def test_a_polars_category_that_is_generalized_is_a_categorical(dtype):
    made = through(pl.DataFrame({"age": AGES, "ward": pl.Series(TEXTS, dtype=dtype)}), quasi="ward")
    assert made.schema == {"age": pl.Int64(), "ward": pl.Categorical()}
    assert RARE not in made["ward"].unique().to_list()


# --- pyarrow

ARROW = {
    "string": pa.array(TEXTS),
    "string_view": pa.array(TEXTS, pa.string_view()),
    "binary_view": pa.array([b"a", None, b"b", b"", b"c", b"d"], pa.binary_view()),
    "halffloat": pa.array([1.5, None, 2, 3, 4, 5], pa.float16()),
    "list of views": pa.array([["a"], None, [], ["b"], ["c"], ["d"]], pa.list_(pa.string_view())),
    "map": pa.array([[("k", 1)], None, [], [], [], []], pa.map_(pa.string(), pa.int8())),
    "ordered dictionary": pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 1, 0, 1], pa.int8()), ["b", "a"], ordered=True),
    "dictionary of views": pa.array(TEXTS, pa.string_view()).dictionary_encode(),
    "list of dictionaries": pa.array([["a"], None, [], ["b"], ["c"], ["a"]]).cast(
        pa.list_(pa.dictionary(pa.int8(), pa.string()))
    ),
}
SHAPES = {
    "Table": lambda table: table,
    "RecordBatch": lambda table: table.combine_chunks().to_batches()[0],
    "RecordBatchReader": lambda table: table.to_reader(),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ARROW)
def test_arrow_columns_keep_their_type_and_cells(name, shape):
    made = through(SHAPES[shape](pa.table({"age": AGES, "carried": ARROW[name]})))
    assert type(made).__name__ == shape
    made = made.read_all() if isinstance(made, pa.RecordBatchReader) else made
    assert made.schema.field("carried").type == ARROW[name].type
    assert made.column("carried").to_pylist() == ARROW[name].to_pylist()


def test_an_empty_release_is_a_batch_too():
    table = pa.table({"age": AGES, "s": TEXTS})
    taken = frames.take_in(table.to_batches()[0])
    assert taken is not None
    made = frames.give_back(table.slice(0, 0), taken[1], ["age", "s"])
    assert isinstance(made, pa.RecordBatch)
    assert made.schema == table.schema


def dictionary(indices, values, kind=None, ordered=True):
    return pa.DictionaryArray.from_arrays(pa.array(indices, kind or pa.int8()), values, ordered=ordered)


@pytest.mark.parametrize("ordered", [True, False])
def test_a_carried_dictionary_keeps_its_order_and_loses_values_that_no_row_holds(ordered):
    column = dictionary([2, 0, None, 2, 3, 4], ["c", RARE, "a", "c", None], ordered=ordered)  # one twice, one missing
    release = kh.anonymize(pa.table({"age": AGES, "s": column}), quasi="age", sensitive="s", k=2, keep_order=True).table
    assert release["s"].to_pylist() == ["a", "c", None, "a", "c", None]
    assert release["s"].type == column.type
    assert release["s"].chunk(0).dictionary.to_pylist() == ["c", "a"]


def test_chunks_with_dictionaries_of_their_own():
    column = pa.chunked_array(
        [dictionary([1, 0], ["c", "a"]), dictionary([2, 0], ["b", RARE, "c"]), dictionary([], pa.array([None], pa.string()))]
    )
    made = publishing._one_chunk(column, np.arange(4))
    assert made.to_pylist() == ["a", "c", "c", "b"]
    assert made.dictionary.to_pylist() == ["c", "a", "b"]
    assert made.type == column.type
    assert publishing._one_chunk(pa.chunked_array([], column.type), np.arange(0)).to_pylist() == []


def test_a_dictionary_loses_what_only_withheld_rows_hold():
    made = publishing._one_chunk(pa.chunked_array([dictionary([0, 1, 2], ["c", RARE, "a"])]), np.array([2, 0]))
    assert made.dictionary.to_pylist() == ["c", "a"]
    assert publishing._carry(made, np.array([2, 0])).to_pylist() == ["a", "c"]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_dictionary_is_reduced_to_what_rows_hold(data):
    values = data.draw(st.lists(st.none() | st.sampled_from("abcdef"), min_size=1, max_size=8))
    cells = st.lists(st.none() | st.integers(0, len(values) - 1), max_size=8)
    chunks = data.draw(st.lists(cells, min_size=1, max_size=3))
    column = pa.chunked_array([dictionary(cell, pa.array(values, pa.string())) for cell in chunks])
    rows = data.draw(st.lists(st.integers(0, len(column) - 1), unique=True)) if len(column) else []
    made = publishing._one_chunk(column, np.array(rows, np.int64))
    told = column.to_pylist()
    assert publishing._carry(made, np.array(rows, np.int64)).to_pylist() == [told[row] for row in rows]
    held = {told[row] for row in rows}
    assert made.dictionary.to_pylist() == [value for value in dict.fromkeys(values) if value is not None and value in held]


NESTED = pa.dictionary(pa.int8(), pa.string())


@pytest.mark.parametrize(
    ("kind", "wrap"),
    [
        (pa.list_(NESTED), lambda text: [text]),
        (pa.large_list(NESTED), lambda text: [text]),
        (pa.list_(NESTED, 1), lambda text: [text]),
        (pa.struct([("x", NESTED)]), lambda text: {"x": text}),
        (pa.list_(pa.struct([("x", NESTED)])), lambda text: [{"x": text}]),
        (pa.map_(pa.string(), NESTED), lambda text: [("k", text)]),
    ],
)
def test_a_dictionary_inside_other_types_loses_what_no_row_holds(tmp_path, kind, wrap):
    cells = [wrap(text) for text in [*TEXTS, RARE]]
    column = pa.array(cells, frames.without_dictionaries(kind)).cast(kind)
    table = pa.table({"age": AGES, "s": column.slice(0, 6)})
    release = kh.anonymize(table, quasi="age", sensitive="s", k=2, keep_order=True).table
    assert release["s"].type == kind
    assert release["s"].to_pylist() == cells[:6]
    pq.write_table(release, tmp_path / "out.parquet", compression="none")
    assert RARE.encode() not in (tmp_path / "out.parquet").read_bytes()


def test_notes_beside_nested_fields_stay_behind():
    inner = pa.field("item", pa.string(), metadata={"values": RARE})
    kind = pa.list_(pa.field("item", pa.struct([inner]), metadata={"values": RARE}))
    taken = frames.take_in(pa.table({"s": pa.array([[{"item": "a"}]], kind)}))
    assert taken is not None
    assert taken[0].schema.field("s").type == kind
    assert RARE not in taken[0].schema.to_string(show_field_metadata=True)
    back = frames.give_back(taken[0], taken[1], ["s"])
    assert RARE.encode() not in back.schema.serialize().to_pybytes()
    enum = pl.DataFrame({"l": pl.Series([["a"]], dtype=pl.List(pl.Enum(["a", RARE])))})
    taken = frames.take_in(enum)
    assert taken is not None
    assert RARE.encode() not in taken[0].schema.serialize().to_pybytes()


# --- DuckDB

DUCKDB = {
    "INTEGER": "1::INTEGER",
    "VARCHAR": "'x'",
    "UUID": "'7378bd68-d4f7-403f-8c6c-0d213b0a1918'::UUID",
    "HUGEINT": "170141183460469231731::HUGEINT",
    "DECIMAL(10,2)": "1.5::DECIMAL(10,2)",
    "TIME": "TIME '10:00:01'",
    "DATE": "DATE '2020-01-01'",
    "TIMESTAMP_S": "TIMESTAMP_S '2020-01-01'",
    "TIMESTAMP_NS": "TIMESTAMP_NS '2020-01-01 00:00:00.123456789'",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMPTZ '2020-01-01'",
    "INTEGER[]": "[1, 2]",
    "INTEGER[2]": "[1, 2]::INTEGER[2]",
    "STRUCT(a INTEGER)": "{'a': 1}",
    "MAP(VARCHAR, INTEGER)": "MAP {'k': 1}",
    "BLOB": r"'\xFF'::BLOB",
    "JSON": "'{}'::JSON",
    "ENUM('it''s')": f"'it''s'::ENUM('{RARE}', 'it''s')",
    "ENUM('lo')[]": f"['lo'::ENUM('{RARE}', 'lo')]",
    "STRUCT(\"a b\" ENUM('lo'))": f"{{'a b': 'lo'::ENUM('{RARE}', 'lo')}}",
    "MAP(ENUM('lo'), INTEGER)": f"MAP {{'lo'::ENUM('{RARE}', 'lo'): 1}}",
}


@pytest.mark.parametrize("kind", DUCKDB)
def test_duckdb_columns_keep_their_type_and_cells(kind):
    with duckdb.connect() as connection:
        source = connection.sql(f'SELECT i // 2 AS age, {DUCKDB[kind]} AS "a ""b" FROM range(6) t(i)')
        made = through(source)
        assert made.columns == ["age", 'a "b']
        assert list(map(str, made.types)) == ["VARCHAR", kind]
        texts = '"a ""b"::VARCHAR'
        assert made.project(texts).fetchall() == source.project(texts).fetchall()
        assert made.join(connection.sql("SELECT '0' AS age"), "age").select("age").fetchall(), "on the connection of the source"
        assert connection.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall() == []


def test_a_duckdb_enum_keeps_its_order():
    source = duckdb.sql(
        f"SELECT i // 2 AS age, list_extract(['a','b','c'], i % 3 + 1)::ENUM('c','{RARE}','b','a') e FROM range(6) t(i)"
    )
    assert list(map(str, through(source).types)) == ["VARCHAR", "ENUM('c', 'b', 'a')"]
    assert list(map(str, through(source, rows=[0, 1]).types)) == ["VARCHAR", "ENUM('b', 'a')"]


def test_a_duckdb_enum_of_missing_values_only():
    source = duckdb.sql("SELECT i // 2 AS age, NULL::ENUM('a') e FROM range(6) t(i)")
    assert list(map(str, through(source).types)) == ["VARCHAR", "VARCHAR"]


def test_a_connection_that_finds_no_tables_of_python():
    with duckdb.connect(config={"python_enable_replacements": "false"}) as connection:
        made = through(connection.sql("SELECT i // 2 AS age, 1.5::DECIMAL(3, 1) d FROM range(6) t(i)"))
        assert list(map(str, made.types)) == ["VARCHAR", "DECIMAL(3,1)"]
        assert len(made.fetchall()) == 6


# --- all that is left


def test_frames_that_narwhals_wraps_come_back_wrapped():
    made = through(nw.from_native(pd.DataFrame({"age": AGES, "s": pd.Series([1, None] * 3, dtype="Int8")})))
    assert isinstance(made, nw.DataFrame)
    assert made.to_native()["s"].dtype == "Int8"
    lazy = through(nw.from_native(pl.LazyFrame({"age": AGES, "s": TEXTS})))
    assert isinstance(lazy, nw.LazyFrame)
    assert isinstance(lazy.to_native(), pl.LazyFrame)


@pytest.mark.parametrize(
    "make", [lambda: pd.DataFrame({"age": AGES, "s": "x"}), lambda: duckdb.sql("SELECT i // 2 AS age, 'x' s FROM range(6) t(i)")]
)
def test_the_way_of_frames_that_only_narwhals_knows(make):
    source = make()
    taken = arrow_frames.take_other(source)
    assert taken is not None
    table, kind = taken
    release = kh.anonymize(table, quasi="age", sensitive="s", k=2, keep_order=True).table
    made = frames.give_back(release, kind, ["s"])
    assert type(made) is type(source)
    assert nw.from_native(made).lazy().collect("pyarrow").to_native().column("s").to_pylist() == ["x"] * 6


def test_a_frame_that_cannot_be_made_comes_back_as_a_table():
    made = arrow_frames._to_other(nw.Implementation.PYSPARK, True, pa.table({"s": TEXTS}), ["s"])
    assert isinstance(made, pa.Table)


class Stream:
    """Knows nothing but Arrow's stream."""

    def __init__(self, source):
        self._source = source

    def __arrow_c_stream__(self, requested_schema=None):
        return self._source.__arrow_c_stream__(requested_schema)


def test_whatever_streams_arrow_comes_back_as_a_table():
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
def test_what_is_no_data_frame(source):
    assert frames.take_in(source) is None


# --- odd frames


def refused(source) -> str:
    with pytest.raises(RequestError) as error:
        frames.take_in(source)
    assert error.value.__context__ is None or error.value.__suppress_context__
    assert RARE not in str(error.value)
    return str(error.value)


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
def test_columns_of_several_types(cells):
    told = refused(pd.DataFrame({"fine": range(len(cells)), "odd": pd.Series(cells, dtype=object)}))
    assert "'odd'" in told
    assert all(type(cell).__name__ in told for cell in cells)
    assert "fine" not in told


def test_every_odd_column_is_told_of_at_once():
    frame = pd.DataFrame(
        {"x": [1j, 2j], "y": pd.Series([1, RARE], dtype=object), "z": [2**70, 1], "w": pd.Series(["\ud800", RARE], dtype=object)}
    )
    frame["period"] = pd.Categorical(pd.period_range("2020", periods=2, freq="Y"))
    told = refused(frame)
    assert told.startswith("5 mistakes")
    assert "Column 'x' of type complex128 does not fit" in told


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ([RARE, "b", RARE], "same name (columns 1, 3)"),
        (["a", 1, None], "2 column(s) of the data frame have a name that is not text (columns 2, 3)"),
        ([1, 1, 2], "same name (columns 1, 2)"),
        (pd.MultiIndex.from_tuples([(RARE, "a"), (RARE, "b"), ("c", "d")]), "names of 2 levels"),
    ],
)
def test_odd_column_names(columns, told):
    assert told in refused(pd.DataFrame([[1, 2, 3]], columns=columns))


def test_types_of_polars_that_arrow_does_not_know():
    told = refused(pl.DataFrame({"o": pl.Series([object()], dtype=pl.Object), "i": pl.Series([1], dtype=pl.Int128)}))
    assert "'o' of type Object" in told
    assert "'i' of type Int128" in told
    kind = pl.Struct({"e": pl.Enum([RARE]), "i": pl.Int128})
    assert "'s' of type Struct " in refused(pl.DataFrame({"s": pl.Series([{"e": RARE, "i": 1}], dtype=kind)}))


@pytest.mark.parametrize(
    "cell", ["'101'::BIT", "1::UHUGEINT", "TIMETZ '10:00:00+02'", f"{{'e': 'x'::ENUM('x', '{RARE}'), 'b': '1'::BIT}}"]
)
def test_types_of_duckdb_whose_values_arrow_changes(cell):
    assert "does not fit into an Arrow table" in refused(duckdb.sql(f"SELECT {cell} AS c"))


def test_a_query_that_fails_says_no_cell():
    assert "polars LazyFrame" in refused(pl.LazyFrame({"a": [RARE]}).select(pl.col("a").cast(pl.Int64)))
    assert "DuckDB relation" in refused(duckdb.sql(f"SELECT a::INTEGER FROM (VALUES ('{RARE}')) t(a)"))

    def batches():
        yield pa.record_batch({"a": [1]})
        raise KeyError(RARE)

    assert "reader" in refused(pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), batches()))


def test_a_table_with_text_that_is_not_utf8():
    made = pa.array([RARE.encode(), b"\xff\xfe"], pa.binary_view())
    broken = pa.Array.from_buffers(pa.string_view(), 2, made.buffers())
    assert "not UTF-8" in refused(pa.table({"a": broken}))


# --- types at random

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
    told = through(in_polars.with_columns(age=pl.Series(AGES)), rows=rows)
    for name in in_pandas:
        expected = in_pandas[name].iloc[rows]
        expected = expected.cat.remove_unused_categories() if isinstance(expected.dtype, pd.CategoricalDtype) else expected
        same_column(made[name], expected)
        assert told[name].to_list() == in_polars[name].gather(rows).to_list()
        dtype = in_polars.schema[name]
        held = set(told[name])
        assert told.schema[name] == (pl.Enum([v for v in dtype.categories if v in held]) if dtype == pl.Enum else dtype)


# --- what is loaded

COLUMN = "pa.Array.from_buffers(pa.int64(), 2, [None, pa.py_buffer(bytes(16))])"  # of a list, pyarrow itself would load pandas


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
def test_no_library_is_loaded_but_the_users(code, loaded):
    script = (
        f"import sys, pyarrow as pa\nfrom kohort.tables import frames\n{code}\n"
        "table, kind = frames.take_in(source, ['a'])\nframes.give_back(table, kind, ['a'])\n"
        "print([name for name in ('pandas', 'polars', 'duckdb', 'narwhals') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == f"{loaded}\n"


def test_nothing_lies_under_a_missing_struct():
    hidden = pa.StructArray.from_arrays(
        [pa.array([RARE, "a", "b", "c"])], names=["x"], mask=pa.array([True, False, False, False])
    )
    release = kh.anonymize(pa.table({"q": [1, 1, 2, 2], "s": hidden}), quasi="q", sensitive="s", k=2, keep_order=True).table
    assert release["s"].to_pylist() == [None, {"x": "a"}, {"x": "b"}, {"x": "c"}]
    assert RARE not in release["s"].combine_chunks().field("x").to_pylist()  # field() does not look at the struct's own gaps
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, release.schema) as writer:
        writer.write_table(release)
    assert RARE.encode() not in sink.getvalue().to_pybytes()


@pytest.mark.parametrize("kind", [pa.struct([]), pa.list_(pa.duration("s")), pa.list_(pa.struct([]))])
def test_nested_types_that_no_file_gives_back_are_refused(kind):
    table = pa.table({"q": [1, 1], "s": pa.nulls(2, kind)})
    with pytest.raises(RequestError, match="cannot be published as it is"):
        kh.anonymize(table, quasi="q", sensitive="s", k=2)
