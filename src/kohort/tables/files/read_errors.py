"""Convert errors of the libraries that read files into messages without cell values. The libraries' own messages quote cells."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from kohort.errors import MachineError, RequestError


def damaged(title: str = "The table") -> RequestError:
    """Return the error for a table with cells that are not valid. `title` names the file."""
    return RequestError(f"{title} is damaged, or some of its text is not UTF-8. Export it again from the program that made it.")


@contextmanager
def reading(title: str, read_error: Callable[[], str], path: Path | None = None) -> Iterator[None]:
    """Convert errors of a reader into errors of kohort. `title` names the file; `read_error` returns what is wrong in it."""
    try:
        yield
    except PermissionError:
        raise RequestError(
            f"{title} cannot be opened: you do not have permission to read it. Ask its owner for read permission."
        ) from None
    except (pa.ArrowMemoryError, MemoryError):
        if path is not None and _is_small(path):  # a damaged length field requests too much memory
            raise RequestError(f"{title} {read_error()}") from None
        raise MachineError(f"{title} does not fit into memory. Use a machine with more memory.") from None
    except (pa.ArrowException, UnicodeError, csv.Error):
        raise RequestError(f"{title} {read_error()}") from None
    except OSError as error:
        if error.errno is not None:
            raise MachineError(
                f"{title} could not be read: {os.strerror(error.errno)}. "
                "Check the name, or copy the file to another disk and read the copy."
            ) from None
        raise RequestError(f"{title} {read_error()}") from None


def _is_small(path: Path) -> bool:
    """Whether a file is so small that reading it cannot fill the memory of this machine."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return path.stat().st_size * 1000 < memory
    except (OSError, ValueError, AttributeError):
        return False
