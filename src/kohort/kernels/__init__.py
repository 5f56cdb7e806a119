"""Numba kernels: functions on arrays that write their results into arrays given by the caller.

Kernels do not validate their arguments, do not work on tables, and do not allocate memory in loops.
Import the submodules only when a kernel is about to run, because importing numba takes half a second.
Numba compiles a kernel on first use, for the dtypes of its arguments, and stores it on disk. `on_compile` reports compilations.

Argument comments: IN = read, OUT = written, scratch = working memory without meaning before or after the call. Shapes are in
brackets; (rows, sensitive) is the array described in `core.promise_rules`. The argument state is shared with the calling thread,
for progress and for stopping. A chain of rows is a linked list of their numbers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


def kernel(function: _Function) -> _Function:
    """Compile a function so that it runs without the GIL. Cache it on disk, or only in memory if no folder can be written."""
    return _compiled(function, nogil=True)


def inlined(function: _Function) -> _Function:
    """Compile a kernel that is always inlined into its callers. Use it for code that runs for every row on every axis.

    A call passes every array of its tuple arguments, which takes longer than the arithmetic of a width.
    """
    return _compiled(function, nogil=True, forceinline=True)


def _compiled(function: _Function, **options: bool) -> _Function:
    import numba

    folder = _cache_folder()
    if folder is None:
        return numba.njit(**options)(function)
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)  # numba reads it when a function is decorated
    try:
        return numba.njit(cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = before


@cache
def _cache_folder() -> Path | None:
    """Return a cache folder for this version of the kernels only, or None if no folder can be written.

    Numba notices when a function's own file changed, but not when a kernel that it calls changed. It would then run old code.
    Therefore the folder name contains a hash of the sources of all kernels.
    """
    import numba

    sources = sorted(Path(__file__).parent.rglob("*.py"))
    state = sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    home = numba.config.CACHE_DIR or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home) / "kohort" / f"kernels-{state}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None


@contextmanager
def on_compile(notify: Callable[[bool], None]) -> Iterator[None]:
    """Call `notify(True)` when numba starts to compile a kernel inside this context, and `notify(False)` when it is done.

    Kernels that are loaded from the disk cache cause no call.
    """
    from numba.core import event

    class _Listener(event.Listener):  # type: ignore[misc]
        depth = 0

        def on_start(self, _event: object) -> None:
            self.depth += 1
            notify(True)

        def on_end(self, _event: object) -> None:
            self.depth -= 1
            if self.depth == 0:  # compiling a kernel also compiles the kernels that it calls
                notify(False)

    with event.install_listener("numba:compile", _Listener()):
        yield
