"""Check that every published range starts and ends at a multiple of the step of its column. Reads only the published text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Decimal, DecimalException, localcontext
from typing import Any

from kohort.auditor.evidence import Check
from kohort.schema.published_text import interval

MOST_DIGITS = 2_000  # precision of the division, more than any two 64-bit numbers need


def check(run: Callable[[str], Sequence[tuple[Any, ...]]], steps: Mapping[str, Decimal], commas: Collection[str]) -> Check:
    """Count the ranges of these columns that are not on the grid. Single numbers, `*` and missing values are not ranges."""
    wrong = 0
    queries = []
    for alias, step in steps.items():
        sql = f"SELECT {alias}, COUNT(*) FROM release GROUP BY {alias}"
        queries.append(sql)
        for text, rows in run(sql):
            value = text.replace(",", ".") if text is not None and alias in commas else text
            wrong += 0 if value is None or on_grid(value, step) else int(rows)
    meaning = "Ranges that do not start and end at a multiple of the step of their column."
    return Check("grid", 0, wrong, "fail" if wrong else "pass", meaning, tuple(queries))


def on_grid(text: str, step: Decimal) -> bool:
    """Return whether a text is a single number, `*`, or a range from one multiple of the step to another.

    >>> [on_grid(text, Decimal("0.1")) for text in ("[0.3 - 0.5]", "0.33", "[0.3 - 0.55]", "[0.30000000000000004 - 0.5]")]
    [True, True, False, False]
    """
    span = interval(text)
    if span is None:
        return False
    if not text.startswith("["):
        return True
    # Compare the written digits. As a float, 0.30000000000000001 would equal 0.3.
    return all(_is_multiple(end, step) for end in text.strip("[]").split(" - "))


def _is_multiple(number: str, step: Decimal) -> bool:
    with localcontext(prec=MOST_DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX):
        try:
            return not Decimal(number) % step
        except DecimalException:  # more digits than MOST_DIGITS
            return False
