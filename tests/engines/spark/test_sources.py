"""What Spark reads and returns: the same tables as the other engines, or the same refusals."""

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
ASKED: dict[str, Any] = {"quasi": ["age", "town"], "sensitive": "ill", "k": 5, "method": "mondrian", "seed": 7}
ROWS = [(f"Person{row}", str(20 + row % 40), "abcd"[row % 4], ("flu", "cold", "")[row % 3]) for row in range(120)]


def csv_file(path, rows, columns=None):
    columns = columns or NAMES
    lines = [",".join(columns), *(",".join(row[NAMES.index(column)] for column in columns) for row in rows)]
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def both(spark, source, **asked):
    """What memory makes of a source and what Spark does: rows, or the message."""
    told: list[Any] = []
    for engine in ({"engine": "memory"}, {"engine": "spark", "spark": spark}):
        try:
            told.append(rows_of(kh.anonymize(source, **{**ASKED, **asked}, **engine).table))
        except KohortError as error:
            told.append((type(error), str(error)))
    return told


# --- in


def test_columns_of_files_go_by_name(spark, tmp_path):
    """By place, the names of the second file's persons would be published as what they are ill with."""
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
def test_text_that_is_no_table_is_refused_in_the_same_words(spark, tmp_path, wrong):
    csv_file(tmp_path / "in.csv", ROWS)
    lines = (tmp_path / "in.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "in.csv").write_text("\n".join([*lines[:60], wrong, *lines[60:]]) + "\n", encoding="utf-8")
    memory, on_spark = both(spark, tmp_path / "in.csv", identifier="name")
    assert memory == on_spark
    assert memory[0] is RequestError


def test_arrow_files_are_read_too(spark, tmp_path):
    table = table_of(ROWS)
    coded = table.set_column(2, "town", table.column("town").dictionary_encode())
    with pa.OSFile(str(tmp_path / "in.arrow"), "wb") as sink, pa.ipc.new_file(sink, coded.schema) as writer:
        writer.write_table(coded)
    memory, on_spark = both(spark, tmp_path / "in.arrow", identifier="name")
    assert memory == on_spark


def test_files_that_differ_are_refused(spark, tmp_path):
    table = table_of(ROWS)
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in" / "a.parquet")
    for other in (table.drop_columns(["town"]), table.append_column("zip", table.column("age"))):
        pq.write_table(other, tmp_path / "in" / "b.parquet")
        memory, on_spark = both(spark, tmp_path / "in", identifier="name")
        assert memory == on_spark
        assert "differs from the first file" in on_spark[1]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("source", ["in", "in/*/*"])
def test_folders_that_give_a_column_give_its_text(spark, tmp_path, kind, source):
    for year, rows in (("01", ROWS[:60]), ("02", ROWS[60:])):
        file = tmp_path / "in" / f"year={year}" / f"x.{kind}"
        file.parent.mkdir(parents=True)
        if kind == "csv":
            csv_file(file, rows)
        else:
            pq.write_table(table_of(rows), file)
    memory, on_spark = both(spark, tmp_path / source, identifier="name", quasi=["age", "year"], drop="town")
    assert memory == on_spark
    assert any("01" in row for row in on_spark)


def test_moments_are_told_in_the_zone_of_their_column(spark, tmp_path):
    start = datetime(2024, 1, 31, 12, tzinfo=UTC)
    moments = pa.array([start + timedelta(hours=row) for row in range(120)], pa.timestamp("us", "Asia/Tokyo"))
    table = pa.table({"age": [row % 40 for row in range(120)], "town": moments, "ill": [row[3] for row in ROWS]})
    pq.write_table(table, tmp_path / "in.parquet")
    memory, on_spark = both(spark, tmp_path / "in.parquet")
    assert memory == on_spark


def test_a_name_with_marks_of_a_pattern_is_a_name(spark, tmp_path):
    for name in ("x[1].parquet", "x{1}.parquet"):
        pq.write_table(datasets.census(100, quasi=3), tmp_path / name)
        asked = {"quasi": ["q1", "q2", "q3"], "sensitive": "s1", "k": 5, "engine": "spark", "spark": spark}
        assert kh.anonymize(tmp_path / name, **asked).evidence.passed


@pytest.mark.parametrize("kind", [pa.timestamp("ns"), pa.time64("us"), pa.duration("s"), pa.decimal256(50, 2)], ids=str)
def test_types_that_spark_does_not_know_are_told(spark, tmp_path, kind):
    table = pa.table({"age": [1, 2] * 10, "town": pa.nulls(20, kind), "ill": ["a"] * 20})
    pq.write_table(table, tmp_path / "in.parquet")
    with pytest.raises(RequestError, match=r"Column 'town' is .* Spark does not know.*--engine"):
        kh.anonymize(tmp_path / "in.parquet", quasi="age", drop="town", sensitive="ill", k=2, engine="spark", spark=spark)


def test_what_is_not_there_is_told_as_everywhere(spark, tmp_path):
    for name in ("nothing.csv", "nothing*.csv", "nothing.parquet"):
        memory, on_spark = both(spark, tmp_path / name)
        assert memory == on_spark
        assert memory[0] is RequestError
    with pytest.raises(RequestError, match="no table at file:///"):
        kh.anonymize(f"file://{tmp_path}/nothing", **ASKED, spark=spark)
    csv_file(tmp_path / "in.csv", ROWS)
    with pytest.raises(RequestError, match="Write it as Parquet"):
        kh.anonymize(f"file://{tmp_path}/in.csv", **ASKED, spark=spark)


# --- out


def test_a_release_leads_neither_back_to_its_source_nor_to_what_came_after_it(spark, tmp_path):
    source = tmp_path / "in.parquet"
    pq.write_table(datasets.census(300, quasi=3), source)
    asked = {"quasi": ["q1", "q2", "q3"], "sensitive": "s1", "k": 5, "method": "mondrian", "seed": 7, "spark": spark}
    table = kh.anonymize(source, **asked).table
    with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
        table.where("q1_original = 1").count()
    before = rows_of(table)
    pq.write_table(datasets.census(100, quasi=3, seed=5), source)
    gc.collect()
    assert rows_of(table) == before


def test_views_of_the_user_stay(spark):
    for name in ("release", "matched"):
        spark.range(3).createOrReplaceTempView(name)
    kh.anonymize(spark.createDataFrame(datasets.census(100, quasi=3)), quasi=["q1", "q2", "q3"], sensitive="s1", k=5)
    assert spark.table("release").count() == 3
    assert {found.name for found in spark.catalog.listTables()} >= {"release", "matched"}
    assert not any("kohort" in found.name for found in spark.catalog.listTables())


def test_every_text_comes_out_as_it_was(spark, tmp_path):
    notes = [" blank before", "blank after ", "\ttab", 'a "quote"', "a, comma", "two\nlines", "", None, "nul\x00", "ä", "\\", "#"]
    table = pa.table({"age": [1, 2] * 60, "town": ["a"] * 120, "ill": ["flu"] * 120, "note": notes * 10})
    asked = {**ASKED, "other": "note", "k": 3}
    expected = kh.anonymize(table, **asked, output=tmp_path / "memory.csv")
    assert expected.evidence.passed
    found = kh.anonymize(spark.createDataFrame(table), **asked, output=tmp_path / "spark.csv")
    assert found.evidence.passed
    read = {name: tables.read(tmp_path / name)[0] for name in ("memory.csv", "spark.csv")}
    assert rows_of(read["memory.csv"]) == rows_of(read["spark.csv"])


LEFT = """
import os, signal, sys
import kohort as kh
from kohort import datasets
from kohort.engines.spark import publication
publication.audited = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
kh.anonymize(datasets.census(100, quasi=3), quasi=["q1", "q2", "q3"], sensitive="s1", k=5, engine="spark", master="local[1]",
             output=sys.argv[1])
"""


def test_what_a_killed_run_left_is_removed_by_the_next(spark, tmp_path):
    target = tmp_path / "out.parquet"
    died = subprocess.run([sys.executable, "-c", LEFT, str(target)], check=False, capture_output=True)
    assert died.returncode == -signal.SIGKILL
    left = sorted(path.name for path in tmp_path.glob("_kohort-*"))
    assert len(left) == 2, left
    frame = spark.createDataFrame(datasets.census(100, quasi=3))
    kh.anonymize(frame, quasi=["q1", "q2", "q3"], sensitive="s1", k=5, output=target)
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


# --- times, types and texts

NIGHTS = pa.array([f"2024-{1 + row % 12:02}-01 00:30:00" for row in range(120)]).cast(pa.timestamp("us"))
OTHER: dict[str, Any] = {"drop": "name", "other": "at", "allow": "at"}


def on_its_clock(times, zone):
    return times if zone is None else pc.assume_timezone(times, zone)


@pytest.mark.parametrize("zone", [None, "Asia/Tokyo"])
def test_times_are_those_of_their_column(spark, tmp_path, zone):
    table = table_of(ROWS).append_column("at", on_its_clock(NIGHTS, zone))
    memory, on_spark = both(spark, table, quasi=["age", "at"], drop=["name", "town"])
    assert memory == on_spark
    gap = pa.array(["2024-03-31 02:30:00"] * 120).cast(pa.timestamp("us"))  # an hour that Berlin does not have
    table = table_of(ROWS).append_column("at", on_its_clock(gap, zone))
    for name, engine in (("memory.csv", {}), ("spark.csv", {"spark": spark})):
        kh.anonymize(table, **ASKED, **OTHER, **engine, output=tmp_path / name)
    written = [rows_of(tables.read(tmp_path / name)[0]) for name in ("memory.csv", "spark.csv")]
    assert written[0] == written[1]


def test_moments_of_a_frame_are_told_by_the_clock_of_its_session(spark):
    table = table_of(ROWS).append_column("at", NIGHTS)
    asked = {**ASKED, "quasi": ["age", "at"], "drop": ["name", "town"]}
    frame = spark.createDataFrame(table)  # Spark takes them for moments of its session
    assert frame.schema["at"].dataType.simpleString() == "timestamp"
    assert rows_of(kh.anonymize(frame, **asked).table) == rows_of(kh.anonymize(table, **asked).table)


def test_times_without_a_zone_that_spark_makes_moments_of(spark, tmp_path):
    pq.write_table(table_of(ROWS).append_column("at", NIGHTS), tmp_path / "in.parquet")
    setting = "spark.sql.parquet.inferTimestampNTZ.enabled"
    spark.conf.set(setting, "false")
    try:
        memory, on_spark = both(spark, tmp_path / "in.parquet", quasi=["age", "at"], drop=["name", "town"])
    finally:
        spark.conf.unset(setting)
    assert memory == on_spark


@pytest.mark.parametrize("kind", [pa.timestamp("ns"), pa.uint8(), pa.duration("s")], ids=str)
def test_tables_at_hand_are_asked_for_their_types_too(spark, kind):
    table = table_of(ROWS).append_column("at", pa.array([1] * 120, kind))
    with pytest.raises(RequestError, match=r"Column 'at' is .* Spark does not know.*--engine"):
        kh.anonymize(table, **ASKED, **OTHER, spark=spark)


def test_columns_that_no_task_could_hand_back_are_told(spark):
    frame = spark.createDataFrame(table_of(ROWS))
    for made, said in (("map('a', 1)", "cannot be published"), ("INTERVAL '1' YEAR", "only Spark knows"), ("1", "the same name")):
        odd = frame.selectExpr("*", f"{made} AS {'ill' if made == '1' else 'at'}")
        with pytest.raises(RequestError, match=said):
            kh.anonymize(odd, **ASKED, **OTHER)
    with pytest.raises(RequestError, match="stands still"):
        kh.anonymize(spark.readStream.format("rate").load(), quasi="value", k=2, drop="timestamp")


def test_equal_by_a_collation_is_not_equal(spark):
    table = pa.table({"town": [*"aAbB"] * 10, "ill": ["flu", "cold"] * 20})
    frame = spark.createDataFrame(table).selectExpr("town COLLATE UTF8_LCASE AS town", "ill")
    asked: dict[str, Any] = {**ASKED, "quasi": "town"}
    assert rows_of(kh.anonymize(frame, **asked).table) == rows_of(kh.anonymize(table, **asked).table)


@pytest.mark.parametrize(("first", "missing"), [("NaN", ()), (-9.0, ("-9",))], ids=["the text NaN", "a number that is missing"])
def test_who_is_nobody_is_the_same_everywhere(spark, first, missing):
    people = [first, *(f"P{row}" if isinstance(first, str) else float(row) for row in range(119))]
    memory, on_spark = both(
        spark, table_of(ROWS).append_column("who", pa.array(people)), unit="who", drop="name", missing=missing
    )
    assert memory == on_spark or (memory[0] is on_spark[0] is RequestError and "one person" in on_spark[1])


def test_missing_cells_of_a_lone_column_are_lines_of_their_own(spark, tmp_path):
    table = pa.table({"c": pa.array([None] * 10 + ["a"] * 10)})
    kh.anonymize(spark.createDataFrame(table), quasi="c", k=5, output=tmp_path / "one.csv")
    assert sorted(map(str, tables.read(tmp_path / "one.csv")[0].column("c").to_pylist())) == ["None"] * 10 + ["a"] * 10
