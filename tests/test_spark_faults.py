"""The spark engine on a real cluster: the release of the memory engine, also when a machine dies."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import pyarrow.parquet as pq
import pytest

import kohort as kh
from kohort import datasets, tables
from kohort.engines.memory import MemoryEngine
from kohort.engines.spark import SparkEngine
from kohort.job import Job
from kohort.progress import Progress
from kohort.testing.engines import released, rows_of
from tests.spark_cluster import PANDAS_3, require_spark, session, standalone_cluster

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings(PANDAS_3)]


def test_a_cluster_gives_the_same_release(tmp_path):
    require_spark()
    sample = datasets.adult(datasets.ADULT_B, ["occupation"]) if os.environ.get("KOHORT_DATA") else datasets.hospital(3_000)
    pq.write_table(sample.table, tmp_path / "t.parquet")
    asked: list[dict[str, Any]] = [{"method": "mondrian"}, {"method": "k-member", "l": 3}, {"method": "gccg", "l": 3}]
    jobs = [Job.build(sample.job, k=10, seed=7, block=2_000, **one) for one in asked]
    expected = [released(MemoryEngine(job, Progress(2)), sample.table) for job in jobs]
    with standalone_cluster(workers=2) as cluster, session(cluster.url, cluster.wait_for_all):
        for job, in_memory in zip(jobs, expected, strict=True):
            found = released(SparkEngine(job, Progress(1), 4_000), str(tmp_path / "t.parquet"))
            assert not isinstance(found, kh.KohortError), found
            assert not isinstance(in_memory, kh.KohortError), in_memory
            assert found[0] == in_memory[0]


def test_a_worker_dies_in_the_middle(tmp_path):
    """With it go the parts it had finished and the rows it held: they are made again, and come out the same."""
    require_spark()
    table = datasets.census(60_000, quasi=4)
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=5_000)
    job = Job.build(quasi=["q1", "q2", "q3", "q4"], sensitive="s1", k=5, seed=7, method="k-member", block=2_000)
    expected = rows_of(kh.anonymize(table, job).table)
    with standalone_cluster(workers=2) as cluster, session(cluster.url, cluster.wait_for_all):
        engine = SparkEngine(job, Progress(1), 4_000)
        engine.read(str(tmp_path / "t.parquet"))
        engine.encode()

        def kill_when_parts_are_being_finished():
            while engine._progress.step_name != "partition":
                time.sleep(0.01)
            time.sleep(6)
            cluster.kill_worker(0)

        killer = threading.Thread(target=kill_when_parts_are_being_finished)
        killer.start()
        engine.partition()
        still_at_it = not killer.is_alive()
        killer.join()
        engine.publish()
        engine.release_file(tmp_path / "out.parquet", force=False)
    assert still_at_it  # else it was too late to disturb anybody
    assert rows_of(tables.read(tmp_path / "out.parquet")[0]) == expected
