"""Which engine is chosen for a table."""

from __future__ import annotations

import pyarrow.parquet as pq

from kohort import datasets
from kohort.engines.choose import engine_for
from kohort.engines.disk.engine import DiskEngine
from kohort.engines.memory import MemoryEngine
from kohort.job.job import Job
from kohort.progress import Progress

# --- chosen by itself


def test_a_table_that_would_not_fit_goes_to_disk_and_that_is_said(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(datasets.census(4_000_000, quasi=3), path)
    said: list[str] = []
    small = Job.build(quasi=["q1", "q2", "q3"], sensitive="s1", memory="512MiB")
    large = Job.build(small, memory="4GiB")
    assert isinstance(engine_for(small, path, Progress(1, said.append)), DiskEngine)
    assert "(--memory): its rows stay on disk" in said[0]
    assert isinstance(engine_for(large, path, Progress(1, said.append)), MemoryEngine)
    assert len(said) == 1
