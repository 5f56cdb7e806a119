"""Every method on UCI Adult, whole table, in one run: what it loses, how long it takes, whether its file is k-anonymous.

`make bench` prints it after the speed bars; `python benchmarks/methods.py` prints it alone, as the table of docs/methods.md.
"""

from __future__ import annotations

import time
from typing import Any

from kohort import datasets
from kohort.algorithms import METHODS
from kohort.engines.memory import MemoryEngine
from kohort.job import Job
from kohort.progress import Progress

VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "mondrian": ({"relaxed": True},),
    "gccg": ({"parts": 4},),
    "kaca": ({"start": "records"},),
    "kmeans-adjusted": ({"features": "all"},),
    "kmeans-filled": ({"features": "all"},),
    "kmeans-then-adjusted": ({"features": "all"},),
    "oka": ({"features": "all"},),
}
SETS = {"A": (datasets.ADULT_A, ()), "B": (datasets.ADULT_B, ("workclass",))}
HEAD = ("method", "leaf", "Total-IL", "C_DM", "C_AVG", "square error", "clusters", "classes", "smallest class", "CPU s")


def main(names: tuple[str, ...] = tuple(METHODS)) -> None:
    """Print one table for each set of quasi-identifiers and each k."""
    for which, (quasi, sensitive) in SETS.items():
        sample = datasets.adult(quasi, sensitive)
        for k in (5, 10):
            print(f"\n**Adult {which}, k={k}**, {len(quasi)} quasi-identifiers, {sample.table.num_rows:,} rows\n")
            print("| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD))
            for name in names:
                for option in ({}, *VARIANTS.get(name, ())):
                    if "features" not in option or sensitive:
                        print(row(sample, Job.build(sample.job, k=k, method=name, option=option, seed=7)), flush=True)


def row(sample: datasets.Sample, job: Job) -> str:
    """One method's line; CPU seconds of the partition alone, compiled before."""
    engine = MemoryEngine(job, Progress(1))
    engine.read(sample.table)
    engine.encode()
    warm_up(job)
    started = time.process_time()
    engine.partition()
    seconds = time.process_time() - started
    made = engine.publish()
    published = engine.release_table()[0].to_pandas()[job.names("quasi")]
    smallest = published.value_counts(dropna=False).min()
    loss, options = made.loss, ", ".join(f"{name}={value}" for name, value in job.option.items())
    name = f"`{job.method}`" + (f" {options}" if options else "")
    return (
        f"| {name} | {loss.leaf:.4f} | {loss.total_il:,.0f} | {loss.dm:,} | {loss.cavg:.2f} | {loss.square_error:,.0f} "
        f"| {made.clusters:,} | {len(made.class_sizes):,} | {smallest} | {seconds:.2f} |"
    )


def warm_up(job: Job) -> None:
    """Compile what the method needs, on a table too small to matter."""
    sample = datasets.hospital(300)
    engine = MemoryEngine(Job.build(sample.job, method=job.method, option=job.option, seed=7), Progress(1))
    engine.read(sample.table)
    engine.encode()
    engine.partition()


if __name__ == "__main__":
    main()
