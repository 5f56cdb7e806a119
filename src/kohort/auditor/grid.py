"""Ranges on a grid: that every published interval ends at multiples of its column's step, read from the text alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Decimal, DecimalException, localcontext
from typing import Any

from kohort.auditor.evidence import Check
from kohort.schema.published_text import interval

MOST_DIGITS = 2_000  # of a quotient: more than any two 64-bit numbers need


def check(run: Callable[[str], Sequence[tuple[Any, ...]]], steps: Mapping[str, Decimal], commas: Collection[str]) -> Check:
    """Every interval of these columns must end on their grid; a single number, `*` and a missing value are none."""
    wrong = 0
    queries = []
    for alias, step in steps.items():
        sql = f"SELECT {alias}, COUNT(*) FROM release GROUP BY {alias}"
        queries.append(sql)
        for text, rows in run(sql):
            value = text.replace(",", ".") if text is not None and alias in commas else text
            wrong += 0 if value is None or on_grid(value, step) else int(rows)
    declared = ", ".join(f"{alias} by {step}" for alias, step in steps.items())
    meaning = f"cells whose interval does not end at multiples of the declared step ({declared})"
    return Check("grid", 0, wrong, "fail" if wrong else "pass", meaning, tuple(queries))


def on_grid(text: str, step: Decimal) -> bool:
    """Whether a text is no interval but a number or `*`, or an interval from one multiple of the step to another.

    >>> [on_grid(text, Decimal("0.1")) for text in ("[0.3 - 0.5]", "0.33", "[0.3 - 0.55]", "[0.30000000000000004 - 0.5]")]
    [True, True, False, False]
    """
    span = interval(text)
    if span is None:
        return False
    if not text.startswith("["):
        return True
    # By the digits that were written: the floats in between would take 0.30000000000000001 for 0.3.
    return all(_is_multiple(end, step) for end in text.strip("[]").split(" - "))


def _is_multiple(number: str, step: Decimal) -> bool:
    with localcontext(prec=MOST_DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX):
        try:
            return not Decimal(number) % step
        except DecimalException:  # so many digits that nobody could have meant them
            return False
