"""Write a file completely or not at all: kohort writes a private file next to the target and renames it at the end.

A run that is killed cannot remove its private files, so the next run removes them. A run locks its private files until it ends,
so files without a lock belong to a run that has ended. On a file system without locks, nothing is removed.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kohort.errors import MachineError, RequestError
from kohort.wording import quoted

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PART = re.compile(r"\.kohort-[0-9a-f]{16}\.part")
SCRATCH = re.compile(r"kohort-[0-9a-f]{16}")
LOCK = "lock"  # the file in a scratch folder that is locked while the run lasts
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
GRACE = 60  # seconds within which a run must lock a new file and write its first byte
OPEN_WITHOUT_LINKS = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@contextmanager
def staged(target: Path, force: bool = False) -> Iterator[Path]:
    """Yield a private file next to `target`. It replaces the target if the block ends without an error, else it is removed."""
    require_free(target, force)
    _remove_leftovers(target.parent, PART, _remove_part_if_ended)
    path = target.with_name(f".kohort-{secrets.token_hex(8)}.part")
    lock_file = None
    try:
        lock_file = _create_locked(path)
        yield path
        with path.open("rb") as file:
            os.fsync(file.fileno())
        require_free(target, force)
        path.chmod(0o666 & ~_umask())
        path.replace(target)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "the disk failed"  # clearer than Arrow's message
        advice = "Free disk space there, or choose" if error.errno in FULL else "Choose"
        raise MachineError(f"{quoted(target)} could not be written: {reason}. {advice} another folder.") from None
    finally:
        with suppress(OSError):  # this also fails if the file system is read-only
            path.unlink(missing_ok=True)
        _unlock(lock_file)


def require_free(target: Path, force: bool) -> None:
    """Raise an error if the target cannot be written, before any work is done."""
    try:
        if not target.parent.is_dir():
            raise RequestError(f"There is no folder {quoted(target.parent)}. Create it first.")
        if target.is_dir():
            raise RequestError(f"{quoted(target)} is a folder. Give the name of a file.")
        if os.path.lexists(target) and not force:  # true for a broken link too
            raise RequestError(f"{quoted(target)} already exists. Choose another name, or set force (--force) to replace it.")
    except OSError as error:
        raise MachineError(f"{quoted(target)} could not be written: {error.strerror}. Choose another name or folder.") from None


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a private folder for data that do not fit into memory. It is removed at the end."""
    home = _scratch_home()
    _remove_leftovers(home, SCRATCH, _remove_scratch_if_ended)
    folder = home / f"kohort-{secrets.token_hex(8)}"
    lock_file = None
    try:
        try:
            folder.mkdir(0o700)
            lock_file = _create_locked(folder / LOCK, b"\n")
        except OSError as error:
            advice = "Free disk space there, or set TMPDIR to another folder."
            raise MachineError(
                f"kohort could not create a temporary folder in {quoted(home)}: {error.strerror}. {advice}"
            ) from None
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _unlock(lock_file)


def _scratch_home() -> Path:
    """Return the folder for scratch folders. Raise a MachineError if TMPDIR cannot be used; do not choose another folder."""
    named = os.environ.get("TMPDIR")
    if not named:
        return Path(tempfile.gettempdir())
    if not (Path(named).is_dir() and os.access(named, os.W_OK | os.X_OK)):
        raise MachineError(
            f"TMPDIR names {named!r}, where kohort cannot create a folder. Set TMPDIR to a folder that you may write to."
        )
    return Path(named).absolute()


# --- files of runs that have ended


def _create_locked(path: Path, content: bytes = b"") -> int | None:
    """Create a locked file. It is locked before its first byte is written, so another run must not remove a new empty file."""
    file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    lock_file = None
    try:
        if fcntl:
            with suppress(OSError):  # the file system has no locks
                fcntl.flock(file, fcntl.LOCK_EX)  # waits if another run is checking this file
        os.write(file, content)
        lock_file = file if fcntl else None  # without locks it need not stay open, and Windows cannot rename an open file
        return lock_file
    finally:
        if lock_file is None:
            os.close(file)


def _unlock(lock_file: int | None) -> None:
    if lock_file is not None:
        os.close(lock_file)


def _remove_leftovers(folder: Path, name: re.Pattern[str], remove_if_ended: Callable[[Path], None]) -> None:
    """Remove the files of runs that have ended from a folder. Errors are ignored, because this run does not depend on it."""
    if not fcntl:
        return
    with suppress(OSError), os.scandir(folder) as entries:
        leftovers = [Path(entry.path) for entry in entries if name.fullmatch(entry.name)]
        for path in leftovers:
            with suppress(OSError):
                remove_if_ended(path)


def _remove_part_if_ended(part: Path) -> None:
    if stat.S_ISREG(part.lstat().st_mode) and _is_ended(part):
        part.unlink()


def _remove_scratch_if_ended(folder: Path) -> None:
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        return
    lock = folder / LOCK
    is_ended = _is_ended(lock) if os.path.lexists(lock) else _is_old(found)
    if is_ended:
        shutil.rmtree(folder)  # rmtree does not follow links


def _is_ended(path: Path) -> bool:
    """Whether no run has locked this file, and no run is creating it."""
    file = os.open(path, OPEN_WITHOUT_LINKS)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises an OSError if the file is locked
        found = os.fstat(file)
        return found.st_size > 0 or _is_old(found)
    finally:
        os.close(file)


def _is_old(found: os.stat_result) -> bool:
    return time.time() - found.st_mtime > GRACE


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current
