"""Run a command: show progress, stop on signals, turn every error into one message and an exit code.

kohort prints no traceback, because a traceback could show cell values.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from kohort.errors import CancelledError, KohortError
from kohort.tables.locations import Location

if TYPE_CHECKING:
    from kohort.progress import Progress

STOPPING = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGXCPU", "SIGALRM", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
]
"""Signals that would end the process without cleaning up."""


@contextmanager
def watched_run(threads: int | None) -> Iterator[Progress]:
    """Give a progress that is shown on stderr and cancelled by signals, even if a library catches the interruption."""
    from kohort.cli.progress_line import watched

    with watched(threads) as progress:

        def stop(_signal: int, _frame: object) -> None:
            for number in STOPPING:  # a second signal must not stop the cleaning up
                signal.signal(number, signal.SIG_IGN)
            progress.cancel()
            raise KeyboardInterrupt

        def hush(ignored: sys.UnraisableHookArgs) -> None:
            if not issubclass(ignored.exc_type, KeyboardInterrupt):  # `run` reports an interruption
                usual(ignored)

        before = {number: signal.signal(number, stop) for number in STOPPING}
        usual, sys.unraisablehook = sys.unraisablehook, hush
        try:
            yield progress
        except Exception:  # a library may turn the interruption into another error
            if progress.cancelled:
                raise KeyboardInterrupt from None
            raise
        finally:
            if not progress.cancelled:
                sys.unraisablehook = usual
                for number, handler in before.items():
                    signal.signal(number, handler)


_TARGET: dict[Path, object] = {}
"""State of each output before the run. If it changed, no message may say that nothing was published."""


def will_write(place: Location) -> None:
    """Remember the state of an output, so that the last message can say whether something was written."""
    if isinstance(place, Path):
        _TARGET[place] = _state(place)


def _state(path: Path) -> object:
    with suppress(OSError):
        found = path.stat()
        return found.st_ino, found.st_mtime_ns
    return None


def run(command: click.Command) -> NoReturn:
    """Run a command and exit with its code."""
    _TARGET.clear()
    try:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.default_int_handler)  # reported below
        command(standalone_mode=False)
        if sys.stdout:
            sys.stdout.flush()
        code = 0
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort, CancelledError):
        code = _last_words("Interrupted", 130)
    except KohortError as error:
        _echo(f"Error: {error}", err=True)
        code = error.exit_code
    except MemoryError:
        code = _last_words("Error: out of memory", 3)
    except Exception as error:
        if os.environ.get("KOHORT_DEBUG"):
            raise
        place = traceback.extract_tb(error.__traceback__)[-1]
        what = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        text = f"{what} in {Path(place.filename).name}, line {place.lineno}"
        code = _last_words(f"Error: kohort failed ({text}); report this fault (KOHORT_DEBUG=1 shows more)", 3)
    _leave(code)


def _last_words(what: str, code: int) -> int:
    """Print what happened and whether a release was written; return the exit code."""
    placed = [path for path, before in _TARGET.items() if _state(path) != before]
    outcome = f"the release was written before: {placed[0]}." if placed else "nothing was published."
    _echo(f"{what}; {outcome}", err=True)
    return code


def _leave(code: int) -> NoReturn:
    """Exit without a message of the interpreter if stdout is closed or Ctrl-C comes again."""
    try:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        if sys.stdout:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def say(text: str) -> None:
    """Print to stdout. A closed pipe is not an error."""
    try:
        _echo(text)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _echo(text: str, *, err: bool = False) -> None:
    """Print text. Bytes of file names that are not text are printed as escapes."""
    click.echo(text.encode("utf-8", "backslashreplace").decode(), err=err)
