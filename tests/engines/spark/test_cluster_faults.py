"""The Spark engine on a real cluster gives the same release, even if a worker dies."""

from __future__ import annotations

import os
import threading
import time
import uuid
from typing import Any

import pyarrow.parquet as pq
import pytest

import kohort as kh
from kohort import datasets
from kohort.engines.memory import MemoryEngine
from kohort.engines.spark import tasks
from kohort.engines.spark.engine import SparkEngine
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.tables import tables
from kohort.testing.engine_contracts import released, rows_of, with_originals
from tests.spark_cluster import PATIENCE, SPARK_TESTS

pytestmark = SPARK_TESTS


@pytest.mark.usefixtures("cluster_session")
@pytest.mark.parametrize(
    "requested",
    [{"method": "mondrian", "k": 2}, {"method": "k-member", "l": 3}, {"method": "gccg", "l": 3}, {"method": "auto", "k": 100}],
    ids=lambda requested: requested["method"],
)
def test_release_of_a_cluster_is_the_same_as_in_memory(tmp_path, requested):
    """Uses some rows. `make bench-identity` uses all rows and more jobs."""
    sample = datasets.adult(datasets.ADULT_B, ["occupation"]) if os.environ.get("KOHORT_DATA") else datasets.hospital(4_000)
    quasi = [name for name, column in sample.job.columns.items() if column.role == "quasi"]
    table, roles = with_originals(sample.table.slice(0, 4_000), quasi)
    pq.write_table(table, tmp_path / "t.parquet")
    job = Job.build(sample.job, **{"k": 10, "seed": 7, "block": 1_000, **requested, **roles})
    expected = released(MemoryEngine(job, Progress(2)), table)
    found = released(SparkEngine(job, Progress(1), 2_000), str(tmp_path / "t.parquet"))
    assert not isinstance(expected, kh.KohortError), expected
    assert not isinstance(found, kh.KohortError), found
    assert found[0] == expected[0]


@pytest.mark.usefixtures("cluster_session")
def test_release_is_the_same_if_a_worker_dies_during_the_run(cluster, tmp_path, monkeypatch):
    """The parts that the worker had finished and the rows that it held are lost. Spark makes them again, with the same result.

    This must be the last test of this cluster: from here on the cluster has one worker.
    """
    table = datasets.census(30_000, quasi=4)
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=2_500)
    requested: dict[str, Any] = {"quasi": ["q1", "q2", "q3", "q4"], "sensitive": "s1", "k": 5, "seed": 7}
    job = Job.build(**requested, method="k-member", block=2_000)
    expected = rows_of(kh.anonymize(table, job).table)
    finished, killed = tmp_path / "finished", tmp_path / "killed"
    finished.mkdir()

    def kill_a_worker():
        while len(list(finished.iterdir())) < 3:
            time.sleep(0.01)
        cluster.kill_worker(0)
        killed.touch()

    def finishing(*arguments, **rest):
        """Return the task of the engine, but let only the first parts through before the worker is dead."""
        finish = original(*arguments, **rest)

        def run(key, rows):
            end = time.monotonic() + PATIENCE
            while len(list(finished.iterdir())) >= 3 and not killed.exists():
                if time.monotonic() > end:
                    raise RuntimeError("The worker was not killed in time.")
                time.sleep(0.01)
            published = finish(key, rows)
            (finished / uuid.uuid4().hex).touch()
            return published

        return run

    original = tasks.finishing
    monkeypatch.setattr(tasks, "finishing", finishing)
    killer = threading.Thread(target=kill_a_worker, daemon=True)
    killer.start()
    engine = SparkEngine(job, Progress(1), 4_000)
    made = engine.partition(engine.encode(str(tmp_path / "t.parquet")))
    assert killed.exists()  # the worker died before all parts were finished
    engine.publish(made).release_file(tmp_path / "out.parquet", force=False)
    assert not cluster.pids(0)
    assert rows_of(tables.read(tmp_path / "out.parquet")[0]) == expected
