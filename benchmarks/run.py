"""`make bench`: measure all speed targets in one run, as CPU seconds and ratios to the target (above 1 is better).

Nothing here is a test: on a busy machine, the ratios are smaller. ROWS=1000000 makes it quick.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import kohort
from benchmarks.least_loss import main as least_loss
from benchmarks.methods import main as every_method
from benchmarks.methods import prepared  # has partitioned once, so that all kernels are compiled
from benchmarks.peers import main as peers
from benchmarks.utility import main as utility
from kohort import datasets
from kohort.engines.base import run
from kohort.engines.memory import MemoryEngine
from kohort.errors import RequestError
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.tables import tables

ROWS = int(os.environ.get("ROWS", "10_000_000"))
PROMISE_ROWS = min(ROWS, 3_000_000)
KOHORT = [sys.executable, "-m", "kohort"]


def main() -> None:
    """Print one line per target."""
    print(f"kohort {kohort.__version__}, {len(os.sched_getaffinity(0))} cores\n")
    print(f"{'what':<58} {'reached':>16} {'target':>16} {'ratio':>7}")
    with tempfile.TemporaryDirectory(prefix="kohort-bench-") as name:
        folder = Path(name)
        start_up(folder)
        first_look(folder)
        adult(folder)
        promises()
        any_size(folder)
        methods()
        least_loss()
        peers()
        utility()


def line(what: str, reached: float, bar: float, unit: str, *, more_is_better: bool = False) -> None:
    ratio = reached / bar if more_is_better else bar / reached
    print(f"{what:<58} {reached:>10.3f} {unit:<5} {bar:>10.3f} {unit:<5} {ratio:>7.2f}", flush=True)


def cpu(call: Callable[[], object]) -> float:
    """Return the CPU seconds of a call, for all threads of this process."""
    before = time.process_time()
    call()
    return time.process_time() - before


def child(*command: str, **environment: str) -> tuple[float, float]:
    """Return the CPU and wall seconds of a command."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([*KOHORT, *command], check=True, capture_output=True, env={**os.environ, **environment})
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def start_up(folder: Path) -> None:
    line("kohort --help, CPU (best of 5)", min(child("--help")[0] for _ in range(5)), 0.3, "s")
    fresh = child("demo", "--folder", str(folder / "demo"), NUMBA_CACHE_DIR=str(folder / "cache"))
    line("first demo, nothing compiled yet, CPU", fresh[0], 60, "s")


def first_look(folder: Path) -> None:
    """Inspect a typical file: text, nearly unique ids and addresses, dates, sentences, and numbers with few or many values."""
    rows = 1_000_000
    number = np.arange(rows)
    patients = datasets.hospital(20_000).table.take(pa.array(number * 7_919 % 20_000))
    day = np.datetime64("2015-01-01") + number * 31 % 3_000
    moment = np.datetime64("2015-01-01T00:00:00") + number * 104_729 % 10**8
    columns = {
        **dict(zip(patients.column_names, patients.columns, strict=True)),
        "patient_id": pa.array([f"P{at:08d}" for at in range(rows)]),
        "email": pa.array([f"user{at * 7_919 % rows}@mail.example" for at in range(rows)]),
        "amount": pa.array([f"{at * 104_729 % 10**7 / 100:.2f}" for at in range(rows)]),
        "admitted": pa.array(np.datetime_as_string(day).tolist()),
        "seen_at": pa.array(np.datetime_as_string(moment).tolist()),
        "note": pa.array([f"seen by doctor number {at % 5_000} on the ward" for at in range(rows)]),
        **{f"lab{spread}": pa.array(number * 31 % spread) for spread in (2, 5, 50, 500, 5_000, 100_000)},
    }
    source = folder / "people.csv"
    source.touch()
    table = pa.table(columns)
    tables.batches_to_file(table.to_batches(max_chunksize=1 << 16), table.schema, source, tables.CsvFormat())
    spent = child("inspect", str(source), "-o", str(folder / "people.toml"))
    line(f"inspect {rows // 10**6} M rows x {len(columns)} columns of CSV, CPU", spent[0], 10, "s")


def adult(folder: Path) -> None:
    try:
        sample = datasets.adult()
    except RequestError as error:
        print(f"Adult was not measured. {error}")
        return
    job = Job.build(sample.job, k=10, method="mondrian")
    engine = prepared(sample.table, job)
    line("Adult A, k=10, partition, CPU (best of 5)", min(cpu(engine.partition) for _ in range(5)), 0.1, "s")
    job.save(folder / "adult.toml")
    command = ("anonymize", str(datasets.folder() / "adult" / "adult.csv.gz"), "-o", str(folder / "adult.csv"))
    walls = [child(*command, "--job", str(folder / "adult.toml"), "--method", "mondrian", "--force")[1] for _ in range(3)]
    line("Adult A, kohort anonymize with audit, warm, wall (best of 3)", min(walls), 4, "s")
    relaxed = prepared(sample.table, Job.build(job, option={"relaxed": True}))
    for name, made in (("strict", engine), ("relaxed", relaxed)):
        result = made.publish().result
        print(f"{f'  loss, {name} Mondrian, Adult A, k=10':<58} leaf {result.loss.leaf:.4f}, {result.clusters:,} clusters")


