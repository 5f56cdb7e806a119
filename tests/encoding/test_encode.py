"""Encoding: numbers, text, missing values and types."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kohort as kh
from kohort.encoding import encode as encoding
from kohort.encoding.number_axis import NumericAxis
from kohort.encoding.points import Points
from kohort.encoding.tree_axis import TreeAxis
from kohort.errors import RequestError
from tests.encoding.encoded_tables import bind

RARE = "Xanthippe-4711"


def encode(values: Any, kind: pa.DataType | None = None, **given: Any) -> Points:
    """Encode one column."""
    column = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values, kind)
    table = pa.table({"q": column})
    return encoding.encode(table, bind(table, quasi="q", **given))


def decoded(points: Points) -> list[Any]:
    """Return the value of each row's code; None for missing."""
    axis = points.axes[0]
    names: list[Any] = axis.first.tolist() if isinstance(axis, NumericAxis) else list(axis.tree.leaves)  # type: ignore[attr-defined]
    return [None if code == 0 else names[code - 1] for code in points.codes[:, 0].tolist()]


NUMBERS = {
    "integers": (["10", "-9", "+3", "0", "-0"], [10, -9, 3, 0, 0]),
    "decimals": (["1.50", "-2", "0.25"], [1.5, -2.0, 0.25]),
    "18 digits": (["9" * 18, "1"], [int("9" * 18), 1]),
    "with missing": (["7", "", None, "8"], [7, None, None, 8]),
}
TEXTS = {
    "zero-led": ["02139", "2139"],
    "zero-led and zero": ["00", "0"],
    "mixed": ["1", "x"],
    "19 digits": ["1" * 19, "2"],
    "exponents": ["1e5", "2"],
    "spaces": [" 1", "2"],
    "line end": ["1\n", "2"],
    "other digits": ["１", "٣"],  # noqa: RUF001
    "words for numbers": ["nan", "inf", "1"],
    "unknown token": ["?", "1"],
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_detected(name):
    texts, numbers = NUMBERS[name]
    points = encode(texts)
    assert isinstance(points.axes[0], NumericAxis)
    assert decoded(points) == numbers


@pytest.mark.parametrize("name", TEXTS)
def test_text_that_resembles_numbers_stays_text(name):
    points = encode(TEXTS[name])
    assert isinstance(points.axes[0], TreeAxis)
    assert decoded(points) == TEXTS[name]
    assert points.axes[0].tree.leaves == tuple(sorted(TEXTS[name], key=str.encode))


def test_declared_types():
    assert decoded(encode(["007", "+7", "-0"], type={"q": "integer"})) == [7, 7, 0]
    assert decoded(encode(["5.", ".5", "1e3", "+7", "007"], type={"q": "decimal"})) == [5, 0.5, 1000, 7, 7]
    assert decoded(encode(["10", "9"], type={"q": "text"})) == ["10", "9"]
    assert decoded(encode([10, 9], type={"q": "text"})) == ["10", "9"]
    assert decoded(encode([1.0, None, 3.0], type={"q": "integer"})) == [1, None, 3]


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        (["1", RARE, RARE], "integer", "in 2 rows the value is not a whole number, the first at row 2"),
        (["1", "2", "1.5"], "integer", "in 1 row the value is not a whole number"),
        ([1.0, 2.5], "integer", "in 1 row the value is not a whole number, the first at row 2"),
        (["1", "0x10"], "decimal", "the first at row 2"),
        (["1", "1e999"], "decimal", "in 1 row the value is infinite, the first at row 2"),
        ([1.0, float("-inf")], None, "in 1 row the value is infinite, the first at row 2"),
        ([True, False], "integer", "cannot be read as integer"),
        ([[1], [2]], None, "cannot be compared as text or numbers"),
        ([RARE.encode()] * 2, None, "cannot be compared as text or numbers"),
        (pa.array([2**63, 1], pa.uint64()), None, "set type to text"),
    ],
)
def test_errors_count_values_but_do_not_show_them(values, kind, message):
    with pytest.raises(RequestError, match=message) as caught:
        encode(values, **({"type": {"q": kind}} if kind else {}))
    assert RARE not in str(caught.value)
    assert "'q'" in str(caught.value)


def test_error_lists_every_failing_column():
    table = pa.table({"a": ["x"], "b": [float("inf")], "c": ["y"]})
    with pytest.raises(RequestError) as caught:
        encoding.encode(table, bind(table, quasi=["a", "b", "c"], type={"a": "integer"}, hierarchy={"c": [["x", "*"]]}))
    assert len(caught.value.problems) == 3


def test_values_that_are_not_in_the_tree():
    tree = {"q": [["a", "*"], ["b", "*"]]}
    with pytest.raises(
        RequestError, match=r"2 distinct values not in its tree, found in 3 rows, the first at row 3 \(not counting the header\)"
    ) as caught:
        encode(["a", "b", RARE, "?", RARE], hierarchy=tree)
    assert RARE not in str(caught.value)
    assert decoded(encode(["a", "b", RARE, "?", None, ""], hierarchy=tree, missing=["?", RARE])) == ["a", "b"] + [None] * 4


@pytest.mark.parametrize(
    ("values", "missing"),
    [
        (["?", "1", "NA", "", None], ["?", "NA"]),
        ([None, 1, None, None, None], []),
        ([float("nan"), 1.0, None, float("nan"), None], []),
        ([-9, 1, -9, None, -9], ["-9"]),
        ([-9.0, 1.0, -9.0, None, -9.0], ["-9"]),
    ],
)
@pytest.mark.parametrize("form", ["plain", "dictionary", "mean"])
def test_missing_tokens(values, missing, form):
    column = pa.array(values).dictionary_encode() if form == "dictionary" else pa.array(values)
    assert decoded(encode(column, missing=missing)) == [None, 1, None, None, None]
    statistic: dict[str, Any] = {"q": "both" if form == "mean" else "range"}
    release = kh.anonymize(pa.table({"q": column}), quasi="q", missing=missing, statistic=statistic, k=5)
    assert release.table.column("q").to_pylist() == ["*"] * 5


