"""`make bench-identity`: same job, same release, whatever ran it: four methods, several k, with and without l.

Memory, disk in parts, Spark in this process and a standalone Spark cluster of two workers. Two releases are the same if they are
equal multisets of (quasi-identifiers as they were, as they are published, sensitive values): here, if their digests are equal.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from tests.spark_cluster import session, standalone_cluster

import kohort
from kohort import datasets
from kohort.engines.base import AnyEngine
from kohort.engines.disk.engine import DiskEngine
from kohort.engines.memory import MemoryEngine
from kohort.engines.spark.engine import SparkEngine
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.testing.engine_contracts import released, with_originals

METHODS = ("mondrian", "k-member", "gccg", "auto")
KS = (2, 10, 100)
PROMISES: tuple[dict[str, Any], ...] = ({}, {"l": 3})
BLOCK, ROWS_AT_ONCE = 2_000, 4_000
GENERATED_ROWS = 20_000

Jobs = dict[str, tuple[Path, Job]]
Make = Callable[[Job], AnyEngine]


def main() -> None:
    """Print how many releases of each engine are those of memory, and which are not."""
    with tempfile.TemporaryDirectory(prefix="kohort-identity-") as name:
        jobs = dict(grid(Path(name)))
        print(f"kohort {kohort.__version__}: {len(jobs)} jobs, parts of at most {ROWS_AT_ONCE:,} rows, blocks of {BLOCK:,}\n")
        print("| engine | the same | s |\n|---|---|---|")
        in_memory = digests("memory", jobs, lambda job: MemoryEngine(job, Progress(2)))
        report("disk", jobs, lambda job: DiskEngine(job, Progress(2), ROWS_AT_ONCE), in_memory)
        with session("local[2]"):
            report("spark, local[2]", jobs, spark, in_memory)
        with standalone_cluster(workers=2) as cluster, session(cluster.url, cluster.wait_for_all):
            report("spark, standalone", jobs, spark, in_memory)


def spark(job: Job) -> AnyEngine:
    """In the session that is at work."""
    return SparkEngine(job, Progress(1), ROWS_AT_ONCE)


def grid(folder: Path) -> Iterator[tuple[str, tuple[Path, Job]]]:
    """Every job by name, and where its table lies."""
    for table, source, columns in tables(folder):
        for method in METHODS:
            for k in KS:
                for promised in PROMISES:
                    job = Job.build(columns, method=method, k=k, block=BLOCK, seed=7, **promised)
                    yield f"{table}, {method}, k={k}{', l=3' if promised else ''}", (source, job)


def tables(folder: Path) -> Iterator[tuple[str, Path, Job]]:
    """Adult where it is at hand, and a generated table; each shows in its release what every cell was."""
    quasi = ["q1", "q2", "q3", "q4"]
    made = {"generated": (datasets.census(GENERATED_ROWS, quasi=4), Job.build(quasi=quasi, sensitive="s1"))}
    if os.environ.get("KOHORT_DATA"):
        sample = datasets.adult(datasets.ADULT_B, ["occupation"])
        made["Adult"] = sample.table, sample.job
    for name, (table, job) in made.items():
        shown, also = with_originals(table, [name for name, column in job.columns.items() if column.role == "quasi"])
        pq.write_table(shown, folder / f"{name}.parquet")
        yield name, folder / f"{name}.parquet", Job.build(job, **also)


def digests(engine: str, jobs: Jobs, make: Make) -> dict[str, str]:
    """Of every release."""
    began = time.perf_counter()
    found = {name: digest(make(job), source) for name, (source, job) in jobs.items()}
    print(f"| {engine} | {len(found)} made | {time.perf_counter() - began:.0f} |", flush=True)
    return found


def report(engine: str, jobs: Jobs, make: Make, expected: dict[str, str]) -> None:
    """How many releases are the expected ones; the names of the others."""
    began = time.perf_counter()
    wrong = [name for name, (source, job) in jobs.items() if digest(make(job), source) != expected[name]]
    print(f"| {engine} | {len(jobs) - len(wrong)} of {len(jobs)} | {time.perf_counter() - began:.0f} |", flush=True)
    for name in wrong:
        print(f"  not the same: {name}", flush=True)


def digest(engine: AnyEngine, source: Path) -> str:
    """Of a release's rows in any order."""
    made = released(engine, str(source))
    if isinstance(made, kohort.KohortError):
        raise made
    rows = sorted(f"{many} {row!r}" for row, many in made[0].items())
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


if __name__ == "__main__":
    main()
