"""Where a table is: a path on this machine, or an address that only Spark reads and writes (hdfs://host/visits)."""

from __future__ import annotations

import os
from pathlib import Path

from kohort.errors import RequestError

Location = Path | str
"""A string is an address. A path would drop one of its two slashes."""


def location_of(name: str | os.PathLike[str]) -> Location:
    """An address if the name has `://` in it, else a path."""
    text = os.fspath(name)
    return text if "://" in text else Path(text)


def local(name: str | os.PathLike[str]) -> Path:
    """A path on this machine. Raises a RequestError for an address."""
    location = location_of(name)
    if isinstance(location, str):
        raise RequestError(
            f"{location} is an address, which only Spark reads and writes. Take the spark engine (--engine spark)."
        )
    return location
