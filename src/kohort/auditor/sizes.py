"""How many share each published combination: in rows, or in persons where they have several."""

from __future__ import annotations

from collections.abc import Sequence

from kohort.auditor.counts import PERSON, Run, same_class
from kohort.auditor.evidence import Check

MOST_CLASSES_PAIRED = 3_000  # the wildcard reading compares every class with every other
MOST_PERSONS_PAIRED = 20_000_000  # persons of all classes that fit one, summed over the classes


def smallest_in_persons(run: Run, quasi: Sequence[str]) -> tuple[int, str]:
    """The fewest persons of a class, and the query. One who is in several classes counts in each."""
    by = ", ".join(quasi)
    held = f"SELECT DISTINCT {by}, {PERSON} FROM matched"
    sql = f"SELECT MIN(n) FROM (SELECT COUNT(*) AS n FROM ({held}) AS held GROUP BY {by}) AS classes"
    return int(run(sql)[0][0] or 0), sql


def wildcard(run: Run, quasi: Sequence[str], classes: int, k: int, *, persons: bool) -> Check:
    """Who could a person be who reads missing and `*` as anything? Each class with all that it does not contradict."""
    meaning = f"fewest {'persons' if persons else 'records'} that fit one class when missing and * may stand for anything"
    sql = _fitting_persons(quasi) if persons else _fitting_rows(quasi)
    too_many = f"{meaning}; {classes} classes are too many to pair, and it could only find more than the smallest class"
    if classes > MOST_CLASSES_PAIRED or (persons and int(run(_persons_paired(quasi))[0][0] or 0) > MOST_PERSONS_PAIRED):
        return Check("wildcard", k, None, "not run", too_many, (sql,))
    found = int(run(sql)[0][0] or 0)
    return Check("wildcard", k, found, "pass" if found >= k else "fail", meaning, (sql,))


def _fits(quasi: Sequence[str]) -> str:
    return " AND ".join(f"(a.{q} IS NULL OR b.{q} IS NULL OR a.{q} = '*' OR b.{q} = '*' OR a.{q} = b.{q})" for q in quasi)


def _fitting_rows(quasi: Sequence[str]) -> str:
    by = ", ".join(quasi)
    return (
        f"WITH classes AS (SELECT {by}, COUNT(*) AS n FROM release GROUP BY {by}) "
        f"SELECT MIN(candidates) FROM (SELECT SUM(b.n) AS candidates FROM classes AS a JOIN classes AS b ON {_fits(quasi)} "
        f"GROUP BY {', '.join(f'a.{q}' for q in quasi)}) AS fits"
    )


def _pairs(quasi: Sequence[str]) -> str:
    """Tables: the persons of each class, and which classes fit which."""
    by = ", ".join(quasi)
    return (
        f"WITH classes AS (SELECT {by}, ROW_NUMBER() OVER (ORDER BY {by}) AS class "
        f"FROM (SELECT DISTINCT {by} FROM matched) AS told), "
        f"held AS (SELECT DISTINCT class, {PERSON} FROM matched AS a JOIN classes AS b ON {same_class(quasi)}), "
        f"pairs AS (SELECT a.class AS one, b.class AS other FROM classes AS a JOIN classes AS b ON {_fits(quasi)})"
    )


def _persons_paired(quasi: Sequence[str]) -> str:
    sizes = "SELECT class, COUNT(*) AS n FROM held GROUP BY class"
    return f"{_pairs(quasi)} SELECT SUM(n) FROM pairs JOIN ({sizes}) AS sizes ON other = class"


def _fitting_persons(quasi: Sequence[str]) -> str:
    """One who is in two classes that fit is one candidate, so the persons themselves are joined, not their numbers."""
    candidates = f"SELECT DISTINCT one, {PERSON} FROM pairs JOIN held ON other = class"
    return f"{_pairs(quasi)} SELECT MIN(n) FROM (SELECT COUNT(*) AS n FROM ({candidates}) AS candidates GROUP BY one) AS fits"
