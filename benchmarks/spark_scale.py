"""`make bench-spark ROWS=20000000`: anonymize and audit a table on a standalone cluster of two workers on this machine.

Measure the wall and CPU seconds of every step. CPU seconds are those of all processes of the cluster and of the driver's JVM.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.spark_cluster import session, standalone_cluster

import kohort
from benchmarks.scale import QUASI, write
from kohort.engines.spark.engine import SparkEngine
from kohort.job.job import Job
from kohort.progress import Progress

ROWS = int(os.environ.get("ROWS", "2_000_000"))
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print one line per step."""
    job = Job.build(quasi=[f"q{number}" for number in range(1, QUASI + 1)], sensitive="s1", k=10, method="mondrian", seed=7)
    print(f"kohort {kohort.__version__}, {ROWS:,} rows, {QUASI} quasi-identifiers, mondrian, k=10, two workers of one core\n")
    with tempfile.TemporaryDirectory(prefix="kohort-bench-") as name:
        source, target = Path(name) / "census.parquet", Path(name) / "release.parquet"
        write(source, ROWS)
        settings: dict[str, Any] = {"spark.sql.shuffle.partitions": 16, "spark.local.dir": name}
        with standalone_cluster(workers=2) as cluster, session(cluster.url, {**cluster.wait_for_all, **settings}):
            engine = SparkEngine(job, Progress(1))
            print("| step | wall s | CPU s | CPU s per M rows |\n|---|---|---|---|")
            steps: dict[str, Callable[[Any], Any]] = {
                "read and encode": engine.encode,
                "partition": engine.partition,
                "measure loss": engine.publish,
                "write and audit": lambda publication: publication.release_file(target, force=False),
            }
            made: Any = str(source)
            for step, run in steps.items():
                began, before = time.perf_counter(), cpu_seconds()
                made = run(made)
                wall, spent = time.perf_counter() - began, cpu_seconds() - before
                print(f"| {step} | {wall:.1f} | {spent:.1f} | {spent / ROWS * 1e6:.2f} |", flush=True)
            print(f"\naudit passed: {made.passed}, {made.rows:,} rows in {made.classes:,} groups, k={made.k}")
            print(f"driver, Python: {peak(os.getpid()) / 2**20:.0f} MiB peak memory")


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and all processes that it started, such as the driver's JVM and the workers."""
    parent_of, ticks = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text("utf-8", "replace").rpartition(")")[2].split()
            parent_of[int(stat.parent.name)] = int(fields[1])
            ticks[int(stat.parent.name)] = sum(map(int, fields[11:15]))  # including children that have ended
    ours = {os.getpid()}
    while more := {pid for pid, parent in parent_of.items() if parent in ours} - ours:
        ours |= more
    return sum(ticks[pid] for pid in ours) / TICKS


def peak(pid: int) -> int:
    """Return the peak memory of a process in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("VmHWM")))


if __name__ == "__main__":
    main()
