"""Numba kernels: arrays in, arrays filled. They never validate, never see a table, never allocate in a loop.

Import the submodules only when a kernel is about to run: importing numba costs half a second.
Kernels are compiled on first use for the dtypes at hand and cached on disk; `on_compile` tells when that happens.
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
    """Compile without the GIL; cache on disk where some folder can be written, in memory only where none can."""
    return _compiled(function, nogil=True)


def inlined(function: _Function) -> _Function:
    """A kernel that always becomes part of those that call it: for what is asked for every record on every axis.

    A call hands over every array of its tuples, which takes longer than the arithmetic of a width.
    """
    return _compiled(function, nogil=True, forceinline=True)


def _compiled(function: _Function, **options: bool) -> _Function:
    import numba

    folder = _cache_folder()
    if folder is None:
        return numba.njit(**options)(function)
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)  # read when a function is decorated
    try:
        return numba.njit(cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = before


@cache
def _cache_folder() -> Path | None:
    """A folder of its own for this version of the kernels, or None if none can be written.

    numba sees that a function's own file changed, but not that a kernel it calls did: a stale kernel would go on running
    the old code. So the sources of all kernels are part of the folder's name.
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
    """Call `notify(True)` when, inside this context, a kernel has to be compiled rather than loaded, `notify(False)` after it."""
    from numba.core import event

    class _Listener(event.Listener):  # type: ignore[misc]
        depth = 0

        def on_start(self, _event: object) -> None:
            self.depth += 1
            notify(True)

        def on_end(self, _event: object) -> None:
            self.depth -= 1
            if self.depth == 0:  # kernels that a kernel calls are compiled inside it
                notify(False)

    with event.install_listener("numba:compile", _Listener()):
        yield
