"""A real Spark cluster on this machine: a master and workers in separate processes, all on loopback and free ports."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 60  # seconds that a process may take to start or to end
SPARK_TESTS = [
    pytest.mark.slow,
    pytest.mark.xdist_group("spark"),  # a process has one session, so one worker runs all Spark tests
    pytest.mark.filterwarnings(
        "ignore:PySpark does not yet fully support pandas:FutureWarning"
    ),  # kohort does not use these parts
]
QUICK = (
    "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData"  # a JVM that starts fast, because a test's JVM does little else
)


def require_spark() -> None:
    """Skip the test if there is no pyspark or no Java."""
    pytest.importorskip("pyspark", reason="needs pyspark: install kohort[spark]")
    if _java() is None:
        pytest.skip("needs Java 17 or later: set JAVA_HOME, or put java on the path")


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=f"{home}/bin" if home else None)


@dataclass
class _Daemon:
    """A master or a worker in its own process session, so that all processes that it starts can be found."""

    process: subprocess.Popen[bytes]
    folder: Path

    @classmethod
    def start(cls, folder: Path, name: str, *arguments: str) -> _Daemon:
        import pyspark

        home = Path(pyspark.__file__).parent
        folder.mkdir()
        environment = {
            **os.environ,
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_PUBLIC_DNS": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(folder / "local"),
            "SPARK_CONF_DIR": str(folder),  # do not use the settings of this machine
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": f"{QUICK} -Djava.io.tmpdir={folder} -Dspark.master.rest.enabled=false",
        }
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, env=environment, start_new_session=True
            )
        return cls(process, folder)

    def wait_for(self, pattern: str) -> str:
        """Wait until the log matches the pattern. Return the first group of the match."""
        end = time.monotonic() + PATIENCE
        while True:
            log = (self.folder / "log").read_text("utf-8", "replace")
            if found := re.search(pattern, log):
                return found[1]
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError(f"Spark did not start: {pattern!r} is not in\n{log[-4000:]}")
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill all its processes and remove their files, as if the machine failed."""
        end = time.monotonic() + PATIENCE
        while (
            pids := _running(self.process.pid)
        ) and time.monotonic() < end:  # processes that start meanwhile are found in the next round
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
        self.process.kill()  # for systems without /proc; executors end with their worker
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def _running(session: int) -> list[int]:
    """Return the processes of a session. It includes a worker's executors and their Python processes."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _parent, _group, session_of_process = stat.read_text("utf-8", "replace").rpartition(")")[2].split()[:4]
            if int(session_of_process) == session and state not in "ZX":
                found.append(int(stat.parent.name))
    return found


@dataclass
class Cluster:
    """A running cluster."""

    url: str
    _workers: list[_Daemon] = field(default_factory=list)

    @property
    def wait_for_all(self) -> dict[str, Any]:
        """Settings of a session whose first task waits until every worker is registered."""
        return {"spark.cores.max": len(self._workers), "spark.scheduler.minRegisteredResourcesRatio": 1.0}

    def kill_worker(self, number: int) -> None:
        """Kill a worker, its executors and their Python processes, and remove their files, as if its machine failed."""
        self._workers[number].kill()

    def pids(self, number: int) -> list[int]:
        """Return the processes of a worker: the worker, its executors and their Python processes."""
        return _running(self._workers[number].process.pid)


@contextmanager
def standalone_cluster(workers: int = 2) -> Iterator[Cluster]:
    """Start a master and workers with one core and one gigabyte each. All processes and files are removed at the end."""
    with tempfile.TemporaryDirectory(prefix="spark-", ignore_cleanup_errors=True) as name, ExitStack() as stack:
        folder = Path(name)
        loopback = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        master = _Daemon.start(folder / "master", "master.Master", *loopback)
        stack.callback(master.kill)
        cluster = Cluster(master.wait_for(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)"))
        master.wait_for("(elected leader)")
        for number in range(workers):
            worker_folder = folder / f"worker{number}"
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(worker_folder / "work"))
            worker = _Daemon.start(worker_folder, "worker.Worker", *loopback, *size, cluster.url)
            stack.callback(worker.kill)
            cluster._workers.append(worker)
        for worker in cluster._workers:
            worker.wait_for("(Successfully registered with master)")
        yield cluster


@contextmanager
def session(master: str = "local[2]", settings: Mapping[str, Any] | None = None) -> Iterator[Any]:
    """Yield a small SparkSession without output, on a cluster's URL or in a JVM of this process. The JVM ends with it.

    A later session in the same JVM would inherit the settings of the first, so each session has its own JVM.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is not None:
        raise RuntimeError("There is already a Spark session. End it first.")
    with tempfile.TemporaryDirectory(prefix="spark-", ignore_cleanup_errors=True) as folder:
        conf = {
            "spark.ui.enabled": False,
            "spark.ui.showConsoleProgress": False,
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "1g",
            "spark.executor.memory": "1g",
            "spark.driver.extraJavaOptions": f"{QUICK} -Djava.io.tmpdir={folder}",
            "spark.executor.extraJavaOptions": f"{QUICK} -Djava.io.tmpdir=.",  # removed with the worker's folder
            "spark.local.dir": folder,
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
            "spark.sql.shuffle.partitions": 4,
            "spark.shuffle.readHostLocalDisk": False,  # workers share no disk, as if they were separate machines
            **(settings or {}),
        }
        builder = SparkSession.builder.master(master).appName("kohort tests")
        for name, value in conf.items():
            builder = builder.config(name, value)
        with ExitStack() as stack:
            stack.callback(_end_jvm)
            patch = stack.enter_context(pytest.MonkeyPatch.context())
            patch.setenv("PYSPARK_PYTHON", sys.executable)
            patch.setenv("SPARK_CONF_DIR", folder)
            patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
            with _stderr_into(Path(folder, "driver.log")):
                spark = builder.getOrCreate()
            stack.callback(spark.stop)
            spark.sparkContext.setLogLevel("ERROR")
            yield spark


@contextmanager
def _stderr_into(path: Path) -> Iterator[None]:
    """Write stderr to a file. Processes that are started meanwhile keep this file as their stderr."""
    kept = os.dup(2)
    try:
        with path.open("wb") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _end_jvm() -> None:
    """End the JVM of this process's sessions. It runs until its stdin is closed."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(PATIENCE)
