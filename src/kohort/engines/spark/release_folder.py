"""Writes release folders to any file system that Spark can use. A release appears complete or not at all."""

from __future__ import annotations

import fnmatch
import os
import re
import secrets
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kohort.errors import MachineError, RequestError
from kohort.tables.locations import Location, location_of
from kohort.wording import quoted

FIRST_FILES = 100
OWNER_SUFFIX = ".run"
"""Suffix of the file that names the run that owns a staged folder. It is needed because Spark's file systems have no locks."""
ABANDONED_AFTER = 7 * 24 * 3600  # seconds
STAGED = "_kohort-"
TABLE_FILE = re.compile(r"part-.*|_SUCCESS|_(common_)?metadata|\..*\.crc")
"""Names of the files that Spark writes into the folder of a table."""


def _this_run() -> str:
    return f"{socket.gethostname()} {os.getpid()} {_started(os.getpid())}"


def _is_dead(run: str) -> bool:
    """Return whether a run of this machine has ended. For runs of other machines this is not known: return False."""
    host, process, started = run.split()
    return host == socket.gethostname() and _started(int(process)) != started


def _started(process: int) -> str:
    """Return the start time of a process in system ticks; "gone" without such a process, "unknown" without /proc.

    The start time is needed because the system reuses process numbers.
    """
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[19]
    except OSError:
        return "gone" if Path("/proc/self").exists() else "unknown"


def files_at(spark: Any, name: str) -> list[str]:
    """Return the names of the first files at or below a path. Their suffixes show the file format."""
    context = spark.sparkContext
    path = context._jvm.org.apache.hadoop.fs.Path(name)  # noqa: SLF001 - the only access to Spark's file systems
    system = path.getFileSystem(context._jsc.hadoopConfiguration())  # noqa: SLF001
    found: list[str] = []
    for matched in system.globStatus(path) or []:
        files = system.listFiles(matched.getPath(), True)
        while files.hasNext() and len(found) < FIRST_FILES:
            found.append(files.next().getPath().getName())
    return [file for file in found if not file.startswith(("_", "."))]


class Folder:
    """The target folder of a release. It is written under a temporary name next to the target and then renamed."""

    def __init__(self, spark: Any, target: Location) -> None:
        context = spark.sparkContext
        self._settings = context._jsc.hadoopConfiguration()  # noqa: SLF001 - the only access to Spark's file systems
        self._java = context._jvm  # noqa: SLF001
        self._path = self._java.org.apache.hadoop.fs.Path
        self.target = self._qualified(target)
        self._system = self.target.getFileSystem(self._settings)

    def _qualified(self, location: Location) -> Any:
        """Return an absolute path with its file system, so that two names of one location become equal.

        Relative paths start at the working folder of this process, not at that of the JVM.
        """
        path = self._path(location if isinstance(location, str) else self._java.java.net.URI(location.absolute().as_uri()))
        return path.getFileSystem(self._settings).makeQualified(path)

    def require_free(self, *, force: bool) -> None:
        """Raise an error if the target exists, unless `force` is set and the target is a table."""
        if self._system.exists(self.target):
            if not force:
                raise RequestError(f"{quoted(self.target)} exists. Choose another name, or replace it with force (--force).")
            if not self._is_a_table():
                raise RequestError(
                    f"{quoted(self.target)} is a folder with files that are not part of a table, so kohort does not replace it. "
                    "Choose another name."
                )
        parent = self.target.getParent()
        if parent is not None and not (self._system.exists(parent) and self._system.getFileStatus(parent).isDirectory()):
            raise RequestError(f"There is no folder {quoted(parent)}. Create it first.")

    def _is_a_table(self) -> bool:
        if not self._system.getFileStatus(self.target).isDirectory():
            return True
        found = self._system.listStatus(self.target)
        return all(one.isFile() and TABLE_FILE.fullmatch(one.getPath().getName()) for one in found)

    def require_other(self, source: Any, files: Iterable[str]) -> None:
        """Raise an error if the release would replace, or lie among, the files that the source is read from."""
        target = self.target.toString()
        files = [self._path(self._java.java.net.URI(file)).toString() for file in files]
        if any(f"{file}/".startswith(f"{target}/") for file in files):
            raise RequestError(
                f"{quoted(self.target)} is the source that the release is made from. "
                "Choose another name for the release (--output)."
            )
        if isinstance(source, (str, os.PathLike)):
            origin = self._qualified(location_of(source)).toString()
            if target.startswith(f"{origin}/") or fnmatch.fnmatchcase(target, origin):
                raise RequestError(
                    f"{quoted(self.target)} would be among the source files that the release is made from. "
                    "Choose another folder for the release (--output)."
                )

    @contextmanager
    def staged(self, *, force: bool) -> Iterator[str]:
        """Yield a temporary folder next to the target. Rename it to the target if the block ends without an error.

        Its name begins with an underscore, so that Spark and other programs do not read it as a table.
        """
        self.require_free(force=force)
        self._remove_abandoned()
        staged, replaced = self._temporary_path(), self._temporary_path()
        owner = staged.suffix(OWNER_SUFFIX)
        try:
            owner_file = self._system.create(owner)
            owner_file.writeUTF(_this_run())
            owner_file.close()
            yield staged.toString()
            self.require_free(force=force)
            if self._system.exists(self.target):
                self._move(self.target, replaced)
            self._move(staged, self.target)
        except BaseException:
            if self._system.exists(replaced) and not self._system.exists(self.target):
                self._system.rename(replaced, self.target)
            raise
        finally:
            for path in (staged, replaced, owner):
                self._system.delete(path, True)

    def _remove_abandoned(self) -> None:
        """Remove the staged folders of runs that did not end properly.

        These are runs of this machine whose process has ended, and runs older than `ABANDONED_AFTER`.
        """
        for found in self._system.listStatus(self.target.getParent()):
            owner = found.getPath()
            if not (owner.getName().startswith(STAGED) and owner.getName().endswith(OWNER_SUFFIX)):
                continue
            with suppress(Exception):  # a failed clean-up after another run must not stop this run
                content = self._system.open(owner)
                run = content.readUTF()
                content.close()
                if _is_dead(run) or time.time() - found.getModificationTime() / 1000 > ABANDONED_AFTER:
                    self._system.delete(self._path(owner.toString().removesuffix(OWNER_SUFFIX)), True)
                    self._system.delete(owner, False)

    def _temporary_path(self) -> Any:
        return self._path(self.target.getParent(), f"{STAGED}{secrets.token_hex(8)}")

    def _move(self, folder: Any, to: Any) -> None:
        """Rename a folder.

        If another run has created `to` in the meantime, some file systems move the folder into it. This is an error.
        """
        moved = self._system.rename(folder, to)
        inside = self._path(to, folder.getName())
        if not moved or self._system.exists(inside):
            self._system.delete(inside, True)
            raise MachineError(
                f"{quoted(self.target)} could not be written: the temporary folder could not be renamed. "
                "Another run may have written the same target. Choose another folder for the release (--output)."
            )
