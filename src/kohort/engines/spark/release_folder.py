"""Folders on whatever file system Spark writes to. They appear whole or not at all."""

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

FIRST_FILES = 100
NOTE = ".run"
"""Ends the name of a file that says whose a staged folder is: a file system of Spark's has no locks."""
VERY_OLD = 7 * 24 * 3600  # seconds
STAGED = "_kohort-"
OF_A_TABLE = re.compile(r"part-.*|_SUCCESS|_(common_)?metadata|\..*\.crc")
"""Names of what Spark writes into a folder."""


def _this_run() -> str:
    return f"{socket.gethostname()} {os.getpid()} {_started(os.getpid())}"


def _is_dead(run: str) -> bool:
    """Whether a run of this machine is at work no more; of others nobody knows."""
    host, process, started = run.split()
    return host == socket.gethostname() and _started(int(process)) != started


def _started(process: int) -> str:
    """When a process was started, in the system's ticks; process numbers are used again. Nothing, if there is none."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[19]
    except OSError:
        return "gone" if Path("/proc/self").exists() else "unknown"


def files_at(spark: Any, name: str) -> list[str]:
    """The names of the first files at a place or below it, for what their endings tell."""
    context = spark.sparkContext
    path = context._jvm.org.apache.hadoop.fs.Path(name)  # noqa: SLF001 - there is no other way to its file systems
    system = path.getFileSystem(context._jsc.hadoopConfiguration())  # noqa: SLF001
    found: list[str] = []
    for matched in system.globStatus(path) or []:
        files = system.listFiles(matched.getPath(), True)
        while files.hasNext() and len(found) < FIRST_FILES:
            found.append(files.next().getPath().getName())
    return [file for file in found if not file.startswith(("_", "."))]


class Folder:
    """A place for a release: staged beside it, renamed onto it, removed if that fails."""

    def __init__(self, spark: Any, target: Location) -> None:
        context = spark.sparkContext
        self._settings = context._jsc.hadoopConfiguration()  # noqa: SLF001 - there is no other way to its file systems
        self._java = context._jvm  # noqa: SLF001
        self._path = self._java.org.apache.hadoop.fs.Path
        self.target = self._qualified(target)
        self._system = self.target.getFileSystem(self._settings)

    def _qualified(self, place: Location) -> Any:
        """A path with its file system and from its root, so that two names of one place are the same.

        Ours from the folder that we are in: the JVM's is where it was started.
        """
        path = self._path(place if isinstance(place, str) else self._java.java.net.URI(place.absolute().as_uri()))
        return path.getFileSystem(self._settings).makeQualified(path)

    def require_free(self, *, force: bool) -> None:
        """Refuse a target that is there, unless it may be replaced and is a table."""
        if self._system.exists(self.target):
            if not force:
                raise RequestError(f"{self.target} exists. Choose another name, or replace it with force (--force).")
            if not self._is_a_table():
                raise RequestError(f"{self.target} is a folder of other things than a table. Choose another name.")
        parent = self.target.getParent()
        if parent is not None and not (self._system.exists(parent) and self._system.getFileStatus(parent).isDirectory()):
            raise RequestError(f"There is no folder {parent}. Create it first.")

    def _is_a_table(self) -> bool:
        if not self._system.getFileStatus(self.target).isDirectory():
            return True
        found = self._system.listStatus(self.target)
        return all(one.isFile() and OF_A_TABLE.fullmatch(one.getPath().getName()) for one in found)

    def require_other(self, source: Any, files: Iterable[str]) -> None:
        """Refuse to write over, or among, the files that a table is read from."""
        mine = self.target.toString()
        files = [self._path(self._java.java.net.URI(file)).toString() for file in files]
        if any(f"{file}/".startswith(f"{mine}/") for file in files):
            raise RequestError(f"{self.target} is what the release is made from. Choose another name for it.")
        if isinstance(source, (str, os.PathLike)):
            theirs = self._qualified(location_of(source)).toString()
            if mine.startswith(f"{theirs}/") or fnmatch.fnmatchcase(mine, theirs):
                raise RequestError(f"{self.target} would be among the files that the release is made from. Choose another place.")

    @contextmanager
    def staged(self, *, force: bool) -> Iterator[str]:
        """A place beside the target; a name that begins with an underscore is no table for Spark and others."""
        self.require_free(force=force)
        self._sweep()
        place, aside = self._extra(), self._extra()
        note = place.suffix(NOTE)
        try:
            with_note = self._system.create(note)
            with_note.writeUTF(_this_run())
            with_note.close()
            yield place.toString()
            self.require_free(force=force)
            if self._system.exists(self.target):
                self._move(self.target, aside)
            self._move(place, self.target)
        except BaseException:
            if self._system.exists(aside) and not self._system.exists(self.target):
                self._system.rename(aside, self.target)
            raise
        finally:
            for left in (place, aside, note):
                self._system.delete(left, True)

    def _sweep(self) -> None:
        """Remove what dead runs left beside the target: those of this machine that are at work no more, and what is very old."""
        for found in self._system.listStatus(self.target.getParent()):
            note = found.getPath()
            if not (note.getName().startswith(STAGED) and note.getName().endswith(NOTE)):
                continue
            with suppress(Exception):  # it is somebody else's dirt
                content = self._system.open(note)
                whose = content.readUTF()
                content.close()
                if _is_dead(whose) or time.time() - found.getModificationTime() / 1000 > VERY_OLD:
                    self._system.delete(self._path(note.toString().removesuffix(NOTE)), True)
                    self._system.delete(note, False)

    def _extra(self) -> Any:
        return self._path(self.target.getParent(), f"{STAGED}{secrets.token_hex(8)}")

    def _move(self, place: Any, to: Any) -> None:
        """Rename. Where the new name is a folder, some file systems move into it: another run was faster."""
        moved = self._system.rename(place, to)
        inside = self._path(to, place.getName())
        if not moved or self._system.exists(inside):
            self._system.delete(inside, True)
            raise MachineError(f"{self.target} could not be written: the folder could not be renamed. Choose another place.")
