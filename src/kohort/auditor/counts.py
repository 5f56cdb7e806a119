"""How often each sensitive value is in each class: the SQL tables on which every promise beyond k is asked.

A value is its text. All that is missing is one value and is spelt as the empty text, so that values are never NULL and can
be joined. Where persons have several rows, a value is counted once for each person who holds it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Run = Callable[[str], Sequence[tuple[Any, ...]]]

PERSON = "u1_original"
"""Whose a row is: a column of the view `matched`, never of the release."""


@dataclass(frozen=True)
class Counts:
    """The tables of one sensitive column, and queries on them."""

    quasi: Sequence[str]
    alias: str
    persons: bool = False
    missing: Sequence[str] = ()

    @property
    def by(self) -> str:
        """What makes a class."""
        return ", ".join(self.quasi)

    def ask(self, select: str, *tables: str) -> str:
        """A query on `cells` (q1.., v) and `counts` (q1.., v, n), and on the tables given, each `name AS (...)`."""
        return f"WITH {', '.join([self._cells, self._counts, *tables])} {select}"

    @property
    def _cells(self) -> str:
        """The cells of the column, one for each row or, with persons, one for each person and value of a class."""
        view, kept = ("matched", f"DISTINCT {self.by}, {PERSON}") if self.persons else ("release", self.by)
        tokens = ", ".join(literal(token) for token in ("", *self.missing))
        text = f"CAST({self.alias} AS STRING)"
        # 1.0 is named 1 in trees and limits, as elsewhere, and -0 is 0; in a column of text all stay what they are.
        number = f"REGEXP_REPLACE(REGEXP_REPLACE({text}, '[.]0$', ''), '^-0$', '0')"
        texts = (
            f"SELECT *, CASE WHEN floating THEN {number} ELSE {text} END AS text "
            f"FROM (SELECT *, LOWER(TYPEOF({self.alias})) IN ('float', 'double') AS floating FROM {view}) AS kinds"
        )
        is_missing = f"text IS NULL OR text IN ({tokens}) OR (floating AND LOWER(text) = 'nan')"
        return f"cells AS (SELECT {kept}, CASE WHEN {is_missing} THEN '' ELSE text END AS v FROM ({texts}) AS texts)"

    @property
    def _counts(self) -> str:
        return f"counts AS (SELECT {self.by}, v, COUNT(*) AS n FROM cells GROUP BY {self.by}, v)"

    @property
    def sized(self) -> str:
        """`counts`, and beside each the sum of its class."""
        return f"sized AS (SELECT {self.by}, v, n, CAST(SUM(n) OVER (PARTITION BY {self.by}) AS DOUBLE) AS size FROM counts)"

    @property
    def peopled(self) -> str:
        """`counts`, and beside each the persons of its class: fewer than the sum of the class, if some hold several values."""
        everybody = f"SELECT DISTINCT {self.by}, {PERSON} FROM cells"
        sizes = f"SELECT {self.by}, CAST(COUNT(*) AS DOUBLE) AS size FROM ({everybody}) AS everybody GROUP BY {self.by}"
        return f"sized AS (SELECT v, n, size FROM counts AS a JOIN ({sizes}) AS b ON {same_class(self.quasi)})"

    @property
    def totals(self) -> str:
        """How often each value is in the whole release (v, n), and beside it the sum of all (size)."""
        counted = "SELECT v, COUNT(*) AS n FROM cells GROUP BY v"
        if self.persons:  # one who is in several classes holds a value once
            counted = f"SELECT v, COUNT(*) AS n FROM (SELECT DISTINCT v, {PERSON} FROM cells) AS held GROUP BY v"
        return f"totals AS (SELECT v, n, CAST(SUM(n) OVER () AS DOUBLE) AS size FROM ({counted}) AS counted)"

    @property
    def compared(self) -> str:
        """For each value of each class its share there (q), in the release (p), and what q is of p (ratio)."""
        ratio = "(a.n * b.size) / (a.size * b.n)"  # one division of whole numbers: exact where it can be
        return (
            f"{self.sized}, {self.totals}, compared AS (SELECT {', '.join(f'a.{q}' for q in self.quasi)}, "
            f"a.n / a.size AS q, b.n / b.size AS p, {ratio} AS ratio FROM sized AS a JOIN totals AS b ON a.v = b.v)"
        )


def same_class(quasi: Sequence[str]) -> str:
    """A condition of joining a and b: missing is a value."""
    return " AND ".join(f"a.{q} IS NOT DISTINCT FROM b.{q}" for q in quasi)


def literal(text: str) -> str:
    r"""A text in SQL. Engines do not agree on what a quote, a backslash or a dollar means inside one, but on their numbers.

    >>> literal("NA"), literal("\\N")
    ("'NA'", "CONCAT('', CHR(92), 'N')")
    """
    parts = [f"CHR({ord(part)})" if part in ("'", "\\", "$") else f"'{part}'" for part in re.split(r"(['\\$])", text)]
    return parts[0] if len(parts) == 1 else f"CONCAT({', '.join(parts)})"
