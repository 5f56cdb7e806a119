"""The disk engine gives the same release as the memory engine."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kohort as kh
from kohort import datasets
from kohort.encoding import encode as encoding
from kohort.engines.base import AnyEngine, run
from kohort.engines.disk.engine import DiskEngine
from kohort.engines.memory import MemoryEngine
from kohort.engines.shared import spool
from kohort.engines.shared.spool import Spool
from kohort.errors import MachineError, PromiseError, RequestError
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.tables import staging, tables
from kohort.testing.engine_contracts import released, require_same, rows_of, with_originals

needs_data = pytest.mark.skipif(not os.environ.get("KOHORT_DATA"), reason="needs the public tables: set KOHORT_DATA")


# --- the same release


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("promised", [{}, {"l": 3}], ids=["k", "l=3"])
@pytest.mark.parametrize("k", [2, 10, 100])
@pytest.mark.parametrize("method", ["mondrian", "k-member", "gccg", "auto"])
def test_release_of_adult_is_the_same_as_in_memory(method, k, promised):
    """Uses the first 4,000 rows. `make bench-identity` uses all rows and all engines."""
    sample = datasets.adult(datasets.ADULT_B, ["occupation"])
    table, roles = with_originals(sample.table.slice(0, 4_000), list(datasets.ADULT_B))
    job = Job.build(sample.job, method=method, k=k, block=1_000, seed=7, **promised, **roles)
    expected = released(MemoryEngine(job, Progress(2)), table)
    found = released(DiskEngine(job, Progress(2), 2_000), table)
    assert not isinstance(expected, kh.KohortError)
    assert not isinstance(found, kh.KohortError)
    assert found[0] == expected[0]


@pytest.mark.parametrize("method", ["mondrian", "k-member"])
def test_release_with_dates_bins_weights_and_means_is_the_same_as_in_memory(method, monkeypatch):
    monkeypatch.setattr(encoding, "MOST_NUMBERS", 60)
    draw = random.Random(1)
    rows = range(500)
    table = pa.table(
        {
            "a": [None if draw.random() < 0.05 else draw.randrange(100_000) for _ in rows],
            "b": [draw.choice("xyz") for _ in rows],
            "d": [f"19{draw.randrange(50, 99)}-0{draw.randrange(1, 9)}-1{draw.randrange(9)}" for _ in rows],
            "s": [draw.choice("pqrst") for _ in rows],
        }
    )
    columns = {"quasi": ["a", "b", "d"], "sensitive": "s"}
    for settings in ({"statistic": {"a": "both"}}, {"hierarchy": {"d": "date:month,year"}}, {"weight": {"a": 3}}):
        require_same("disk", table, {**columns, "k": 4, "method": method, "block": 50, **settings})


def test_release_with_one_column_or_a_part_of_missing_numbers_is_the_same_as_in_memory(monkeypatch):
    monkeypatch.setattr(encoding, "MOST_NUMBERS", 3)
    rows = range(200)
    table = pa.table({"a": [*rows], "b": [None if row < 100 else row for row in rows], "s": [row % 7 for row in rows]})
    for settings in ({"quasi": ["a"]}, {"quasi": ["a", "b"]}, {"quasi": ["b"], "statistic": {"b": "both"}}):
        require_same("disk", table, {"sensitive": "s", "k": 5, "method": "mondrian", **settings})


def test_published_mean_does_not_depend_on_the_order_of_the_rows():
    draw = random.Random(0)
    numbers = [draw.randrange(-500, 500) + draw.randrange(100) / 100 for _ in range(64)]
    means = set()
    for _ in range(12):
        draw.shuffle(numbers)
        table = pa.table({"x": numbers, "s": ["a", "b"] * 32})
        for engine in (MemoryEngine, DiskEngine):
            job = Job.build(quasi="x", sensitive="s", k=64, statistic={"x": "mean"}, method="mondrian", seed=1)
            found = released(engine(job, Progress(1), 10), table)
            assert not isinstance(found, kh.KohortError)
            means |= {row[-1] for row in found[0]}
    assert len(means) == 1


def test_missing_tmpdir_folder_raises_an_error_instead_of_using_another_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    with pytest.raises(MachineError, match="TMPDIR names"):
        kh.anonymize(datasets.census(100, quasi=2), quasi=["q1", "q2"], sensitive="s1", k=2, engine="disk")


def test_sensitive_value_may_have_more_rows_than_there_are_people():
    """The rows of a value must not be taken for a number of people."""
    draw = random.Random(1)
    ages, values = ([draw.choice(of) for _ in range(1_000)] for of in (range(100), "abcd"))
    table = pa.table({"a": ages, "s": values, "who": [f"P{row % 125}" for row in range(1_000)]})
    require_same("disk", table, {"quasi": ["a"], "sensitive": "s", "unit": "who", "k": 3, "l": 2, "method": "mondrian"})
    with pytest.raises(PromiseError, match="the table has only one person"):
        kh.anonymize(table.slice(0, 1), quasi="a", sensitive="s", unit="who", k=3, engine="disk")


def test_published_means_pass_the_audit_when_outliers_are_suppressed():
    """Means are rounded by the spread of all numbers, which is larger than the spread of the published rows."""
    draw = random.Random(6)
    table = pa.table({"c": [5 if draw.random() < 0.97 else draw.randrange(100) for _ in range(200)]})
    table = table.append_column("o", pa.array([draw.randrange(-50, 50) for _ in range(200)]))
    for engine in ("memory", "disk"):
        release = kh.anonymize(
            table, quasi=["c", "o"], k=25, seed=0, method="mondrian", statistic={"c": "mean"}, suppress=0.5, engine=engine
        )
        assert release.evidence.passed


def test_table_with_an_empty_first_chunk_is_released_completely():
    table = datasets.census(100, quasi=2)
    release = kh.anonymize(pa.concat_tables([table.slice(0, 0), table]), quasi=["q1", "q2"], sensitive="s1", k=5, engine="disk")
    assert release.table.num_rows == 100


def test_parquet_with_too_many_columns_for_the_memory_limit_raises_an_error(tmp_path):
    columns = {f"c{number}": np.random.default_rng(number).random(50_000) for number in range(160)}
    pq.write_table(pa.table({"q": np.arange(50_000) % 90, **columns}), tmp_path / "wide.parquet")
    roles: dict[str, Any] = {"quasi": "q", "other": [*columns], "allow": [*columns]}
    with pytest.raises(RequestError, match=r"uses 161 columns of the Parquet source.*--memory.*Arrow"):
        kh.anonymize(tmp_path / "wide.parquet", **roles, k=5, engine="disk", memory="512MiB")


def test_part_that_cannot_be_cut_and_does_not_fit_becomes_one_group():
    """Most rows are identical, or a promise forbids every cut, so one part has more rows than fit into memory."""
    draw = random.Random(2)
    rows = [(5, "x") if number < 400 else (draw.randrange(10), draw.choice("xyz")) for number in range(500)]
    table = pa.table({"a": [a for a, _b in rows], "b": [b for _a, b in rows], "s": [draw.choice("pqrst") for _ in rows]})
    for settings in ({"method": "mondrian"}, {"method": "mondrian", "t": 0.001}, {"method": "gccg", "block": 50}):
        require_same("disk", table, {"quasi": ["a", "b"], "sensitive": "s", "k": 4, **settings})


def test_labels_preview_and_aligned_tables_are_the_same_as_in_memory():
    table = datasets.census(600, quasi=3)
    job = Job.build(quasi=["q1", "q2", "q3"], sensitive="s1", k=5, method="mondrian", seed=1)
    engines: list[AnyEngine] = [MemoryEngine(job, Progress(1)), DiskEngine(job, Progress(1), 50)]
    made = [run(engine, table) for engine in engines]
    one, two = (publication.labels().tolist() for publication in made)
    assert len(set(zip(one, two, strict=True))) == len(set(one)) == len(set(two))
    shown = [publication.preview(np.array([7, 3, 599])) for publication in made]
    assert shown[0][0].equals(shown[1][0])
    assert shown[0][1].to_pylist() == shown[1][1].to_pylist()
    assert rows_of(made[0].aligned().release) == rows_of(made[1].aligned().release)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet", "arrow"])
def test_folder_of_files_in_each_format_gives_the_same_release_as_in_memory(suffix, tmp_path):
    sample = datasets.hospital(300)
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(3):
        part = sample.table.slice(100 * number, 100)
        path = folder / f"{number}.{suffix}"
        path.touch()
        tables.batches_to_file(part.to_batches(), part.schema, path, tables.format_of(path))
    job = Job.build(sample.job, k=5, seed=7, keep_order=True)
    releases = [kh.anonymize(folder, job, engine=engine, output=tmp_path / f"{engine}.csv") for engine in ("memory", "disk")]
    assert (tmp_path / "memory.csv").read_bytes() == (tmp_path / "disk.csv").read_bytes()
    assert [release.summary()["engine"] for release in releases] == ["memory", "disk"]


# --- failures


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    yield folder
    monkeypatch.undo()


SLOW_RUN = """
import os, signal, sys
from pathlib import Path
from kohort.engines.base import run
from kohort.engines.disk.engine import DiskEngine
from kohort.job.job import Job
from kohort.progress import Progress
at, source, target = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
steps = 0
def count_steps(frame, event, arg):
    global steps
    if event == "call" and any(folder in frame.f_code.co_filename for folder in ("kohort/engines", "kohort/verification")):
        steps += 1
        if steps == at:
            os.kill(os.getpid(), signal.SIGKILL)
