"""SQL tables that count how often each sensitive value occurs in each group. All promises except k are checked on them.

Values are compared as text. All missing values count as one value, written as the empty text, so that values are never NULL and
can be joined. If people may have several rows, a value counts once for each person who has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Run = Callable[[str], Sequence[tuple[Any, ...]]]

PERSON = "u1_original"
"""Column that says which person a row belongs to. It is in the view `matched`, never in the release."""


@dataclass(frozen=True)
class Counts:
    """SQL for the tables of one sensitive column."""

    quasi: Sequence[str]
    alias: str
    persons: bool = False
    missing: Sequence[str] = ()

    @property
    def by(self) -> str:
        """The columns to group by."""
        return ", ".join(self.quasi)

    def query(self, select: str, *tables: str) -> str:
        """Return a query that can use `cells` (q1.., v), `counts` (q1.., v, n) and the given tables, each `name AS (...)`."""
        return f"WITH {', '.join([self._cells, self._counts, *tables])} {select}"

    @property
    def _cells(self) -> str:
        """The values of the column: one for each row or, with `persons`, one for each person and value in a group."""
        view, kept = ("matched", f"DISTINCT {self.by}, {PERSON}") if self.persons else ("release", self.by)
        tokens = ", ".join(literal(token) for token in ("", *self.missing))
        text = f"CAST({self.alias} AS STRING)"
        # Trees and limits write 1.0 as 1 and -0 as 0. Text columns are not changed.
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
        """`counts` with the total count of the group in each row (size)."""
        return f"sized AS (SELECT {self.by}, v, n, CAST(SUM(n) OVER (PARTITION BY {self.by}) AS DOUBLE) AS size FROM counts)"

    @property
    def peopled(self) -> str:
        """`counts` with the number of people in the group (size). It is less than the sum of n if a person has several values."""
        people = f"SELECT DISTINCT {self.by}, {PERSON} FROM cells"
        sizes = f"SELECT {self.by}, CAST(COUNT(*) AS DOUBLE) AS size FROM ({people}) AS people GROUP BY {self.by}"
        return f"sized AS (SELECT v, n, size FROM counts AS a JOIN ({sizes}) AS b ON {same_group(self.quasi)})"

    @property
    def totals(self) -> str:
        """Count of each value in the whole release (v, n), with the total of all counts (size)."""
        counted = "SELECT v, COUNT(*) AS n FROM cells GROUP BY v"
        if self.persons:  # a person in several groups counts once for each value
            counted = f"SELECT v, COUNT(*) AS n FROM (SELECT DISTINCT v, {PERSON} FROM cells) AS held GROUP BY v"
        return f"totals AS (SELECT v, n, CAST(SUM(n) OVER () AS DOUBLE) AS size FROM ({counted}) AS counted)"

    @property
    def compared(self) -> str:
        """For each value in each group: its share in the group (q), its share in the release (p), and q / p (ratio)."""
        ratio = "(a.n * b.size) / (a.size * b.n)"  # a single division of whole numbers has the smallest rounding error
        return (
            f"{self.sized}, {self.totals}, compared AS (SELECT {', '.join(f'a.{q}' for q in self.quasi)}, "
            f"a.n / a.size AS q, b.n / b.size AS p, {ratio} AS ratio FROM sized AS a JOIN totals AS b ON a.v = b.v)"
        )


def same_group(quasi: Sequence[str]) -> str:
    """Return the SQL condition that rows of a and b are in the same group. Missing counts as a value."""
    return " AND ".join(f"a.{q} IS NOT DISTINCT FROM b.{q}" for q in quasi)


def literal(text: str) -> str:
    r"""Return a text as an SQL literal. Quote, backslash and dollar become CHR(n), because engines escape them differently.

    >>> literal("NA"), literal("\\N")
    ("'NA'", "CONCAT('', CHR(92), 'N')")
    """
    parts = [f"CHR({ord(part)})" if part in ("'", "\\", "$") else f"'{part}'" for part in re.split(r"(['\\$])", text)]
    return parts[0] if len(parts) == 1 else f"CONCAT({', '.join(parts)})"
