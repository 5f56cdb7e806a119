"""Errors of the libraries that read files, turned into messages without cell values: the libraries' own messages quote cells."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from kohort.errors import MachineError, RequestError

NO_TABLE = "The table holds text that is not UTF-8, or is damaged. Mend it where it was made."


@contextmanager
def reading(title: str, read_error: Callable[[], str], path: Path | None = None) -> Iterator[None]:
    """Turn errors of a reader into kohort's. `title` names the file; `read_error` finds out what is wrong with its content."""
    try:
        yield
    except PermissionError:
        raise RequestError(f"{title} may not be read. Ask for the right to read it.") from None
    except (pa.ArrowMemoryError, MemoryError):
        if path is not None and _is_small(path):  # a damaged length field asks for too much memory
            raise RequestError(f"{title} {read_error()}") from None
        raise MachineError(f"{title} does not fit into memory. Use a machine with more of it.") from None
    except (pa.ArrowException, UnicodeError, csv.Error):
        raise RequestError(f"{title} {read_error()}") from None
    except OSError as error:
        if error.errno is not None:
            raise MachineError(f"{title} could not be read: {os.strerror(error.errno)}. Copy it to another place.") from None
        raise RequestError(f"{title} {read_error()}") from None


def _is_small(path: Path) -> bool:
    """Whether a file is so small that reading it cannot fill the memory of this machine."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return path.stat().st_size * 1000 < memory
    except (OSError, ValueError, AttributeError):
        return False
