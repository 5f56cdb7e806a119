"""What readers say of a file, said without its cells: their own messages quote them."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from kohort.errors import MachineError, RequestError

NO_PARQUET = "cannot be read as parquet: it is damaged, cut short, or not a Parquet file."
NO_ARROW = "cannot be read as arrow: it is damaged, cut short, or not an Arrow file."
NO_TABLE = "The table holds text that is not UTF-8, or is damaged. Mend it where it was made."


@contextmanager
def reading(title: str, refused: Callable[[], str], path: Path | None = None) -> Iterator[None]:
    """Turn an error of a reader into one of ours about the file of that title; `refused` says what is wrong with its content."""
    try:
        yield
    except PermissionError:
        raise RequestError(f"{title} may not be read. Ask for the right to read it.") from None
    except (pa.ArrowMemoryError, MemoryError):
        if path is not None and _is_small(path):  # a damaged length asks for more memory than there is
            raise RequestError(f"{title} {refused()}") from None
        raise MachineError(f"{title} does not fit into memory. Use a machine with more of it.") from None
    except (pa.ArrowException, UnicodeError, csv.Error):
        raise RequestError(f"{title} {refused()}") from None
    except OSError as error:
        if error.errno is not None:
            raise MachineError(f"{title} could not be read: {os.strerror(error.errno)}. Copy it to another place.") from None
        raise RequestError(f"{title} {refused()}") from None


def _is_small(path: Path) -> bool:
    """Whether a file is so small that no content of it could fill the memory of this machine."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return path.stat().st_size * 1000 < memory
    except (OSError, ValueError, AttributeError):
        return False
