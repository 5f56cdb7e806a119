"""Staged files and scratch folders: nothing is left behind, nothing of others is removed."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pytest

import kohort as kh
from kohort.errors import KohortError, MachineError, RequestError
from kohort.tables import staging, tables

PART = ".kohort-0123456789abcdef.part"
SCRATCH = "kohort-0123456789abcdef"


def test_staged_is_private_then_replaces_at_once(tmp_path):
    target = tmp_path / "out.csv"
    target.write_text("old")
    with staging.staged(target, force=True) as path:
        assert path.parent == tmp_path
        assert path.stat().st_mode & 0o777 == 0o600
        assert target.read_text() == "old"
        path.write_text("new")
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, KohortError, SystemExit])
def test_staged_leaves_nothing_on_error(tmp_path, error):
    target = tmp_path / "out.csv"
    target.write_text("old")

    def fail():
        with staging.staged(target, force=True) as path:
            path.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_staged_refuses_what_is_there_already(tmp_path):
    target = tmp_path / "out.csv"
    with pytest.raises(RequestError, match="exists"), staging.staged(target):
        target.write_text("appeared meanwhile")
    assert target.read_text() == "appeared meanwhile"
    assert list(tmp_path.iterdir()) == [target]
    for place, told in ((target, "exists"), (tmp_path, "is a folder"), (tmp_path / "no" / "out.csv", "no folder")):
        with pytest.raises(RequestError, match=told), staging.staged(place):
            pytest.fail("must not be entered")


def test_a_full_disk_is_the_machines_fault(tmp_path, monkeypatch):
    def full(*_given):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tables, "batches_to_file", full)
    with pytest.raises(MachineError, match=r"No space left.*Make room"):
        kh.anonymize(pa.table({"q": [1, 1]}), quasi="q", k=2, output=tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written(tmp_path):
    place = Path("/proc") if hasattr(os, "geteuid") and os.geteuid() == 0 else tmp_path  # root may write to any other
    tmp_path.chmod(0o500)
    with pytest.raises(MachineError, match="could not be written"):
        kh.anonymize(pa.table({"q": [1, 1]}), quasi="q", k=2, output=place / "out.csv")
    tmp_path.chmod(0o700)
    assert not list(tmp_path.iterdir())


# --- what dead runs left

STOPPED = """
import sys, time
from pathlib import Path
import pyarrow as pa
import kohort as kh
from {package} import {module}
honest = {module}.{name}

def stop(*given, **named):
    made = honest(*given, **named)
    print("there", flush=True)
    time.sleep(120)
    return made

{module}.{name} = stop
kh.anonymize(pa.table({{"q": [1, 1, 2, 2]}}), quasi="q", k=2, output=Path(sys.argv[1]))
"""
WRITTEN = STOPPED.format(package="kohort.tables", module="tables", name="batches_to_file")
AUDITED = STOPPED.format(package="kohort", module="auditor", name="audit")


def stopped(code: str, target: Path, home: Path) -> subprocess.Popen[str]:
    """A run that has come so far and waits there."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(target)], stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(home)}
    )
    assert process.stdout
    assert process.stdout.readline() == "there\n"
    return process


