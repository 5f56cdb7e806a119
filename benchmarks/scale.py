"""`make bench-scale ROWS=100000000`: anonymize and audit a table larger than memory on one machine.

Measure the peak memory and the CPU seconds for 1 million rows, then for ten times as many, up to ROWS. Each run is a new process.
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
    """Print one line per table size."""
    cores = len(os.sched_getaffinity(0))
    print(f"kohort {kohort.__version__}, {cores} cores, --engine disk --memory {MEMORY}, mondrian, k=10, {QUASI} columns\n")
    print(f"| rows | peak memory | CPU s | wall s | {' | '.join(f'{step} CPU s' for step in STEPS)} | CPU s per M rows |")
    print("|---" * (5 + len(STEPS)) + "|")
    with tempfile.TemporaryDirectory(prefix="kohort-bench-") as name:
        folder, rows = Path(name), 1_000_000
        anonymized(folder, AT_ONCE // 100)  # compile the kernels before measuring
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
finally:  # the usage that the system reports for children includes that of the parent at the start
    peak = re.search(r"VmHWM:\\s+([0-9]+) kB", Path("/proc/self/status").read_text())[1]
    print(peak, time.process_time(), file=sys.stderr)
"""


def anonymized(folder: Path, rows: int) -> tuple[float, float, dict[str, Any]]:
    """Run the command. Return its peak memory in bytes, its CPU seconds and its JSON output."""
    source, target = folder / "census.parquet", folder / "release.parquet"
    write(source, rows)
    quasi = ",".join(f"q{number}" for number in range(1, QUASI + 1))
    settings = ["--quasi", quasi, "--sensitive", "s1", "--k", "10", "--method", "mondrian", "--seed", "7"]
    engine = ["--engine", "disk", "--memory", MEMORY, "--force", "--json"]
    command = [sys.executable, "-c", RUN, "anonymize", str(source), "-o", str(target), *settings, *engine]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    peak, seconds = run.stderr.split()[-2:]
    return 1024 * float(peak), float(seconds), json.loads(run.stdout)


def write(path: Path, rows: int) -> None:
    """Write the generated table in parts."""
    with pq.ParquetWriter(path, datasets.census(1, QUASI).schema) as writer:
        for first in range(0, rows, AT_ONCE):
            writer.write_table(datasets.census(min(AT_ONCE, rows - first), QUASI, first=first))


if __name__ == "__main__":
    main()
