"""Run every method on the whole UCI Adult table: its loss, its time, and whether its release is k-anonymous.

`make bench` prints it after the speed bars; `python -m benchmarks.methods` prints it alone, as the
table of docs/concepts/methods.md.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from kohort import datasets
from kohort.encoding import encode as encoding
from kohort.encoding.points import Points
from kohort.engines.memory import MemoryEncoded, MemoryEngine, MemoryPartition, MemoryPublication
from kohort.errors import PromiseError
from kohort.job.job import Job
from kohort.methods import METHODS
from kohort.progress import Progress
from kohort.schema import columns as schema

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
HEAD = (
    "method",
    "leaf",
    "Total-IL",
    "C_DM",
    "C_AVG",
    "square error",
    "groups made",
    "groups published",
    "smallest group",
    "CPU s",
)


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
    """Return the line of one method. CPU seconds are those of the partition, without the time to compile."""
    warm_up(job)
    engine = MemoryEngine(job, Progress(1))
    encoded = engine.encode(sample.table)
    started = time.process_time()
    groups = engine.partition(encoded)
    seconds = time.process_time() - started
    publication = engine.publish(groups)
    made, published = publication.result, publication.release_table()[0].to_pandas()[job.names("quasi")].astype(str)
    smallest = published.value_counts(dropna=False).min()
    loss, options = made.loss, ", ".join(f"{name}={value}" for name, value in job.option.items())
    name = f"`{job.method}`" + (f" {options}" if options else "")
    return (
        f"| {name} | {loss.leaf:.4f} | {loss.total_il:,.0f} | {loss.dm:,} | {loss.cavg:.2f} | {loss.square_error:,.0f} "
        f"| {made.clusters:,} | {len(made.class_sizes):,} | {smallest} | {seconds:.2f} |"
    )


@dataclass(frozen=True)
class Prepared:
    """A table that was partitioned once, so that all kernels are compiled."""

    engine: MemoryEngine
    encoded: MemoryEncoded
    made: MemoryPartition

    def partition(self) -> MemoryPartition:
        """Partition the table again."""
        return self.engine.partition(self.encoded)

    def publish(self) -> MemoryPublication:
        return self.engine.publish(self.made)


def prepared(table: pa.Table, job: Job) -> Prepared:
    """Encode and partition a table."""
    engine = MemoryEngine(job, Progress(1))
    encoded = engine.encode(table)
    return Prepared(engine, encoded, engine.partition(encoded))


def warm_up(job: Job) -> None:
    """Compile the kernels of the method with a very small table."""
    sample = datasets.hospital(300)
    prepared(sample.table, Job.build(sample.job, method=job.method, option=job.option, seed=7))


def against_the_best(many: int = 200, rows: int = 10, k: int = 3) -> None:
    """Print the Total-IL of each method divided by the smallest Total-IL of any partition, for small random tables."""
    print(
        f"\n**{many} random tables of {rows} rows, k={k}**\n\n| method | Total-IL / least, mean | found the best |\n|---|---|---|"
    )
    rng = np.random.default_rng(1)
    tree = [(letter, group, "*") for group, letters in (("x", "abc"), ("y", "def")) for letter in letters]
    made = [
        pa.table(
            {
                "n1": rng.integers(0, 30, rows),
                "n2": rng.integers(0, 8, rows),
                "c1": rng.choice(list("abcdef"), rows),
                "c2": rng.choice(["p", "q", "r"], rows),
            }
        )
        for _ in range(many)
    ]
    request = Job.build(quasi=["n1", "n2", "c1", "c2"], hierarchy={"c1": tree}, k=k, seed=7)
    least = [least_loss(encoding.encode(table, schema.resolve(request.columns, table)), k) for table in made]
    for name in METHODS:
        ratios, refused = [], 0
        for table, best in zip(made, least, strict=True):
            try:
                ratios.append(prepared(table, Job.build(request, method=name)).publish().result.loss.total_il / best)
            except PromiseError:
                refused += 1
        note = f" ({refused} tables refused)" if refused else ""
        print(f"| `{name}`{note} | {np.mean(ratios):.3f} | {np.mean(np.array(ratios) < 1 + 1e-9):.0%} |", flush=True)


def least_loss(points: Points, k: int) -> float:
    """Return the smallest Total-IL of all partitions into groups of k to 2k-1 rows, by trying all of them."""
    loss: dict[int, float] = {}
    for size in range(k, 2 * k):
        for group in combinations(range(points.rows), size):
            codes = points.codes[list(group)].astype(np.int64)
            low, high = codes.min(axis=0), codes.max(axis=0)
            widths = (axis.width(low[[j]], high[[j]], "height", None)[0] for j, axis in enumerate(points.axes))
            loss[sum(1 << row for row in group)] = size * float(sum(widths))
    best = {0: 0.0}
    for mask in sorted(range(1 << points.rows), key=int.bit_count):
        lowest = mask & -mask
        found = [
            best[mask ^ group] + cost
            for group, cost in loss.items()
            if group & lowest and group & mask == group and mask ^ group in best
        ]
        if found:
            best[mask] = min(found)
    return best[(1 << points.rows) - 1]


if __name__ == "__main__":
    main()
    against_the_best()
