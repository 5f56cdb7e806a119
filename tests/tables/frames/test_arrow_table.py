"""Test Arrow tables, batches and dictionaries."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kohort as kh
from kohort.errors import RequestError
from kohort.publishing import published_rows
from kohort.tables import frames
from tests.tables.frames.round_trips import RARE, through

AGES = [20, 20, 30, 30, 40, 40]
TEXTS = ["b", "a", None, "b", "a", "b"]


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


def test_empty_release_of_a_record_batch_is_a_record_batch():
    table = pa.table({"age": AGES, "s": TEXTS})
    taken = frames.take_in(table.to_batches()[0])
    assert taken is not None
    made = frames.give_back(table.slice(0, 0), taken[1], ["age", "s"])
    assert isinstance(made, pa.RecordBatch)
    assert made.schema == table.schema


def dictionary(indices, values, kind=None, ordered=True):
    return pa.DictionaryArray.from_arrays(pa.array(indices, kind or pa.int8()), values, ordered=ordered)


@pytest.mark.parametrize("ordered", [True, False])
def test_unchanged_dictionary_keeps_its_order_and_drops_unused_values(ordered):
    column = dictionary(
        [2, 0, None, 2, 3, 4], ["c", RARE, "a", "c", None], ordered=ordered
    )  # one value occurs twice, one is missing
    release = kh.anonymize(pa.table({"age": AGES, "s": column}), quasi="age", sensitive="s", k=2, keep_order=True).table
    assert release["s"].to_pylist() == ["a", "c", None, "a", "c", None]
    assert release["s"].type == column.type
    assert release["s"].chunk(0).dictionary.to_pylist() == ["c", "a"]


def test_chunks_with_different_dictionaries():
    column = pa.chunked_array(
        [dictionary([1, 0], ["c", "a"]), dictionary([2, 0], ["b", RARE, "c"]), dictionary([], pa.array([None], pa.string()))]
    )
    made = published_rows._one_chunk(column, np.arange(4))
    assert made.to_pylist() == ["a", "c", "c", "b"]
    assert made.dictionary.to_pylist() == ["c", "a", "b"]
    assert made.type == column.type
    assert published_rows._one_chunk(pa.chunked_array([], column.type), np.arange(0)).to_pylist() == []


def test_dictionary_drops_values_of_suppressed_rows():
    made = published_rows._one_chunk(pa.chunked_array([dictionary([0, 1, 2], ["c", RARE, "a"])]), np.array([2, 0]))
    assert made.dictionary.to_pylist() == ["c", "a"]
    assert published_rows._carry(made, np.array([2, 0])).to_pylist() == ["a", "c"]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_dictionary_is_reduced_to_the_values_of_its_rows(data):
    values = data.draw(st.lists(st.none() | st.sampled_from("abcdef"), min_size=1, max_size=8))
    indices = st.lists(st.none() | st.integers(0, len(values) - 1), max_size=8)
    chunks = data.draw(st.lists(indices, min_size=1, max_size=3))
    column = pa.chunked_array([dictionary(chunk, pa.array(values, pa.string())) for chunk in chunks])
    rows = data.draw(st.lists(st.integers(0, len(column) - 1), unique=True)) if len(column) else []
    made = published_rows._one_chunk(column, np.array(rows, np.int64))
    cells = column.to_pylist()
    assert published_rows._carry(made, np.array(rows, np.int64)).to_pylist() == [cells[row] for row in rows]
    held = {cells[row] for row in rows}
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
def test_dictionary_inside_nested_types_drops_unused_values(tmp_path, kind, wrap):
    cells = [wrap(text) for text in [*TEXTS, RARE]]
    column = pa.array(cells, frames.without_dictionaries(kind)).cast(kind)
    table = pa.table({"age": AGES, "s": column.slice(0, 6)})
    release = kh.anonymize(table, quasi="age", sensitive="s", k=2, keep_order=True).table
    assert release["s"].type == kind
    assert release["s"].to_pylist() == cells[:6]
    pq.write_table(release, tmp_path / "out.parquet", compression="none")
    assert RARE.encode() not in (tmp_path / "out.parquet").read_bytes()


def test_metadata_of_nested_fields_are_dropped():
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


def test_values_under_a_missing_struct_are_dropped():
    hidden = pa.StructArray.from_arrays(
        [pa.array([RARE, "a", "b", "c"])], names=["x"], mask=pa.array([True, False, False, False])
    )
    release = kh.anonymize(pa.table({"q": [1, 1, 2, 2], "s": hidden}), quasi="q", sensitive="s", k=2, keep_order=True).table
    assert release["s"].to_pylist() == [None, {"x": "a"}, {"x": "b"}, {"x": "c"}]
    assert RARE not in release["s"].combine_chunks().field("x").to_pylist()  # field() ignores which structs are missing
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, release.schema) as writer:
        writer.write_table(release)
    assert RARE.encode() not in sink.getvalue().to_pybytes()


@pytest.mark.parametrize("kind", [pa.struct([]), pa.list_(pa.duration("s")), pa.list_(pa.struct([]))])
def test_nested_types_that_files_cannot_store_are_rejected(kind):
    table = pa.table({"q": [1, 1], "s": pa.nulls(2, kind)})
    with pytest.raises(RequestError, match="cannot be published unchanged"):
        kh.anonymize(table, quasi="q", sensitive="s", k=2)
