"""Entries of a comparison, for tests."""

from __future__ import annotations

from kohort.report.comparison_rows import Entry


def entry(method: str, k: int, leaf: float, seconds: float = 1.0, error: float = 0.1) -> Entry:
    """Return an entry with this loss, time and query error."""
    loss = {"leaf": leaf, "cavg": 1.0, "square_error": 1.0, "total_il": 1.0, "dm": 1.0}
    return Entry(method, k, loss=loss, seconds=seconds, queries={"error": error, "median": error, "p95": error})
