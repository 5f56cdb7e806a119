"""`python benchmarks/against.py COMMIT [ROWS]`: compare the speed of partitioning a table (k only) with another commit.

Both versions run alternately, each time in a new process, so that other load on the machine affects both. The smallest number of
CPU seconds counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as pq

from kohort import datasets

RUNS = 9
HERE = Path(__file__).resolve().parents[1]
MEASURE = """
import sys, time
from kohort.engines.memory import MemoryEngine
from kohort import Job
from kohort.progress import Progress
job = Job.build(quasi=[f"q{number}" for number in range(1, 10)], sensitive="s1", k=10, seed=7)
engine = MemoryEngine(job, Progress(1))
if hasattr(engine, "read"):  # older commits, whose steps return nothing
    engine.read(sys.argv[1])
    engine.encode()
    step = engine.partition
else:
    encoded = engine.encode(sys.argv[1])
    step = lambda: engine.partition(encoded)
step()
before = time.process_time()
step()
print(time.process_time() - before)
"""


def main(commit: str, rows: int) -> None:
    """Print the smallest number of CPU seconds of both versions, and their ratio."""
    with tempfile.TemporaryDirectory(prefix="kohort-against-") as name:
        folder = Path(name)
        other, table = folder / "other", folder / "census.parquet"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(other), commit], cwd=HERE, check=True)
        try:
            pq.write_table(datasets.census(rows), table)
            seconds: dict[str, list[float]] = {"this": [], commit: []}
            for _ in range(RUNS):
                for which, checkout in (("this", HERE), (commit, other)):
                    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
                    ran = subprocess.run(
                        [sys.executable, "-c", MEASURE, str(table)], env=environment, check=True, capture_output=True, text=True
                    )
                    seconds[which].append(float(ran.stdout))
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(other)], cwd=HERE, check=True)
    for which, spent in seconds.items():
        print(f"{which:<12} {min(spent):.3f} CPU s of {RUNS} runs (median {sorted(spent)[RUNS // 2]:.3f})")
    print(f"ratio        {min(seconds['this']) / min(seconds[commit]):.3f}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3_000_000)
