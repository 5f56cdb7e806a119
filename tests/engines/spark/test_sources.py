"""Spark reads the same tables, returns the same releases and raises the same errors as the other engines."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import kohort as kh
from kohort import datasets
from kohort.errors import KohortError, RequestError
from kohort.tables import tables
from kohort.testing.engine_contracts import rows_of
from tests.engines.spark.persons import NAMES, table_of
from tests.spark_cluster import SPARK_TESTS

pytestmark = SPARK_TESTS
REQUEST: dict[str, Any] = {"quasi": ["age", "town"], "sensitive": "ill", "k": 5, "method": "mondrian", "seed": 7}
ROWS = [(f"Person{row}", str(20 + row % 40), "abcd"[row % 4], ("flu", "cold", "")[row % 3]) for row in range(120)]


def csv_file(path, rows, columns=None):
    columns = columns or NAMES
    lines = [",".join(columns), *(",".join(row[NAMES.index(column)] for column in columns) for row in rows)]
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def both(spark, source, **requested):
    """Return the rows of the release, or the error, of the memory engine and of the Spark engine."""
    outcomes: list[Any] = []
    for engine in ({"engine": "memory"}, {"engine": "spark", "spark": spark}):
        try:
            outcomes.append(rows_of(kh.anonymize(source, **{**REQUEST, **requested}, **engine).table))
        except KohortError as error:
            outcomes.append((type(error), str(error)))
    return outcomes


# --- reading


def test_columns_of_several_files_are_matched_by_name(spark, tmp_path):
    """Matched by position, the names of people in the second file would be published as illnesses."""
    csv_file(tmp_path / "in" / "a.csv", ROWS[:60])
    csv_file(tmp_path / "in" / "b.csv", ROWS[60:], ("ill", "age", "town", "name"))
    memory, on_spark = both(spark, tmp_path / "in", identifier="name")
    assert memory == on_spark
    assert not any("Person" in str(cell) for row in on_spark for cell in row)


@pytest.mark.parametrize(
    "wrong",
    ['Person,33,a,"flu', "Person,33,a", "Person,33,a,flu,more"],
    ids=["a quote that is not closed", "too few cells", "too many cells"],
)
def test_damaged_csv_gives_the_same_error_as_in_memory(spark, tmp_path, wrong):
    csv_file(tmp_path / "in.csv", ROWS)
    lines = (tmp_path / "in.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "in.csv").write_text("\n".join([*lines[:60], wrong, *lines[60:]]) + "\n", encoding="utf-8")
    memory, on_spark = both(spark, tmp_path / "in.csv", identifier="name")
    assert memory == on_spark
    assert memory[0] is RequestError


def test_arrow_file_gives_the_same_release_as_in_memory(spark, tmp_path):
    table = table_of(ROWS)
    coded = table.set_column(2, "town", table.column("town").dictionary_encode())
    with pa.OSFile(str(tmp_path / "in.arrow"), "wb") as sink, pa.ipc.new_file(sink, coded.schema) as writer:
        writer.write_table(coded)
    memory, on_spark = both(spark, tmp_path / "in.arrow", identifier="name")
    assert memory == on_spark


def test_files_with_different_columns_give_the_same_error_as_in_memory(spark, tmp_path):
    table = table_of(ROWS)
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in" / "a.parquet")
    for other in (table.drop_columns(["town"]), table.append_column("zip", table.column("age"))):
        pq.write_table(other, tmp_path / "in" / "b.parquet")
        memory, on_spark = both(spark, tmp_path / "in", identifier="name")
        assert memory == on_spark
        assert "differs from the first file" in on_spark[1]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("source", ["in", "in/*/*"])
def test_column_from_folder_names_is_text(spark, tmp_path, suffix, source):
    for year, rows in (("01", ROWS[:60]), ("02", ROWS[60:])):
        file = tmp_path / "in" / f"year={year}" / f"x.{suffix}"
        file.parent.mkdir(parents=True)
        if suffix == "csv":
            csv_file(file, rows)
        else:
            pq.write_table(table_of(rows), file)
    memory, on_spark = both(spark, tmp_path / source, identifier="name", quasi=["age", "year"], drop="town")
    assert memory == on_spark
    assert any("01" in row for row in on_spark)


def test_times_are_published_in_the_zone_of_their_column(spark, tmp_path):
    start = datetime(2024, 1, 31, 12, tzinfo=UTC)
    moments = pa.array([start + timedelta(hours=row) for row in range(120)], pa.timestamp("us", "Asia/Tokyo"))
    table = pa.table({"age": [row % 40 for row in range(120)], "town": moments, "ill": [row[3] for row in ROWS]})
    pq.write_table(table, tmp_path / "in.parquet")
    memory, on_spark = both(spark, tmp_path / "in.parquet")
    assert memory == on_spark


def test_file_name_with_pattern_characters_is_taken_literally(spark, tmp_path):
    for name in ("x[1].parquet", "x{1}.parquet"):
        pq.write_table(datasets.census(100, quasi=3), tmp_path / name)
        requested = {"quasi": ["q1", "q2", "q3"], "sensitive": "s1", "k": 5, "engine": "spark", "spark": spark}
        assert kh.anonymize(tmp_path / name, **requested).evidence.passed


@pytest.mark.parametrize("arrow_type", [pa.timestamp("ns"), pa.time64("us"), pa.duration("s"), pa.decimal256(50, 2)], ids=str)
def test_file_with_a_type_that_spark_does_not_support_raises_an_error(spark, tmp_path, arrow_type):
    table = pa.table({"age": [1, 2] * 10, "town": pa.nulls(20, arrow_type), "ill": ["a"] * 20})
    pq.write_table(table, tmp_path / "in.parquet")
    with pytest.raises(RequestError, match=r"Column 'town' has the type .* Spark does not support.*--engine"):
        kh.anonymize(tmp_path / "in.parquet", quasi="age", drop="town", sensitive="ill", k=2, engine="spark", spark=spark)


def test_missing_files_give_the_same_error_as_in_memory(spark, tmp_path):
    for name in ("nothing.csv", "nothing*.csv", "nothing.parquet"):
        memory, on_spark = both(spark, tmp_path / name)
        assert memory == on_spark
        assert memory[0] is RequestError
    with pytest.raises(RequestError, match="no files at 'file:///"):
        kh.anonymize(f"file://{tmp_path}/nothing", **REQUEST, spark=spark)
    csv_file(tmp_path / "in.csv", ROWS)
    with pytest.raises(RequestError, match="Save the table as Parquet"):
        kh.anonymize(f"file://{tmp_path}/in.csv", **REQUEST, spark=spark)


# --- releases


def test_release_table_is_independent_of_its_source(spark, tmp_path):
    source = tmp_path / "in.parquet"
    pq.write_table(datasets.census(300, quasi=3), source)
    requested = {"quasi": ["q1", "q2", "q3"], "sensitive": "s1", "k": 5, "method": "mondrian", "seed": 7, "spark": spark}
    table = kh.anonymize(source, **requested).table
    with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
        table.where("q1_original = 1").count()
    before = rows_of(table)
    pq.write_table(datasets.census(100, quasi=3, seed=5), source)
    gc.collect()
    assert rows_of(table) == before


def test_run_does_not_replace_views_of_the_user(spark):
    for name in ("release", "matched"):
        spark.range(3).createOrReplaceTempView(name)
    kh.anonymize(spark.createDataFrame(datasets.census(100, quasi=3)), quasi=["q1", "q2", "q3"], sensitive="s1", k=5)
    assert spark.table("release").count() == 3
    assert {found.name for found in spark.catalog.listTables()} >= {"release", "matched"}
    assert not any("kohort" in found.name for found in spark.catalog.listTables())


def test_texts_with_special_characters_are_written_as_in_memory(spark, tmp_path):
    notes = [" blank before", "blank after ", "\ttab", 'a "quote"', "a, comma", "two\nlines", "", None, "nul\x00", "ä", "\\", "#"]
    table = pa.table({"age": [1, 2] * 60, "town": ["a"] * 120, "ill": ["flu"] * 120, "note": notes * 10})
    requested = {**REQUEST, "other": "note", "k": 3}
    expected = kh.anonymize(table, **requested, output=tmp_path / "memory.csv")
    assert expected.evidence.passed
    found = kh.anonymize(spark.createDataFrame(table), **requested, output=tmp_path / "spark.csv")
    assert found.evidence.passed
    read = {name: tables.read(tmp_path / name)[0] for name in ("memory.csv", "spark.csv")}
    assert rows_of(read["memory.csv"]) == rows_of(read["spark.csv"])


KILLED_RUN = """
import os, signal, sys
import kohort as kh
from kohort import datasets
from kohort.engines.spark import publication
publication.audited = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
kh.anonymize(datasets.census(100, quasi=3), quasi=["q1", "q2", "q3"], sensitive="s1", k=5, engine="spark", master="local[1]",
             output=sys.argv[1])
