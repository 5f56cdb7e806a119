"""Run kohort's command line in this process, and record the content of a folder."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from kohort.cli import commands as cli

Snapshot = Mapping[str, bytes | str | None]


class Ran(NamedTuple):
    code: int | None
    out: str
    err: str
    crash: str = ""


def run(arguments: Sequence[str], folder: Path) -> Ran:
    """Run `kohort ARGUMENTS` in a folder, without starting another Python. An unexpected exception is returned as `crash`."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", "strict", newline="", write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", newline="", write_through=True)  # like Python's stderr
    code, crash = None, ""
    scratch = str(folder / "scratch")
    with (
        tempfile.TemporaryFile() as native,  # for output of native libraries
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "argv", ["kohort", *arguments]),
        mock.patch.object(tempfile, "tempdir", scratch),
        mock.patch.dict(os.environ, {"TMPDIR": scratch, "KOHORT_DEBUG": "1"}),
    ):
        kept = os.dup(2)
        os.dup2(native.fileno(), 2)
        try:
            cli.main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else None
        except Exception as error:  # noqa: BLE001 - any exception here is a crash
            crash = _crash(error)
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        native.seek(0)
        err.write(native.read().decode("utf-8", "replace"))
    texts = [stream.buffer.getvalue().decode("utf-8", "replace") for stream in (out, err)]
    return Ran(code, texts[0], texts[1], crash)


def _crash(error: BaseException) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/kohort/" in frame.filename]
    where = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames[-3:]))
    return f"{type(error).__name__} at {where}: {str(error)[:200]!r}"


def snapshot(folder: Path) -> Snapshot:
    """Return the content of a folder: files with their bytes, links with their targets."""
    found: dict[str, bytes | str | None] = {}
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(parent, name)
            key = str(path.relative_to(folder))
            found[key] = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else None
    return found
