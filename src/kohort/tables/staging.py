"""Writes files so that they appear whole or not at all: in a private file beside the target, which is renamed at the end.

A run that is killed cannot remove its private files, so the next run does. A run holds a lock on its private files as long as it
lives; files without a lock belong to a dead run. On a file system without locks, nothing is removed.
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

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PART = re.compile(r"\.kohort-[0-9a-f]{16}\.part")
SCRATCH = re.compile(r"kohort-[0-9a-f]{16}")
LOCK = "lock"  # the file in a scratch folder that its run keeps locked
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
GRACE = 60  # seconds that a new file has to get its lock and its first byte
OPEN_AS_IT_IS = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@contextmanager
def staged(target: Path, force: bool = False) -> Iterator[Path]:
    """A private file beside `target`. It replaces the target if the block ends without an error, and is removed if not."""
    require_free(target, force)
    _sweep(target.parent, PART, _remove_dead_part)
    path = target.with_name(f".kohort-{secrets.token_hex(8)}.part")
    held = None
    try:
        held = _create_locked(path)
        yield path
        with path.open("rb") as file:
            os.fsync(file.fileno())
        require_free(target, force)
        path.chmod(0o666 & ~_umask())
        path.replace(target)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "the disk failed"  # shorter and clearer than Arrow's message
        advice = "Make room there, or choose" if error.errno in FULL else "Choose"
        raise MachineError(f"{target} could not be written: {reason}. {advice} another place.") from None
    finally:
        with suppress(OSError):  # this fails too if the file system cannot be written to
            path.unlink(missing_ok=True)
        _let_go(held)


def require_free(target: Path, force: bool) -> None:
    """Refuse a target that cannot be written, before any work is done."""
    try:
        if not target.parent.is_dir():
            raise RequestError(f"There is no folder {target.parent}. Create it first.")
        if target.is_dir():
            raise RequestError(f"{target} is a folder. Give a file name.")
        if os.path.lexists(target) and not force:  # a broken link exists too
            raise RequestError(f"{target} exists. Choose another name, or replace it with force (--force).")
    except OSError as error:
        raise MachineError(f"{target} could not be written: {error.strerror}. Choose another name or place.") from None


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A private folder for data that do not fit into memory. It is removed at the end."""
    home = _scratch_home()
    _sweep(home, SCRATCH, _remove_dead_scratch)
    folder = home / f"kohort-{secrets.token_hex(8)}"
    held = None
    try:
        try:
            folder.mkdir(0o700)
            held = _create_locked(folder / LOCK, b"\n")
        except OSError as error:
            advice = "Make room there, or set TMPDIR to another folder."
            raise MachineError(f"No scratch folder could be made in {home}: {error.strerror}. {advice}") from None
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _let_go(held)


def _scratch_home() -> Path:
    """The folder for scratch folders. Raises a MachineError if TMPDIR cannot be used, instead of choosing another folder."""
    named = os.environ.get("TMPDIR")
    if not named:
        return Path(tempfile.gettempdir())
    if not (Path(named).is_dir() and os.access(named, os.W_OK | os.X_OK)):
        raise MachineError(f"TMPDIR names {named}, where no scratch folder can be made. Name another folder.")
    return Path(named).absolute()


# --- files of dead runs


def _create_locked(path: Path, content: bytes = b"") -> int | None:
    """Create a locked file. It is locked before its first byte is written, so an empty new file may be about to be locked."""
    file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    held = None
    try:
        if fcntl:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)  # waits for another run that is just checking this file
        os.write(file, content)
        held = file if fcntl else None  # without locks there is nothing to hold, and Windows cannot rename an open file
        return held
    finally:
        if held is None:
            os.close(file)


def _let_go(held: int | None) -> None:
    if held is not None:
        os.close(held)


def _sweep(folder: Path, name: re.Pattern[str], remove_if_dead: Callable[[Path], None]) -> None:
    """Remove the files of dead runs from a folder. Errors are ignored, because this run does not need it."""
    if not fcntl:
        return
    with suppress(OSError), os.scandir(folder) as entries:
        left = [Path(entry.path) for entry in entries if name.fullmatch(entry.name)]
        for path in left:
            with suppress(OSError):
                remove_if_dead(path)


def _remove_dead_part(part: Path) -> None:
    if stat.S_ISREG(part.lstat().st_mode) and _is_dead(part):
        part.unlink()


def _remove_dead_scratch(folder: Path) -> None:
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        return
    lock = folder / LOCK
    dead = _is_dead(lock) if os.path.lexists(lock) else _is_old(found)
    if dead:
        shutil.rmtree(folder)  # does not follow links


def _is_dead(path: Path) -> bool:
    """Whether no run has locked this file, and it is not just being created."""
    file = os.open(path, OPEN_AS_IT_IS)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails if it is locked
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
