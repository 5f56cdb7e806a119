"""Group sizes, in rows or, if people may have several rows, in people."""

from __future__ import annotations

from collections.abc import Sequence

from kohort.auditor.counts import PERSON, Run, same_group
from kohort.auditor.evidence import Check

MOST_CLASSES_PAIRED = 3_000  # groups; the check `wildcard` compares every group with every other
MOST_PERSONS_PAIRED = 20_000_000  # number of people in the matching groups of each group, summed over all groups


def smallest_in_persons(run: Run, quasi: Sequence[str]) -> tuple[int, str]:
    """Return the size of the smallest group in people, and the query. A person in several groups counts in each."""
    by = ", ".join(quasi)
    held = f"SELECT DISTINCT {by}, {PERSON} FROM matched"
    sql = f"SELECT MIN(n) FROM (SELECT COUNT(*) AS n FROM ({held}) AS held GROUP BY {by}) AS per_group"
    return int(run(sql)[0][0] or 0), sql


def wildcard(run: Run, quasi: Sequence[str], classes: int, k: int, *, persons: bool) -> Check:
    """Check the smallest group if missing values and `*` may match any value: each group together with all groups it matches."""
    meaning = f"Smallest group{', in people,' if persons else ''} if `*` and empty cells may match any value."
    sql = _fitting_persons(quasi) if persons else _fitting_rows(quasi)
    too_many = (
        f"{meaning} Not run: {classes:,} groups are too many to compare each with every other. "
        "The result cannot be smaller than that of check k."
    )
    if classes > MOST_CLASSES_PAIRED or (persons and int(run(_persons_paired(quasi))[0][0] or 0) > MOST_PERSONS_PAIRED):
        return Check("wildcard", k, None, "not run", too_many, (sql,))
    found = int(run(sql)[0][0] or 0)
    return Check("wildcard", k, found, "pass" if found >= k else "fail", meaning, (sql,))


def _fits(quasi: Sequence[str]) -> str:
    return " AND ".join(f"(a.{q} IS NULL OR b.{q} IS NULL OR a.{q} = '*' OR b.{q} = '*' OR a.{q} = b.{q})" for q in quasi)


def _fitting_rows(quasi: Sequence[str]) -> str:
    by = ", ".join(quasi)
    return (
        f"WITH per_group AS (SELECT {by}, COUNT(*) AS n FROM release GROUP BY {by}) "
        f"SELECT MIN(candidates) FROM (SELECT SUM(b.n) AS candidates FROM per_group AS a JOIN per_group AS b ON {_fits(quasi)} "
        f"GROUP BY {', '.join(f'a.{q}' for q in quasi)}) AS fits"
    )


def _pairs(quasi: Sequence[str]) -> str:
    """SQL tables: the people in each group (held), and the pairs of groups that match (pairs)."""
    by = ", ".join(quasi)
    return (
        f"WITH numbered AS (SELECT {by}, ROW_NUMBER() OVER (ORDER BY {by}) AS group_number "
        f"FROM (SELECT DISTINCT {by} FROM matched) AS combinations), "
        f"held AS (SELECT DISTINCT group_number, {PERSON} FROM matched AS a JOIN numbered AS b ON {same_group(quasi)}), "
        "pairs AS (SELECT a.group_number AS one, b.group_number AS other "
        f"FROM numbered AS a JOIN numbered AS b ON {_fits(quasi)})"
    )


def _persons_paired(quasi: Sequence[str]) -> str:
    sizes = "SELECT group_number, COUNT(*) AS n FROM held GROUP BY group_number"
    return f"{_pairs(quasi)} SELECT SUM(n) FROM pairs JOIN ({sizes}) AS sizes ON other = group_number"


def _fitting_persons(quasi: Sequence[str]) -> str:
    """Join the people, not their counts: a person in two matching groups is one candidate."""
    candidates = f"SELECT DISTINCT one, {PERSON} FROM pairs JOIN held ON other = group_number"
    return f"{_pairs(quasi)} SELECT MIN(n) FROM (SELECT COUNT(*) AS n FROM ({candidates}) AS candidates GROUP BY one) AS fits"
