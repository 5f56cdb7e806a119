"""`make bench-scale ROWS=100000000`: one machine, a table larger than memory, end to end with its audit.

1 M rows, then ten times as many until ROWS, each in a process of its own whose peak memory and CPU seconds are measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import kohort
from kohort import datasets

ROWS = int(os.environ.get("ROWS", "10_000_000"))
MEMORY = os.environ.get("MEMORY", "2GiB")
QUASI = 8
AT_ONCE = 1_000_000
STEPS = ("read", "encode", "partition", "publish", "audit")


def main() -> None:
    """Print one line per size."""
    cores = len(os.sched_getaffinity(0))
    print(f"kohort {kohort.__version__}, {cores} cores, --engine disk --memory {MEMORY}, mondrian, k=10, {QUASI} columns\n")
    print(f"| rows | peak memory | CPU s | wall s | {' | '.join(f'{step} CPU s' for step in STEPS)} | CPU s per M rows |")
    print("|---" * (5 + len(STEPS)) + "|")
    with tempfile.TemporaryDirectory(prefix="kohort-bench-") as name:
        folder, rows = Path(name), 1_000_000
        anonymized(folder, AT_ONCE // 100)  # kernels are compiled once
        while rows <= ROWS:
            peak, seconds, summary = anonymized(folder, rows)
            by_step = " | ".join(f"{summary['cpu_seconds'].get(step, 0):.1f}" for step in STEPS)
            figures = f"{peak / 2**30:.2f} GiB | {seconds:.1f} | {sum(summary['seconds'].values()):.1f}"
            print(f"| {rows:,} | {figures} | {by_step} | {seconds / rows * 1e6:.2f} |", flush=True)
            rows *= 10


RUN = """
import re, sys, time
from pathlib import Path
from kohort.__main__ import main
try:
    main()
finally:  # not what the system says of children: that begins with their parent's
    peak = re.search(r"VmHWM:\\s+([0-9]+) kB", Path("/proc/self/status").read_text())[1]
    print(peak, time.process_time(), file=sys.stderr)
"""


def anonymized(folder: Path, rows: int) -> tuple[float, float, dict[str, Any]]:
    """The most memory in bytes and the processor's seconds that a run of the command took, and what it said."""
    source, target = folder / "census.parquet", folder / "release.parquet"
    write(source, rows)
    quasi = ",".join(f"q{number}" for number in range(1, QUASI + 1))
    asked = ["--quasi", quasi, "--sensitive", "s1", "--k", "10", "--method", "mondrian", "--seed", "7"]
    engine = ["--engine", "disk", "--memory", MEMORY, "--force", "--json"]
    command = [sys.executable, "-c", RUN, "anonymize", str(source), "-o", str(target), *asked, *engine]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    peak, seconds = run.stderr.split()[-2:]
    return 1024 * float(peak), float(seconds), json.loads(run.stdout)


def write(path: Path, rows: int) -> None:
    """The generated table, piece by piece."""
    with pq.ParquetWriter(path, datasets.census(1, QUASI).schema) as writer:
        for first in range(0, rows, AT_ONCE):
            writer.write_table(datasets.census(min(AT_ONCE, rows - first), QUASI, first=first))


if __name__ == "__main__":
    main()
