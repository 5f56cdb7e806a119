"""What every engine must do."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pyarrow as pa

from kohort import api, datasets
from kohort import tables as files
from kohort.errors import CancelledError, PromiseError
from kohort.job import Job
from kohort.progress import Progress
from kohort.testing.requiring import require_raises


def writes_what_it_proved(engine: str) -> None:
    """CSV and Parquet hold the same release, row for row; the source is untouched; nothing else is left behind."""
    sample = datasets.hospital(400)
    job = Job.build(sample.job, engine=engine, seed=7, keep_order=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, _job = sample.write(folder)
        before = source.read_bytes()
        told = []
        for target in (folder / "a.csv", folder / "b.csv.gz", folder / "c.parquet"):
            release = api.anonymize(source, job, output=target)
            assert release.evidence.passed
            told.append(files.read(target)[0].cast(pa.schema([(name, pa.string()) for name in release.table.column_names])))
        assert all(table.equals(told[0]) for table in told)
        assert source.read_bytes() == before
        assert sorted(path.name for path in folder.iterdir()) == [
            "a.csv",
            "b.csv.gz",
            "c.parquet",
            "job.toml",
            "patients.csv",
            "trees",
        ]


def leaves_nothing_when_it_fails(engine: str) -> None:
    """A promise that cannot be kept, a cancelled run: no file, not even a half one."""
    sample = datasets.hospital(100)
    with tempfile.TemporaryDirectory() as name:
        target = Path(name) / "out.csv"
        job = Job.build(sample.job, engine=engine, k=101)
        require_raises(PromiseError, lambda: api.anonymize(sample.table, job, output=target))
        stopped = Progress(1)
        stopped.cancel()
        job = Job.build(sample.job, engine=engine, k=5)
        require_raises(CancelledError, lambda: api.anonymize(sample.table, job, output=target, progress=stopped))
        assert not list(Path(name).iterdir())


def shuffles_unpredictably(engine: str) -> None:
    """The same job twice: the same records, in another order, which the seed does not tell."""
    sample = datasets.hospital(400)
    job = Job.build(sample.job, engine=engine, seed=7)
    one, two = (api.anonymize(sample.table, job).table.to_pylist() for _ in range(2))
    assert one != two
    assert Counter(map(str, one)) == Counter(map(str, two))
