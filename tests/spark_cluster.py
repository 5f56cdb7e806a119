"""Starts a real Spark cluster on this machine: a master and workers in separate processes, on loopback and free ports."""

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

PATIENCE = 60  # seconds to wait for a process
SPARK_TESTS = [
    pytest.mark.slow,
    pytest.mark.xdist_group("spark"),  # a process has one session, so one test worker runs all Spark tests
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),  # kohort does not use it
]
QUICK = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData"  # start fast: JVMs of tests run only briefly


def require_spark() -> None:
    """Skip the test if pyspark or Java is not installed."""
    pytest.importorskip("pyspark", reason="needs pyspark: install kohort[spark]")
    if _java() is None:
        pytest.skip("needs Java 17 or later: set JAVA_HOME, or put java on the path")


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=f"{home}/bin" if home else None)


@dataclass
class _Daemon:
    """A master or a worker. It has its own process session, so that all processes that it starts can be found."""

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
            "SPARK_CONF_DIR": str(folder),  # do not use the Spark settings of this machine
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
        """Wait until the log matches the pattern, and return its first group."""
        end = time.monotonic() + PATIENCE
        while True:
            log = (self.folder / "log").read_text("utf-8", "replace")
            if found := re.search(pattern, log):
                return found[1]
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError(
                    f"Spark did not start: its log does not contain {pattern!r}. The end of the log:\n{log[-4000:]}"
                )
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill all processes of the daemon and delete their files, as if the machine had failed."""
        end = time.monotonic() + PATIENCE
        while (pids := _living(self.process.pid)) and time.monotonic() < end:  # repeat: new processes may have started meanwhile
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
        self.process.kill()  # for systems without /proc, where executors end with their worker
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def _living(session: int) -> list[int]:
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
        """Settings of a session whose first task waits until every worker is ready."""
        return {"spark.cores.max": len(self._workers), "spark.scheduler.minRegisteredResourcesRatio": 1.0}

    def kill_worker(self, number: int) -> None:
        """Kill a worker with its executors, their Python processes and their files. It is not restarted."""
        self._workers[number].kill()

    def pids(self, number: int) -> list[int]:
        """Return the processes of a worker: itself, its executors and their Python processes."""
        return _living(self._workers[number].process.pid)


@contextmanager
def standalone_cluster(workers: int = 2) -> Iterator[Cluster]:
    """Start a master and workers with one core and 1 GiB of memory each. At the end, remove all processes and files."""
    with tempfile.TemporaryDirectory(prefix="spark-", ignore_cleanup_errors=True) as name, ExitStack() as stack:
        folder = Path(name)
        loopback = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        master = _Daemon.start(folder / "master", "master.Master", *loopback)
        stack.callback(master.kill)
        cluster = Cluster(master.wait_for(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)"))
        master.wait_for("(elected leader)")
        for number in range(workers):
            home = folder / f"worker{number}"
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(home / "work"))
            worker = _Daemon.start(home, "worker.Worker", *loopback, *size, cluster.url)
            stack.callback(worker.kill)
            cluster._workers.append(worker)
        for worker in cluster._workers:
            worker.wait_for("(Successfully registered with master)")
        yield cluster


@contextmanager
def session(master: str = "local[2]", settings: Mapping[str, Any] | None = None) -> Iterator[Any]:
    """Start a small SparkSession without log output, on a cluster or in a local JVM. The JVM ends with the session.

    Each session has its own JVM, because a later session in the same JVM would inherit the settings of the first.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is not None:
        raise RuntimeError("A Spark session is already running. Stop it first.")
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
            "spark.shuffle.readHostLocalDisk": False,  # workers do not share a disk, like separate machines
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
    """Redirect stderr to a file. Processes that are started meanwhile keep the file as their stderr."""
    kept = os.dup(2)
    try:
        with path.open("wb") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _end_jvm() -> None:
    """End the JVM of this process's sessions by closing its stdin."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(PATIENCE)
