"""Test staged files and scratch folders: kohort leaves no files behind and removes no files of others."""

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


def test_staged_file_is_private_until_it_replaces_the_target(tmp_path):
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
def test_staged_file_is_removed_on_error(tmp_path, error):
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


def test_staged_raises_if_target_exists_or_cannot_be_written(tmp_path):
    target = tmp_path / "out.csv"
    with pytest.raises(RequestError, match="exists"), staging.staged(target):
        target.write_text("appeared meanwhile")
    assert target.read_text() == "appeared meanwhile"
    assert list(tmp_path.iterdir()) == [target]
    for path, message in ((target, "exists"), (tmp_path, "is a folder"), (tmp_path / "no" / "out.csv", "no folder")):
        with pytest.raises(RequestError, match=message), staging.staged(path):
            pytest.fail("must not be entered")


def test_full_disk_raises_machine_error(tmp_path, monkeypatch):
    def full(*_given):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tables, "batches_to_file", full)
    with pytest.raises(MachineError, match=r"No space left.*Free disk space"):
        kh.anonymize(pa.table({"q": [1, 1]}), quasi="q", k=2, output=tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())


def test_folder_without_write_permission(tmp_path):
    folder = Path("/proc") if hasattr(os, "geteuid") and os.geteuid() == 0 else tmp_path  # root may write to every other folder
    tmp_path.chmod(0o500)
    with pytest.raises(MachineError, match="could not be written"):
        kh.anonymize(pa.table({"q": [1, 1]}), quasi="q", k=2, output=folder / "out.csv")
    tmp_path.chmod(0o700)
    assert not list(tmp_path.iterdir())


# --- files of killed runs

STOPPED = """
import sys, time
from pathlib import Path
import pyarrow as pa
import kohort as kh
from {package} import {module}
original = {module}.{name}

def stop(*given, **named):
    made = original(*given, **named)
    print("there", flush=True)
    time.sleep(120)
    return made

{module}.{name} = stop
kh.anonymize(pa.table({{"q": [1, 1, 2, 2]}}), quasi="q", k=2, output=Path(sys.argv[1]))
"""
WRITTEN = STOPPED.format(package="kohort.tables", module="tables", name="batches_to_file")
AUDITED = STOPPED.format(package="kohort", module="auditor", name="audit")


def stopped(code: str, target: Path, home: Path) -> subprocess.Popen[str]:
    """Start a run that waits at the function replaced in `code`."""
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
    """The folder of scratch folders, for this process and the processes that it starts."""
    path: Path = tmp_path / "home"
    path.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(path))
    return path


@pytest.fixture
def folder(tmp_path) -> Path:
    """The folder of the releases."""
    path: Path = tmp_path / "folder"
    path.mkdir()
    return path


def test_next_run_removes_files_of_killed_run(folder, home):
    for code in (WRITTEN, AUDITED):
        killed(stopped(code, folder / "out.csv", home))
    parts = list(folder.iterdir())
    assert [staging.PART.fullmatch(part.name) is not None for part in parts] == [
        True
    ]  # the second run removed the file of the first
    (scratch,) = home.iterdir()
    assert stat.S_IMODE(scratch.stat().st_mode) == 0o700
    release(folder / "out.csv")
    assert [path.name for path in folder.iterdir()] == ["out.csv"]
    assert not list(home.iterdir())


def test_run_keeps_files_of_another_run_that_still_works(folder, home):
    process = stopped(AUDITED, folder / "theirs.csv", home)
    try:
        before = {*folder.iterdir(), *home.iterdir()}
        assert len(before) == 2
        release(folder / "ours.csv")
        assert {*folder.iterdir(), *home.iterdir()} == {*before, folder / "ours.csv"}
    finally:
        killed(process)


@pytest.mark.parametrize(("size", "age", "stays"), [(0, 0, True), (0, 70, False), (1, 0, False)])
def test_new_empty_files_are_not_removed(folder, home, size, age, stays):
    """A run creates a file, then locks it, then writes the first byte."""
    for path in (folder / PART, home / SCRATCH / "lock"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(size))
        os.utime(path, (time.time() - age,) * 2)
    release(folder / "out.csv")
    assert (folder / PART).exists() == (home / SCRATCH).exists() == stays


@pytest.mark.parametrize(("age", "stays"), [(0, True), (70, False)])
def test_scratch_folder_without_lock_is_removed_after_a_minute(home, age, stays):
    (home / SCRATCH).mkdir()
    os.utime(home / SCRATCH, (time.time() - age,) * 2)
    with staging.scratch_folder():
        assert (home / SCRATCH).exists() == stays


def test_only_files_of_kohort_are_removed(tmp_path, folder, home):
    """kohort follows no link, ignores other names and file types, and raises no error for them."""
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
def test_nothing_is_removed_without_locks(folder, home, monkeypatch, how):
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


def test_missing_temporary_folder_raises_machine_error(home, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(home / "none"))
    with pytest.raises(MachineError, match=r"could not create a temporary folder.*TMPDIR"), staging.scratch_folder():
        pytest.fail("must not be entered")


def test_scratch_folder_is_in_tmpdir(home, tmp_path, monkeypatch):
    """If TMPDIR is full, Python's `tempfile` would silently choose another folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert tempfile.gettempdir() == str(home)
    with staging.scratch_folder() as scratch:
        assert scratch.parent == tmp_path


def test_no_file_stays_open_after_a_run(folder, home):
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        return
    release(folder / "warm.csv")
    before = len(list(descriptors.iterdir()))
    for number in range(5):
        release(folder / f"{number}.arrow")
    assert len(list(descriptors.iterdir())) <= before
    assert not list(home.iterdir())
