"""Numba kernels: arrays in, arrays filled. They never validate, never see a table, never allocate in a loop.

Import the submodules only when a kernel is about to run: importing numba costs half a second.
Kernels are compiled on first use for the dtypes at hand and cached on disk; `on_compile` tells when that happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


def kernel(function: _Function) -> _Function:
    """Compile without the GIL; cache on disk where some folder can be written, in memory only where none can."""
    import numba

    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # numba found no folder for its cache
        return numba.njit(nogil=True)(function)


@contextmanager
def on_compile(notify: Callable[[], None]) -> Iterator[None]:
    """Call `notify` when, inside this context, a kernel has to be compiled rather than loaded."""
    from numba.core import event

    class _Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, _event: object) -> None:
            notify()

        def on_end(self, _event: object) -> None:
            pass

    with event.install_listener("numba:compile", _Listener()):
        yield