def methods() -> None:
    """Measure the speed of methods, and print the table of all methods."""
    table = datasets.census(min(ROWS, 1_000_000))
    for name in ("k-member", "gccg"):
        job = Job.build(quasi=[f"q{number}" for number in range(1, 10)], drop="s1", k=10, seed=7, method=name)
        engine = prepared(table, job)
        line(f"{table.num_rows / 1e6:g} M rows x 9, k=10, {name}, CPU", cpu(engine.partition), 60, "s")
    try:
        sample = datasets.adult()
    except RequestError:
        return
    bars = {"k-member": 2, "kaca": 5, "gccg": 5, "oka": 5, "kmeans-adjusted": 20, "kmeans-filled": 20, "kmeans-then-adjusted": 20}
    spent = {}
    for name, bar in bars.items():
        engine = prepared(sample.table, Job.build(sample.job, k=10, seed=7, method=name))
        spent[name] = min(cpu(engine.partition) for _ in range(3 if bar < 20 else 1))
        line(f"Adult A, k=10, {name}, CPU", spent[name], bar, "s")
    engine = prepared(sample.table, Job.build(sample.job, k=10, seed=7, method="gccg", option={"parts": 4}))
    in_parts = min(cpu(engine.partition) for _ in range(3))
    line("Adult A, k=10, gccg in 4 parts, divided by 1 part, CPU (best of 3)", in_parts / spent["gccg"], 1 / 3, "x")
    every_method()


PROMISES: tuple[dict[str, Any], ...] = (
    {"l": 3}, {"alpha": 0.5}, {"entropy_l": 3}, {"recursive_l": (3, 2)}, {"t": 0.3}, {"beta": 2}, {"delta": 2},
)  # fmt: skip


def promises() -> None:
    """Measure the time and the loss of promises in addition to k."""
    table = datasets.census(PROMISE_ROWS)
    quasi = [f"q{number}" for number in range(1, 10)]
    base = Job.build(quasi=quasi, sensitive="s1", k=10, seed=7, method="mondrian")
    only_k, diverse = (prepared(table, Job.build(base, **promise)) for promise in ({}, {"l": 3}))
    spent: list[list[float]] = [[], []]
    for _ in range(9):  # alternately, so that other load on the machine affects both
        for seconds, engine in zip(spent, (only_k, diverse), strict=True):
            seconds.append(cpu(engine.partition))
    plain, guarded = map(min, spent)
    line(f"{PROMISE_ROWS / 1e6:g} M rows, partition with l=3, divided by k only, CPU (best of 9)", guarded / plain, 3, "x")
    for promise in PROMISES[1:]:
        engine = prepared(table, Job.build(base, **promise))
        print(f"{'  the same with ' + notes(promise):<58} {min(cpu(engine.partition) for _ in range(3)) / plain:>10.3f} x")
    try:
        sample = datasets.adult()
    except RequestError:
        return
    quasi = [name for name in sample.job.names("quasi") if name != "occupation"]
    drop = [name for name in sample.table.column_names if name not in (*quasi, "occupation")]
    for promise in ({}, {"l": 3}, {"entropy_l": 3}, {"alpha": 0.5}, {"t": 0.3}):
        job = Job.build(sample.job, quasi=quasi, sensitive="occupation", drop=drop, k=5, method="mondrian", **promise)
        engine = prepared(sample.table, job)
        least = min(cpu(engine.partition) for _ in range(5))
        result = engine.publish().result
        figures = f"leaf {result.loss.leaf:.4f}, {len(result.class_sizes):,} published groups, {least:.3f} s"
        print(f"{f'  Adult, 8 columns, occupation, k=5, {notes(promise)}':<58} {figures}")


def notes(promise: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in promise.items()) or "k only"


def any_size(folder: Path) -> None:
    source, target = folder / "census.parquet", folder / "release.parquet"
    pq.write_table(datasets.census(ROWS), source)
    quasi = [f"q{number}" for number in range(1, 10)]
    job = Job.build(quasi=quasi, sensitive="s1", k=10, seed=7, method="mondrian")
    progress = Progress()
    run(MemoryEngine(job, progress), source).release_file(target, force=True)
    spent, million = progress.cpu_seconds, ROWS / 1e6
    for what, seconds, bar in (
        ("read and encode from Parquet", spent["read"] + spent["encode"], 1),
        ("partition", spent["partition"], 3),
        ("publish to Parquet", spent["publish"], 1),
        ("audit of the written file", spent["audit"], 1),
    ):
        line(f"{million:g} M rows x 9 columns: {what}, rows per CPU s", million / seconds, bar, "M", more_is_better=True)
    print(f"\nwall seconds by step: { {step: round(seconds, 2) for step, seconds in progress.seconds.items()} }")
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB")


if __name__ == "__main__":
    main()