def test_column_with_only_missing_values():
    for kind in (pa.string(), pa.int64(), pa.float64(), pa.null()):
        points = encode([None] * 3, kind)
        assert points.codes.tolist() == [[0]] * 3
        assert encode(pa.chunked_array([pa.nulls(1, kind), pa.nulls(2, kind)])).codes.tolist() == [[0]] * 3
    assert kh.anonymize(pa.table({"q": pa.nulls(3)}), quasi="q", k=2).table.column("q").to_pylist() == [None] * 3


# --- a column of any Arrow type can be a quasi-identifier, and the release passes the audit

KINDS = {
    "int8": pa.array([1, -1, 2, None], pa.int8()),
    "uint64": pa.array([1, 7, 2, None], pa.uint64()),
    "float": pa.array([0.1, 1 / 3, 1e300, float("nan")]),
    "float32": pa.array([0.1, 1 / 3, 3.5, float("nan")], pa.float32()),
    "decimal": pa.array([Decimal("1.10"), Decimal("14.10"), Decimal("0.30"), None]),
    "bool": pa.array([True, False, True, None]),
    "date": pa.array([dt.date(2020, 2, 29), dt.date(1999, 1, 1), dt.date(2020, 3, 1), None]),
    "timestamp": pa.array([1, 2_000_000, 3, None], pa.timestamp("us")),
    "zoned": pa.array([1, 2_000_000, 3, None], pa.timestamp("ms", "Europe/Berlin")),
    "time": pa.array([dt.time(1, 2, 3), dt.time(4), dt.time(5), None]),
    "text": pa.array(["a", "", "ä", None]),
    "large text": pa.array(["1", "2", "3", None], pa.large_string()),
    "text view": pa.array(["1", "2", "3", None], pa.string_view()),
    "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 2, None, 0], pa.int8()), ["b", RARE, "a"]),
    "null in dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0]), ["b", None, "a"]),
    "twice in dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0]), ["b", "b", "a"]),
    "wide integers": pa.array([2**63 - 1, -(2**63), 0, None]),
    "floats as text": pa.array([1.0, 2.5, 2.5, float("nan")]),
}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("name", KINDS)
def test_release_for_every_arrow_type(tmp_path, name, suffix):
    table = pa.table({"q": pa.chunked_array([KINDS[name]] * 3), "w": ["x"] * 12})
    requested: dict[str, Any] = {"type": {"q": "text"}} if "as text" in name else {}
    release = kh.anonymize(table, quasi=["q", "w"], k=2, output=tmp_path / f"out.{suffix}", **requested)
    assert release.evidence.passed
    assert RARE not in str(release.table.to_pydict())


# --- codes depend only on the values

CELLS = st.one_of(
    st.lists(st.none() | st.sampled_from(["", "a", "b", "ä", "Z", "10", "9", "?"]), max_size=12).map(
        lambda cells: pa.array(cells, pa.string())
    ),
    st.lists(st.none() | st.integers(-5, 300).map(str), max_size=12).map(lambda cells: pa.array(cells, pa.string())),
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=12).map(lambda cells: pa.array(cells, pa.int64())),
    st.lists(st.none() | st.floats(-1e9, 1e9) | st.just(float("nan")), max_size=12).map(
        lambda cells: pa.array(cells, pa.float64())
    ),
).filter(len)


@settings(max_examples=150, deadline=None)
@given(CELLS, st.data())
def test_codes_do_not_depend_on_order_chunks_or_dictionaries(whole, data):
    points = encode(whole, missing="?")
    order = data.draw(st.permutations(range(len(whole))))
    cut = data.draw(st.integers(0, len(whole)))
    shuffled = encode(whole.take(pa.array(order)), missing="?")
    assert shuffled.codes.tolist() == points.codes[list(order)].tolist()
    pieces = [whole.slice(0, cut), whole.slice(cut)]
    for column in (
        pa.chunked_array(pieces),
        pa.chunked_array([piece.dictionary_encode() for piece in pieces]),
        whole.dictionary_encode(),
    ):
        assert encode(column, missing="?").codes.tolist() == points.codes.tolist()


@pytest.mark.parametrize(
    ("distinct", "dtype"), [(1, "uint8"), (255, "uint8"), (256, "uint16"), (65_535, "uint16"), (65_536, "uint32")]
)
def test_codes_have_the_smallest_dtype(distinct, dtype):
    texts = encode([f"t{number}" for number in range(distinct)])
    assert texts.codes.dtype == dtype
    assert texts.codes.min() == 1
    assert texts.codes.max() == distinct
    assert encode(np.arange(distinct)).codes.dtype == (dtype if dtype != "uint32" else "uint16")  # more become bins
    assert encode(["0"], hierarchy={"q": [[str(number), "*"] for number in range(distinct)]}).codes.dtype == dtype


def test_too_many_numbers_become_bins_and_keep_exact_values():
    values = np.random.default_rng(1).integers(-(10**9), 10**9, 70_000)
    points = encode(pa.array(values))
    axis = points.axes[0]
    assert isinstance(axis, NumericAxis)
    assert axis.binned
    assert np.array_equal(points.exact[0], values)
    codes = points.codes[:, 0].astype(np.int64) - 1
    assert np.all((axis.first[codes] <= values) & (values <= axis.last[codes]))
    assert np.all(axis.first[1:] > axis.last[:-1])
