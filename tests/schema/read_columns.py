"""Date formats and a typed `read`, for tests of columns of text."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from kohort.schema import type_detection

STYLES = {
    "YYYY-MM-DD": "%Y-%m-%d",
    "DD.MM.YYYY": "%d.%m.%Y",
    "DD/MM/YYYY": "%d/%m/%Y",
    "MM/DD/YYYY": "%m/%d/%Y",
    "DD-MM-YYYY": "%d-%m-%Y",
    "MM-DD-YYYY": "%m-%d-%Y",
    "YYYY/MM/DD": "%Y/%m/%d",
    "YYYY.MM.DD": "%Y.%m.%d",
    "YYYYMMDD": "%Y%m%d",
    "DD-MON-YYYY": "%d-%b-%Y",
    "DD MON YYYY": "%d %B %Y",
    "DDMONYYYY": "%d%b%Y",
    "MON DD, YYYY": "%B %d, %Y",
    "MON DD YYYY": "%b %d %Y",
}
DATES = st.dates(dt.date(1850, 1, 1), dt.date(2150, 12, 31))


def read(values: pa.Array, *declared: Any) -> Any:
    """Return the reading as Any, so that mypy accepts that it is not None."""
    return type_detection.read(values, *declared)
