"""The location of a table: a path on this machine, or an address that only Spark reads and writes (hdfs://host/visits)."""

from __future__ import annotations

import os
from pathlib import Path

from kohort.errors import RequestError

Location = Path | str
"""A string is an address. Addresses are not paths, because a path would drop one of the two slashes."""


def location_of(name: str | os.PathLike[str]) -> Location:
    """Return an address if the name contains `://`, else a path."""
    text = os.fspath(name)
    return text if "://" in text else Path(text)


def local(name: str | os.PathLike[str]) -> Path:
    """Return a path on this machine. Raise a RequestError for an address."""
    location = location_of(name)
    if isinstance(location, str):
        raise RequestError(
            f"{location!r} is an address. Only Spark reads and writes addresses. Set engine to spark (--engine spark), "
            "or give a path on this machine."
        )
    return location
