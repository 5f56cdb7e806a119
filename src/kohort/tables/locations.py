"""Where tables lie: a path of this machine, or an address that Spark reads and writes (hdfs://host/visits)."""

from __future__ import annotations

import os
from pathlib import Path

from kohort.errors import RequestError

Place = Path | str
"""A string is an address: as a path it would lose one of its slashes."""


def place_of(name: str | os.PathLike[str]) -> Place:
    text = os.fspath(name)
    return text if "://" in text else Path(text)


def local(name: str | os.PathLike[str]) -> Path:
    """A path of this machine; an address is refused with a way out."""
    place = place_of(name)
    if isinstance(place, str):
        raise RequestError(f"{place} is an address, which only Spark reads and writes. Take the spark engine (--engine spark).")
    return place
