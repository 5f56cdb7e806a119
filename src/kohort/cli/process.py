"""How a command runs and how it ends: watched, stopped by signals, every error one message and an exit code.

A traceback could show people's records, so there is none.
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
    """A progress shown on stderr and stopped by signals, even by one that some library swallows."""
    from kohort.cli.progress_line import watched

    with watched(threads) as progress:

        def stop(_signal: int, _frame: object) -> None:
            for number in STOPPING:  # one is enough: cleaning up must not be stopped
                signal.signal(number, signal.SIG_IGN)
            progress.cancel()
            raise KeyboardInterrupt

        def hush(ignored: sys.UnraisableHookArgs) -> None:
            if not issubclass(ignored.exc_type, KeyboardInterrupt):  # one that came while an object was cleaned up is told below
                usual(ignored)

        before = {number: signal.signal(number, stop) for number in STOPPING}
        usual, sys.unraisablehook = sys.unraisablehook, hush
        try:
            yield progress
        except Exception:  # a library may turn the interruption into an error of its own
            if progress.cancelled:
                raise KeyboardInterrupt from None
            raise
        finally:
            if not progress.cancelled:
                sys.unraisablehook = usual
                for number, handler in before.items():
                    signal.signal(number, handler)


_TARGET: dict[Path, object] = {}
"""What stood at a target before the run: if something else stands there, no message may say that nothing was published."""


def will_write(place: Location) -> None:
    """Note what stands at a target, so that the last words can tell whether something was put there."""
    if isinstance(place, Path):
        _TARGET[place] = _state(place)


def _state(path: Path) -> object:
    with suppress(OSError):
        found = path.stat()
        return found.st_ino, found.st_mtime_ns
    return None


def run(command: click.Command) -> NoReturn:
    """Run a command to its exit code."""
    _TARGET.clear()
    try:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.default_int_handler)  # from here on an interruption is told below
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
        code = _last_words(f"Error: kohort failed ({text}; KOHORT_DEBUG=1 shows more, please report it)", 3)
    _leave(code)


def _last_words(what: str, code: int) -> int:
    """What happened, and whether a release is in place all the same."""
    placed = [path for path, before in _TARGET.items() if _state(path) != before]
    outcome = f"the release is in place: {placed[0]}." if placed else "nothing was published."
    _echo(f"{what}; {outcome}", err=True)
    return code


def _leave(code: int) -> NoReturn:
    """Exit without the interpreter's own complaint when stdout can take no more, or when Ctrl-C comes once more."""
    try:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        if sys.stdout:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def say(text: str) -> None:
    """To stdout; a reader who has left already is no failure."""
    try:
        _echo(text)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _echo(text: str, *, err: bool = False) -> None:
    """Names of files need not be text; what is none of it is shown by its bytes."""
    click.echo(text.encode("utf-8", "backslashreplace").decode(), err=err)
