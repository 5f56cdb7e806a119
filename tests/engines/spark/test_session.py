"""The user's Spark session keeps its settings. Unusable sessions, masters and machines give clear errors."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from typing import Any

import pyarrow.parquet as pq
import pytest

import kohort as kh
from kohort import datasets
from kohort.engines.spark.session import _is_not_interruption
from kohort.errors import RequestError
from tests.engines.spark.persons import table_of
from tests.spark_cluster import SPARK_TESTS, require_spark

pytestmark = SPARK_TESTS
REQUEST: dict[str, Any] = {"quasi": ["age", "town"], "sensitive": "ill", "k": 5, "method": "mondrian", "seed": 7}
ROWS = [(f"Person{row}", str(20 + row % 40), "abcd"[row % 4], ("flu", "cold", "")[row % 3]) for row in range(120)]


def test_run_does_not_change_the_settings_of_the_session(spark, tmp_path):
    for key in ("01", "02"):
        (tmp_path / "in" / f"zip={key}").mkdir(parents=True)
        pq.write_table(table_of(ROWS), tmp_path / "in" / f"zip={key}" / "0.parquet")
    before = spark.sql("SET").collect()
    for source in (tmp_path / "in", f"file://{tmp_path}/in"):
        release = kh.anonymize(source, **{**REQUEST, "quasi": ["age", "zip"]}, drop=["name", "town"], spark=spark)
        assert {row.zip for row in release.table.select("zip").collect()} <= {"01", "02", "*"}
    assert spark.sql("SET").collect() == before


def test_session_with_an_unusable_setting_raises_an_error_that_names_it(spark):
    frame, setting = spark.createDataFrame(table_of(ROWS)), "spark.sql.execution.arrow.useLargeVarTypes"
    spark.conf.set(setting, "true")
    try:
        with pytest.raises(RequestError, match=f"{setting} set to true"):
            kh.anonymize(frame, **REQUEST, drop="name")
    finally:
        spark.conf.unset(setting)


def test_wrong_master_and_missing_java_give_one_line_on_stderr():
    require_spark()
    run = [sys.executable, "-m", "kohort", "anonymize", "in.csv", "-o", "out.parquet", "--quasi", "age", "--k", "2"]
    for flags, environment, message in (
        (["--master", "foo"], {}, "'foo' is not a Spark master"),
        (["--engine", "spark"], {"JAVA_HOME": "/nonexistent"}, "needs Java 17"),
        (["--engine", "disk", "--master", "local"], {}, "Only the spark engine uses a master"),
    ):
        ended = subprocess.run([*run, *flags], check=False, capture_output=True, text=True, env={**os.environ, **environment})
        assert message in ended.stderr, ended.stderr
        assert ended.stderr.count("\n") == 1


def test_interruption_ends_with_one_line_and_leaves_no_files(tmp_path):
    require_spark()
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(datasets.census(60_000, quasi=3), source)
    command = [sys.executable, "-m", "kohort", "anonymize", str(source), "-o", str(target), "--quasi", "q1,q2,q3", "--k", "5"]
    command += ["--sensitive", "s1", "--method", "mondrian", "--engine", "spark", "--master", "local[1]"]
    with (tmp_path / "log").open("wb") as log:
        running = subprocess.Popen(command, stderr=log, stdout=subprocess.DEVNULL)
        end = time.monotonic() + 120
        while "partition" not in (tmp_path / "log").read_text(encoding="utf-8") and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.3)
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130, (tmp_path / "log").read_text(encoding="utf-8")
    output = (tmp_path / "log").read_text(encoding="utf-8")
    assert "Traceback" not in output
    assert "Interrupted" in output.splitlines()[-1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.parquet", "log"]


def test_connection_error_caused_by_an_interruption_is_not_logged():
    def record(error):
        return logging.LogRecord("py4j.clientserver", logging.WARNING, "", 1, "closing", (), (type(error), error, None))

    broken = BrokenPipeError()
    broken.__context__ = KeyboardInterrupt()
    assert not _is_not_interruption(record(broken))
    assert _is_not_interruption(record(BrokenPipeError()))
