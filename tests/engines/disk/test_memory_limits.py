"""Memory limits: how they are written, and that a run stays within its limit."""

from __future__ import annotations

import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from kohort import datasets
from kohort.errors import RequestError
from kohort.job.job import Job


def test_memory_setting_accepts_sizes_and_refuses_other_texts():
    assert Job.build(quasi="a", memory="1.5GiB").memory_bytes == 3 << 29
    assert Job.build(quasi="a", memory=1 << 30).memory_bytes == 1 << 30
    for wrong in ("1 potato", "", "10MiB", -5):
        with pytest.raises(RequestError, match="memory must be"):
            Job.build(quasi="a", memory=wrong)


MEASURED_RUN = """
import re
from pathlib import Path
from kohort.__main__ import main
try:
    main()
finally:  # not the children's peak that the system reports to the parent: it starts at the parent's own memory
    print(re.search(r"VmHWM:\\s+([0-9]+) kB", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc: Linux")
def test_disk_engine_stays_within_the_memory_limit(tmp_path):
    """Measure the peak memory of the whole process. The table with its codes is larger than the limit."""
    path = tmp_path / "t.parquet"
    with pq.ParquetWriter(path, datasets.census(1, quasi=8).schema) as writer:
        for first in range(0, 6_000_000, 1_000_000):
            writer.write_table(datasets.census(1_000_000, quasi=8, first=first))
    quasi = ",".join(f"q{number}" for number in range(1, 9))
    flags = ["--quasi", quasi, "--sensitive", "s1", "--k", "10", "--method", "mondrian", "--memory", "640MiB", "--engine", "disk"]
    command = [sys.executable, "-c", MEASURED_RUN, "anonymize", str(path), "-o", str(tmp_path / "out.parquet"), *flags]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    assert int(run.stdout.splitlines()[-1]) <= 640 * 1024
    assert pq.read_metadata(tmp_path / "out.parquet").num_rows == 6_000_000
