"""Test DuckDB relations."""

from __future__ import annotations

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from tests.tables.frames.round_trips import RARE, refused, through

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
        assert made.join(connection.sql("SELECT '0' AS age"), "age").select("age").fetchall(), (
            "the release must be on the connection of the source"
        )
        assert connection.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall() == []


def test_duckdb_enum_keeps_its_order():
    source = duckdb.sql(
        f"SELECT i // 2 AS age, list_extract(['a','b','c'], i % 3 + 1)::ENUM('c','{RARE}','b','a') e FROM range(6) t(i)"
    )
    assert list(map(str, through(source).types)) == ["VARCHAR", "ENUM('c', 'b', 'a')"]
    assert list(map(str, through(source, rows=[0, 1]).types)) == ["VARCHAR", "ENUM('b', 'a')"]


def test_duckdb_enum_with_only_missing_values_becomes_text():
    source = duckdb.sql("SELECT i // 2 AS age, NULL::ENUM('a') e FROM range(6) t(i)")
    assert list(map(str, through(source).types)) == ["VARCHAR", "VARCHAR"]


def test_connection_that_does_not_find_python_variables():
    with duckdb.connect(config={"python_enable_replacements": "false"}) as connection:
        made = through(connection.sql("SELECT i // 2 AS age, 1.5::DECIMAL(3, 1) d FROM range(6) t(i)"))
        assert list(map(str, made.types)) == ["VARCHAR", "DECIMAL(3,1)"]
        assert len(made.fetchall()) == 6


@pytest.mark.parametrize(
    "cell", ["'101'::BIT", "1::UHUGEINT", "TIMETZ '10:00:00+02'", f"{{'e': 'x'::ENUM('x', '{RARE}'), 'b': '1'::BIT}}"]
)
def test_duckdb_types_that_arrow_changes_are_rejected(cell):
    assert "which Arrow cannot store" in refused(duckdb.sql(f"SELECT {cell} AS c"))


def test_error_of_a_failing_query_contains_no_cell():
    assert "polars LazyFrame" in refused(pl.LazyFrame({"a": [RARE]}).select(pl.col("a").cast(pl.Int64)))
    assert "DuckDB relation" in refused(duckdb.sql(f"SELECT a::INTEGER FROM (VALUES ('{RARE}')) t(a)"))

    def batches():
        yield pa.record_batch({"a": [1]})
        raise KeyError(RARE)

    assert "reader" in refused(pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), batches()))
