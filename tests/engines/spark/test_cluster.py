"""The cluster of these tests is a real one: both workers work, and one may die."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import kohort
from tests.spark_cluster import PATIENCE, SPARK_TESTS, require_spark, standalone_cluster

pytestmark = SPARK_TESTS
ROWS = 1000


def marked(kind, folder, wait_for=None):
    """A function for mapInArrow that leaves a mark, `kind worker partition`, and perhaps waits for one, before it gives all back.

    It stands inside another, so that it travels whole: workers have the package, not its tests.
    """

    def run(batches):
        import time
        from pathlib import Path

        from pyspark import TaskContext

        worker = Path.cwd().parts[-4]  # above its work folder, that of the application, that of the executor
        Path(folder, f"{kind} {worker} {TaskContext.get().partitionId()}").touch()
        end = time.monotonic() + PATIENCE
        while wait_for is not None and not Path(folder, wait_for).exists():
            if time.monotonic() > end:
                raise TimeoutError(wait_for)
            time.sleep(0.01)
        yield from batches

    return run


def marks(folder, kind, worker):
    """The partitions that a worker began with."""
    return {path.name.split()[2] for path in folder.glob(f"{kind} {worker} *")}


def test_both_workers_run_functions_that_import_the_package(cluster_session):
    def tell(batches):
        import sys
        from pathlib import Path

        import pyarrow as pa

        import kohort

        rows = sum(batch.num_rows for batch in batches)
        told = {"worker": Path.cwd().parts[-4], "version": kohort.__version__, "python": sys.executable, "rows": rows}
        yield pa.RecordBatch.from_pylist([told])

    schema = "worker string, version string, python string, rows bigint"
    found = (
        cluster_session.range(0, ROWS, 1, 2).mapInArrow(tell, schema, barrier=True).collect()
    )  # both at the same time, or not at all
    assert sorted(tuple(row) for row in found) == [
        (worker, kohort.__version__, sys.executable, ROWS // 2) for worker in ("worker0", "worker1")
    ]


def test_nothing_is_left_of_a_cluster_when_a_test_fails(tmp_path, monkeypatch):
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


def test_a_job_outlives_a_worker(cluster, cluster_session, tmp_path):
    """Killed when the first half is done and the second has begun: what it made and what it was making are made again.

    The last test of this cluster, which has one worker from here on.
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
    assert len(alive) >= 3  # the worker, its executor, a Python
    for kind in ("first", "second"):
        assert marks(tmp_path, kind, "worker0")
        assert marks(tmp_path, kind, "worker0") <= marks(tmp_path, kind, "worker1")
