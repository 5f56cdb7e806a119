"""The choice of the engine for a table."""

from __future__ import annotations

import pyarrow.parquet as pq

from kohort import datasets
from kohort.engines.choose import engine_for
from kohort.engines.disk.engine import DiskEngine
from kohort.engines.memory import MemoryEngine
from kohort.job.job import Job
from kohort.progress import Progress


def test_auto_takes_the_disk_engine_for_a_table_above_the_memory_limit_and_notes_it(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(datasets.census(4_000_000, quasi=3), path)
    notes: list[str] = []
    small = Job.build(quasi=["q1", "q2", "q3"], sensitive="s1", memory="512MiB")
    large = Job.build(small, memory="4GiB")
    assert isinstance(engine_for(small, path, Progress(1, notes.append)), DiskEngine)
    assert "engine: disk, because the table needs about" in notes[0]
    assert "(--memory)" in notes[0]
    assert isinstance(engine_for(large, path, Progress(1, notes.append)), MemoryEngine)
    assert len(notes) == 1
