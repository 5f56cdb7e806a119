"""`make bench-identity`: check that every engine makes the same release of a job: four methods, several k, with and without l.

The engines are memory, disk (in parts), Spark in this process, and a standalone Spark cluster of two workers. Two releases are
the same if they have the same rows, in any order: original quasi-identifiers, published quasi-identifiers and sensitive values.
Here, their digests are compared.
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
    """Print how many releases of each engine equal those of the memory engine, and which do not."""
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
    """Return a Spark engine in the current session."""
    return SparkEngine(job, Progress(1), ROWS_AT_ONCE)


def grid(folder: Path) -> Iterator[tuple[str, tuple[Path, Job]]]:
    """Yield every job by name, with the path of its table."""
    for table, source, columns in tables(folder):
        for method in METHODS:
            for k in KS:
                for promised in PROMISES:
                    job = Job.build(columns, method=method, k=k, block=BLOCK, seed=7, **promised)
                    yield f"{table}, {method}, k={k}{', l=3' if promised else ''}", (source, job)


def tables(folder: Path) -> Iterator[tuple[str, Path, Job]]:
    """Yield Adult, if KOHORT_DATA is set, and a generated table. Their releases also contain the original cells."""
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
    """Return the digest of every release."""
    began = time.perf_counter()
    found = {name: digest(make(job), source) for name, (source, job) in jobs.items()}
    print(f"| {engine} | {len(found)} made | {time.perf_counter() - began:.0f} |", flush=True)
    return found


def report(engine: str, jobs: Jobs, make: Make, expected: dict[str, str]) -> None:
    """Print how many releases are the expected ones, and the names of the others."""
    began = time.perf_counter()
    wrong = [name for name, (source, job) in jobs.items() if digest(make(job), source) != expected[name]]
    print(f"| {engine} | {len(jobs) - len(wrong)} of {len(jobs)} | {time.perf_counter() - began:.0f} |", flush=True)
    for name in wrong:
        print(f"  not the same: {name}", flush=True)


def digest(engine: AnyEngine, source: Path) -> str:
    """Return a digest of a release's rows that does not depend on their order."""
    made = released(engine, str(source))
    if isinstance(made, kohort.KohortError):
        raise made
    rows = sorted(f"{many} {row!r}" for row, many in made[0].items())
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


if __name__ == "__main__":
    main()
