"""Tests of the test cluster: both workers run tasks, and a job survives the death of one worker."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import kohort
from tests.spark_cluster import PATIENCE, SPARK_TESTS, require_spark, standalone_cluster

pytestmark = SPARK_TESTS
ROWS = 1000


def marked(stage, folder, wait_for=None):
    """Return a function for mapInArrow that creates the file `stage worker partition` and then returns its input.

    With `wait_for` it first waits until that file exists. The function is nested so that pickle sends its code: workers have the
    package, but not its tests.
    """

    def run(batches):
        import time
        from pathlib import Path

        from pyspark import TaskContext

        worker = Path.cwd().parts[-4]  # the path ends with worker / work folder / application / executor
        Path(folder, f"{stage} {worker} {TaskContext.get().partitionId()}").touch()
        end = time.monotonic() + PATIENCE
        while wait_for is not None and not Path(folder, wait_for).exists():
            if time.monotonic() > end:
                raise TimeoutError(wait_for)
            time.sleep(0.01)
        yield from batches

    return run


def marks(folder, stage, worker):
    """Return the partitions of a stage that a worker has started."""
    return {path.name.split()[2] for path in folder.glob(f"{stage} {worker} *")}


def test_both_workers_run_functions_that_import_the_package(cluster_session):
    def describe(batches):
        import sys
        from pathlib import Path

        import pyarrow as pa

        import kohort

        rows = sum(batch.num_rows for batch in batches)
        worker = {"worker": Path.cwd().parts[-4], "version": kohort.__version__, "python": sys.executable, "rows": rows}
        yield pa.RecordBatch.from_pylist([worker])

    schema = "worker string, version string, python string, rows bigint"
    # With a barrier both tasks run at the same time or not at all.
    found = cluster_session.range(0, ROWS, 1, 2).mapInArrow(describe, schema, barrier=True).collect()
    assert sorted(tuple(row) for row in found) == [
        (worker, kohort.__version__, sys.executable, ROWS // 2) for worker in ("worker0", "worker1")
    ]


def test_failed_test_leaves_no_processes_or_files_of_its_cluster(tmp_path, monkeypatch):
    require_spark()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    started = []

    def fail():
        with standalone_cluster(workers=1) as running:
            assert running.pids(0)
            assert list(tmp_path.iterdir())
            started.append(running)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not started[0].pids(0)
    assert not list(tmp_path.iterdir())


def test_job_survives_the_death_of_a_worker(cluster, cluster_session, tmp_path):
    """A worker is killed when the first stage is done and the second has begun. Its finished and its running tasks are repeated.

    This must be the last test of this cluster: from here on the cluster has one worker.
    """

    def kill_in_the_middle():
        end = time.monotonic() + PATIENCE
        while not all(marks(tmp_path, "second", worker) for worker in ("worker0", "worker1")):
            assert time.monotonic() < end
            time.sleep(0.01)
        cluster.kill_worker(0)
        (tmp_path / "killed").touch()
        return cluster.pids(0), cluster.pids(1)

    halves = cluster_session.range(0, ROWS, 1, 8).mapInArrow(marked("first", str(tmp_path)), "id long").repartition(4, "id")
    job = halves.mapInArrow(marked("second", str(tmp_path), "killed"), "id long")
    with ThreadPoolExecutor(1) as pool:
        killing = pool.submit(kill_in_the_middle)
        rows = [row.id for row in job.collect()]
        dead, alive = killing.result()
    assert sorted(rows) == list(range(ROWS))
    assert not dead
    assert len(alive) >= 3  # the worker, its executor and a Python process
    for stage in ("first", "second"):
        assert marks(tmp_path, stage, "worker0")
        assert marks(tmp_path, stage, "worker0") <= marks(tmp_path, stage, "worker1")