job = Job.build(quasi=["q1", "q2", "q3"], sensitive="s1", k=5, method="mondrian", seed=7, threads=1)
sys.setprofile(count_steps)
engine = DiskEngine(job, Progress(1), 100)
run(engine, source).release_file(target, force=False)
sys.setprofile(None)
print(steps)
"""


def run_until(at, source, target):
    command = [sys.executable, "-c", SLOW_RUN, str(at), str(source), str(target)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


@pytest.mark.slow
def test_run_after_killed_runs_gives_the_same_release_and_removes_their_files(tmp_path, scratch, monkeypatch):
    source, target = tmp_path / "t.parquet", tmp_path / "out.parquet"
    pq.write_table(datasets.census(1_000, quasi=3), source)
    whole = run_until(-1, source, target)
    steps = int(whole.stdout)
    expected = rows_of(tables.read(target)[0])
    target.unlink()
    monkeypatch.setattr(staging, "GRACE", 0)
    for at in np.linspace(2, steps - 1, 12).astype(int).tolist():
        killed = run_until(at, source, target)
        assert killed.returncode == -signal.SIGKILL
        assert not target.exists()
    assert list(scratch.iterdir())  # a killed process cannot remove its files
    again = run_until(-1, source, target)
    assert again.returncode == 0, again.stderr
    assert rows_of(tables.read(target)[0]) == expected
    assert not list(scratch.iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.parquet", "scratch", "t.parquet"]


@pytest.mark.parametrize("allowed", [0, 3, 8, 14])
def test_full_scratch_disk_raises_an_error_and_publishes_nothing(allowed, tmp_path, scratch, monkeypatch):
    """The disk accepts `allowed` writes and then reports that it is full."""
    writes = iter(range(10_000))
    original = Spool.append

    def append(self, cells):
        if next(writes) >= allowed:
            with spool.in_scratch(self._path.parent):
                raise OSError(errno.ENOSPC, "No space left on device")
        original(self, cells)

    monkeypatch.setattr(Spool, "append", append)
    target = tmp_path / "out.csv"
    with pytest.raises(MachineError, match=r"No space left on device.*TMPDIR.*Nothing was published"):
        run_in_parts(datasets.census(1_000, quasi=2), target)
    assert not target.exists()
    assert not list(scratch.iterdir())


def run_in_parts(table, target):
    engine = DiskEngine(Job.build(quasi=["q1", "q2"], sensitive="s1", k=5, method="mondrian", seed=7), Progress(1), 100)
    run(engine, table).release_file(target, force=False)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs to mount a small disk: Linux, as root")
def test_full_file_system_for_temporary_files_ends_the_run_with_exit_code_3(tmp_path):
    """The temporary files are on a file system of 3 MiB."""
    disk, source, target = tmp_path / "disk", tmp_path / "t.parquet", tmp_path / "out.parquet"
    disk.mkdir()
    pq.write_table(datasets.census(200_000, quasi=4), source)
    if subprocess.run(
        ["/bin/mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)], check=False, capture_output=True
    ).returncode:
        pytest.skip("needs to mount a small disk")
    try:
        flags = ["--quasi", "q1,q2,q3,q4", "--sensitive", "s1", "--engine", "disk", "--method", "mondrian"]
        command = [sys.executable, "-m", "kohort", "anonymize", str(source), "-o", str(target), *flags]
        run = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, "TMPDIR": str(disk)})
        assert run.returncode == 3
        assert "No space left on device" in run.stderr
        assert "Nothing was published" in run.stderr
        assert not target.exists()
        assert not list(disk.iterdir())
    finally:
        subprocess.run(["/bin/umount", str(disk)], check=True)


@pytest.mark.slow
def test_two_runs_at_the_same_time_do_not_disturb_each_other(tmp_path, scratch):
    source = tmp_path / "t.parquet"
    pq.write_table(datasets.census(30_000, quasi=3), source)
    flags = ["--quasi", "q1,q2,q3", "--sensitive", "s1", "--engine", "disk", "--method", "mondrian", "--seed", "7"]
    command = [sys.executable, "-m", "kohort", "anonymize", str(source), *flags]
    targets = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    quiet = subprocess.DEVNULL
    runs = [subprocess.Popen([*command, "-o", str(target)], stdout=quiet, stderr=quiet) for target in targets]
    assert [run.wait() for run in runs] == [0, 0]
    one, two = (rows_of(tables.read(target)[0]) for target in targets)
    assert one == two
    assert not list(scratch.iterdir())
