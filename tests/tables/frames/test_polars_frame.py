"""Test polars frames."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import polars as pl
import pytest

from tests.tables.frames.round_trips import RARE, refused, through

AGES = [20, 20, 30, 30, 40, 40]
TEXTS = ["b", "a", None, "b", "a", "b"]
DAYS = [dt.date(2020, 1, day) for day in (1, 2, 2, 3, 1, 1)]
TIMES = [None, *(dt.datetime(2020, 1, day, 5, 30) for day in (1, 2, 3, 4, 5))]  # noqa: DTZ001


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


def test_polars_half_float_keeps_its_type():
    if not hasattr(pl, "Float16"):
        pytest.skip("needs a polars with Float16")
    made = through(pl.DataFrame({"age": AGES, "f": pl.Series([1.5, None, 2, 3, 4, 5], dtype=pl.Float16)}))
    assert made["f"].dtype == pl.Float16
    assert made["f"].to_list() == [1.5, None, 2, 3, 4, 5]


def test_polars_enums_keep_their_order_and_drop_unused_values():
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
    missing = through(frame, rows=[2])
    assert missing["e"].dtype == pl.Enum([])
    assert missing["e"].to_list() == [None]


@pytest.mark.parametrize("dtype", [pl.Categorical(), pl.Enum(["b", RARE, "a"])])
def test_generalised_polars_enum_is_a_categorical(dtype):
    made = through(pl.DataFrame({"age": AGES, "ward": pl.Series(TEXTS, dtype=dtype)}), quasi="ward")
    assert made.schema == {"age": pl.Int64(), "ward": pl.Categorical()}
    assert RARE not in made["ward"].unique().to_list()


def test_polars_types_that_arrow_cannot_store_are_rejected():
    message = refused(pl.DataFrame({"o": pl.Series([object()], dtype=pl.Object), "i": pl.Series([1], dtype=pl.Int128)}))
    assert "'o' has the type Object" in message
    assert "'i' has the type Int128" in message
    kind = pl.Struct({"e": pl.Enum([RARE]), "i": pl.Int128})
    assert "'s' has the type Struct, " in refused(pl.DataFrame({"s": pl.Series([{"e": RARE, "i": 1}], dtype=kind)}))