def killed(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def release(target: Path) -> None:
    kh.anonymize(pa.table({"q": [1, 1]}), quasi="q", k=2, output=target)


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """The folder of scratch folders, for this process and those it starts."""
    place: Path = tmp_path / "home"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


@pytest.fixture
def folder(tmp_path) -> Path:
    """Where releases go."""
    place: Path = tmp_path / "folder"
    place.mkdir()
    return place


def test_the_next_run_removes_what_a_killed_one_left(folder, home):
    for code in (WRITTEN, AUDITED):
        killed(stopped(code, folder / "out.csv", home))
    parts = list(folder.iterdir())
    assert [staging.PART.fullmatch(part.name) is not None for part in parts] == [True]  # the second removed that of the first
    (scratch,) = home.iterdir()
    assert stat.S_IMODE(scratch.stat().st_mode) == 0o700
    release(folder / "out.csv")
    assert [path.name for path in folder.iterdir()] == ["out.csv"]
    assert not list(home.iterdir())


def test_two_runs_at_once_leave_each_other_alone(folder, home):
    process = stopped(AUDITED, folder / "theirs.csv", home)
    try:
        before = {*folder.iterdir(), *home.iterdir()}
        assert len(before) == 2
        release(folder / "ours.csv")
        assert {*folder.iterdir(), *home.iterdir()} == {*before, folder / "ours.csv"}
    finally:
        killed(process)


@pytest.mark.parametrize(("size", "age", "stays"), [(0, 0, True), (0, 70, False), (1, 0, False)])
def test_what_is_just_being_created_stays(folder, home, size, age, stays):
    """A run locks what it creates before it writes the first byte, but after it created it."""
    for path in (folder / PART, home / SCRATCH / "lock"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(size))
        os.utime(path, (time.time() - age,) * 2)
    release(folder / "out.csv")
    assert (folder / PART).exists() == (home / SCRATCH).exists() == stays


@pytest.mark.parametrize(("age", "stays"), [(0, True), (70, False)])
def test_a_scratch_folder_without_its_lock(home, age, stays):
    (home / SCRATCH).mkdir()
    os.utime(home / SCRATCH, (time.time() - age,) * 2)
    with staging.scratch_folder():
        assert (home / SCRATCH).exists() == stays


def test_only_what_is_ours_is_swept(tmp_path, folder, home):
    """No link is followed, nothing of another name or kind is touched, and nothing of it is an error."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "lock").write_text("x")
    (other / "kept").write_text("x")
    (folder / PART).symlink_to(other / "kept")
    (home / SCRATCH).symlink_to(other)
    (home / "kohort-demo").mkdir()
    (home / SCRATCH.replace("0", "1")).write_text("a file")
    inner = home / SCRATCH.replace("0", "2")
    inner.mkdir()
    (inner / "lock").write_text("x")
    (inner / "link").symlink_to(other)
    linked = home / SCRATCH.replace("0", "3")
    linked.mkdir()
    (linked / "lock").symlink_to(other / "lock")
    (folder / PART.replace("0", "4")).mkdir()
    os.mkfifo(folder / PART.replace("0", "5"))
    release(folder / "out.csv")
    assert sorted(path.name for path in other.iterdir()) == ["kept", "lock"]
    assert (folder / PART).is_symlink()
    assert (home / SCRATCH).is_symlink()
    assert not inner.exists()
    assert len(list(folder.iterdir())) == 4
    assert len(list(home.iterdir())) == 4


@pytest.mark.parametrize("how", ["missing", "refused"])
def test_without_locks_nothing_is_swept(folder, home, monkeypatch, how):
    def refuse(*_given):
        raise OSError(errno.ENOLCK, "No locks available")

    if how == "missing":
        monkeypatch.setattr(staging, "fcntl", None)
    else:
        monkeypatch.setattr("fcntl.flock", refuse)
    (folder / PART).write_text("x")
    release(folder / "out.csv")
    assert sorted(path.name for path in folder.iterdir()) == [PART, "out.csv"]
    assert not list(home.iterdir())


def test_no_place_for_scratch(home, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(home / "none"))
    with pytest.raises(MachineError, match=r"No scratch folder could be made.*TMPDIR"), staging.scratch_folder():
        pytest.fail("must not be entered")


def test_a_named_place_is_the_place(home, tmp_path, monkeypatch):
    """Where it is full, Python's own choice would silently be another."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert tempfile.gettempdir() == str(home)
    with staging.scratch_folder() as scratch:
        assert scratch.parent == tmp_path


def test_no_file_stays_open(folder, home):
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        return
    release(folder / "warm.csv")
    before = len(list(descriptors.iterdir()))
    for number in range(5):
        release(folder / f"{number}.arrow")
    assert len(list(descriptors.iterdir())) <= before
    assert not list(home.iterdir())