"""


def test_files_of_a_killed_run_are_removed_by_the_next_run(spark, tmp_path):
    target = tmp_path / "out.parquet"
    died = subprocess.run([sys.executable, "-c", KILLED_RUN, str(target)], check=False, capture_output=True)
    assert died.returncode == -signal.SIGKILL
    left = sorted(path.name for path in tmp_path.glob("_kohort-*"))
    assert len(left) == 2, left
    frame = spark.createDataFrame(datasets.census(100, quasi=3))
    kh.anonymize(frame, quasi=["q1", "q2", "q3"], sensitive="s1", k=5, output=target)
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


# --- times, types and texts

NIGHTS = pa.array([f"2024-{1 + row % 12:02}-01 00:30:00" for row in range(120)]).cast(pa.timestamp("us"))
OTHER: dict[str, Any] = {"drop": "name", "other": "at", "allow": "at"}


def in_zone(times, zone):
    return times if zone is None else pc.assume_timezone(times, zone)


@pytest.mark.parametrize("zone", [None, "Asia/Tokyo"])
def test_times_with_and_without_zone_are_published_as_in_memory(spark, tmp_path, zone):
    table = table_of(ROWS).append_column("at", in_zone(NIGHTS, zone))
    memory, on_spark = both(spark, table, quasi=["age", "at"], drop=["name", "town"])
    assert memory == on_spark
    gap = pa.array(["2024-03-31 02:30:00"] * 120).cast(
        pa.timestamp("us")
    )  # at this time the clocks in Berlin change, so it does not exist there
    table = table_of(ROWS).append_column("at", in_zone(gap, zone))
    for name, engine in (("memory.csv", {}), ("spark.csv", {"spark": spark})):
        kh.anonymize(table, **REQUEST, **OTHER, **engine, output=tmp_path / name)
    written = [rows_of(tables.read(tmp_path / name)[0]) for name in ("memory.csv", "spark.csv")]
    assert written[0] == written[1]


def test_times_of_a_spark_data_frame_are_published_in_the_zone_of_the_session(spark):
    table = table_of(ROWS).append_column("at", NIGHTS)
    requested = {**REQUEST, "quasi": ["age", "at"], "drop": ["name", "town"]}
    frame = spark.createDataFrame(table)  # Spark reads the times as times in the zone of the session
    assert frame.schema["at"].dataType.simpleString() == "timestamp"
    assert rows_of(kh.anonymize(frame, **requested).table) == rows_of(kh.anonymize(table, **requested).table)


def test_times_without_zone_that_spark_reads_with_the_zone_of_the_session_are_published_as_in_memory(spark, tmp_path):
    pq.write_table(table_of(ROWS).append_column("at", NIGHTS), tmp_path / "in.parquet")
    setting = "spark.sql.parquet.inferTimestampNTZ.enabled"
    spark.conf.set(setting, "false")
    try:
        memory, on_spark = both(spark, tmp_path / "in.parquet", quasi=["age", "at"], drop=["name", "town"])
    finally:
        spark.conf.unset(setting)
    assert memory == on_spark


@pytest.mark.parametrize("arrow_type", [pa.timestamp("ns"), pa.uint8(), pa.duration("s")], ids=str)
def test_table_in_memory_with_a_type_that_spark_does_not_support_raises_an_error(spark, arrow_type):
    table = table_of(ROWS).append_column("at", pa.array([1] * 120, arrow_type))
    with pytest.raises(RequestError, match=r"Column 'at' has the type .* Spark does not support.*--engine"):
        kh.anonymize(table, **REQUEST, **OTHER, spark=spark)


def test_columns_that_tasks_cannot_return_and_streams_raise_errors(spark):
    frame = spark.createDataFrame(table_of(ROWS))
    for cell, message in (
        ("map('a', 1)", "the spark engine cannot publish"),
        ("INTERVAL '1' YEAR", "exists only in Spark"),
        ("1", "the same name"),
    ):
        unsupported = frame.selectExpr("*", f"{cell} AS {'ill' if cell == '1' else 'at'}")
        with pytest.raises(RequestError, match=message):
            kh.anonymize(unsupported, **REQUEST, **OTHER)
    with pytest.raises(RequestError, match="is a stream"):
        kh.anonymize(spark.readStream.format("rate").load(), quasi="value", k=2, drop="timestamp")


def test_texts_that_are_equal_only_by_a_collation_stay_different(spark):
    table = pa.table({"town": [*"aAbB"] * 10, "ill": ["flu", "cold"] * 20})
    frame = spark.createDataFrame(table).selectExpr("town COLLATE UTF8_LCASE AS town", "ill")
    requested: dict[str, Any] = {**REQUEST, "quasi": "town"}
    assert rows_of(kh.anonymize(frame, **requested).table) == rows_of(kh.anonymize(table, **requested).table)


@pytest.mark.parametrize(("first", "missing"), [("NaN", ()), (-9.0, ("-9",))], ids=["the text NaN", "a number that is missing"])
def test_rows_without_a_person_are_the_same_as_in_memory(spark, first, missing):
    people = [first, *(f"P{row}" if isinstance(first, str) else float(row) for row in range(119))]
    memory, on_spark = both(
        spark, table_of(ROWS).append_column("who", pa.array(people)), unit="who", drop="name", missing=missing
    )
    assert memory == on_spark or (memory[0] is on_spark[0] is RequestError and "'who'" in on_spark[1])


def test_missing_cells_of_a_csv_file_with_one_column_are_written_as_rows(spark, tmp_path):
    table = pa.table({"c": pa.array([None] * 10 + ["a"] * 10)})
    kh.anonymize(spark.createDataFrame(table), quasi="c", k=5, output=tmp_path / "one.csv")
    assert sorted(map(str, tables.read(tmp_path / "one.csv")[0].column("c").to_pylist())) == ["None"] * 10 + ["a"] * 10
