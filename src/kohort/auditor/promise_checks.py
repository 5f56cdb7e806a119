"""Checks of all promises except k: for each sensitive column and promise, the figure of the worst group.

p is always the distribution of the release, which everyone who has the file can count. The SQL contains parameters but never a
value of the table: limits of single values are compared in Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kohort.auditor.counts import Counts, Run
from kohort.auditor.distances import ValueDistance, distance_query, require_distances, tree_rows
from kohort.auditor.evidence import Check, Verdict
from kohort.errors import RequestError
from kohort.schema.promises import SensitivePromise

__all__ = ["ValueDistance", "check_promises", "tree_rows"]

TOLERANCE = 1e-9
"""For promises with `<=`, because sums of shares are rounded. Promises with `<` need none: they use a single division."""
INFINITE = "CAST('Infinity' AS DOUBLE)"
NO_DISTANCE = ValueDistance()


@dataclass(frozen=True)
class _Column:
    """A sensitive column of the release and its promises."""

    run: Run
    name: str
    requested: SensitivePromise
    counts: Counts
    value_distance: ValueDistance


@dataclass
class _Finding:
    """Result of a query: the figure (None if there are no rows) and whether it satisfies the promise."""

    required: float | str
    found: float | None
    holds: bool
    meaning: str
    queries: list[str] = field(default_factory=list)
    warn: bool = False


def check_promises(
    run: Run,
    aliases: Mapping[str, str],
    sensitive_promises: Mapping[str, SensitivePromise],
    *,
    persons: bool,
    missing: Sequence[str] = (),
    value_distances: Mapping[str, ValueDistance] | None = None,
) -> list[Check]:
    """Return one check for each promise of each sensitive column. The keys of both mappings are column names."""
    quasi = [alias for alias in aliases if alias.startswith("q")]
    alias_of = {name: alias for alias, name in aliases.items() if alias.startswith("s")}
    unknown = [name for name, requested in sensitive_promises.items() if requested.requested and name not in alias_of]
    if unknown:
        raise RequestError(
            [f"Column {name!r} has promises but is no sensitive column. Set sensitive (--sensitive {name})." for name in unknown]
        )
    checks = []
    for name, requested in sensitive_promises.items():
        for promise in requested.requested:
            value_distance = (value_distances or {}).get(name, NO_DISTANCE)
            column = _Column(run, name, requested, Counts(quasi, alias_of[name], persons, missing), value_distance)
            checks.append(_checked(promise, column))
    return checks


def _checked(promise: str, column: _Column) -> Check:
    finding = _FINDERS[promise](column)
    meaning = finding.meaning + (" Counted in people." if column.counts.persons else "")
    name = f"{promise} {column.name}"
    if finding.found is None:
        return Check(name, finding.required, None, "not run", f"{meaning} Not run: there are no rows.", tuple(finding.queries))
    verdict: Verdict = "fail" if not finding.holds else "warn" if finding.warn else "pass"
    return Check(name, finding.required, _rounded(finding.found), verdict, meaning, tuple(finding.queries))


def _rounded(found: float) -> float | str:
    if isinstance(found, int) or math.isinf(found):
        return found if isinstance(found, int) else "inf"
    return float(f"{round(found, 12):.6g}")  # rounding errors close to 0 become 0


def _figure(column: _Column, select: str, *tables: str) -> tuple[float | None, list[str]]:
    """Run a query that returns one number. Return the number and the query."""
    query = column.counts.query(select, *tables)
    found = column.run(query)[0][0]
    return (None if found is None else float(found)), [query]


def _alpha(column: _Column) -> _Finding:
    default, own = column.requested.limits
    meaning = f"Largest share of one value of {column.name!r} in a group"
    sized = column.counts.peopled if column.counts.persons else column.counts.sized
    if not own:
        found, queries = _figure(column, "SELECT MAX(n / size) FROM sized", sized)
        return _Finding(default, found, found is not None and found <= default + TOLERANCE, f"{meaning}.", queries)
    query = column.counts.query("SELECT v, MAX(n / size) FROM sized GROUP BY v", sized)
    shares = {str(value): float(share) for value, share in column.run(query)}
    limit_of = {"" if value in column.counts.missing else value: limit for value, limit in own.items()}
    limited = [(share, limit) for value, share in shares.items() if (limit := limit_of.get(value, default)) < 1]
    closest = max((share / limit for share, limit in limited), default=0.0)
    broken, absent = sum(share > limit + TOLERANCE for share, limit in limited), sum(value not in shares for value in limit_of)
    others = f"All other values have the limit {default:g}." if default < 1 else "The other values have no limit."
    meaning += f", divided by the limit of that value. Values with their own limit: {len(own)}. {others}"
    meaning += f" Values with a limit that are not in the release: {absent}. Check how they are written." if absent else ""
    return _Finding(1.0, closest if shares else None, broken == 0, meaning, [query], warn=absent > 0)


def _l(column: _Column) -> _Finding:
    least = column.requested.l or 0
    groups = f"SELECT COUNT(*) AS different FROM counts GROUP BY {column.counts.by}"
    found, queries = _figure(column, f"SELECT MIN(different) FROM ({groups}) AS per_group")
    different = None if found is None else int(found)
    meaning = f"Fewest different values of {column.name!r} in a group."
    return _Finding(least, different, (different or 0) >= least, meaning, queries)


def _entropy(column: _Column) -> _Finding:
    least = column.requested.entropy_l or 0.0
    entropy = "LN(SUM(n)) - SUM(n * LN(n)) / SUM(n)"
    groups = f"SELECT EXP({entropy}) AS effective FROM counts GROUP BY {column.counts.by}"
    found, queries = _figure(column, f"SELECT MIN(effective) FROM ({groups}) AS per_group")
    meaning = f"Diversity of {column.name!r} in the least diverse group: number of equally frequent values with the same entropy."
    return _Finding(least, found, (found or 0) * (1 + TOLERANCE) >= least, meaning, queries)


def _recursive(column: _Column) -> _Finding:
    many, factor = column.requested.recursive_l or (0, 0.0)
    by = column.counts.by
    ranked = f"ranked AS (SELECT {by}, n, ROW_NUMBER() OVER (PARTITION BY {by} ORDER BY n DESC) AS place FROM counts)"
    ratio = f"MAX(n) / CAST(NULLIF(SUM(CASE WHEN place >= {many} THEN n ELSE 0 END), 0) AS DOUBLE)"
    groups = f"SELECT COALESCE({ratio}, {INFINITE}) AS ratio FROM ranked GROUP BY {by}"
    found, queries = _figure(column, f"SELECT MAX(ratio) FROM ({groups}) AS per_group", ranked)
    meaning = (
        f"Count of the most frequent value of {column.name!r} in a group, divided by the count of all values from rank {many} "
        "on. Largest of all groups. It must be less than c."
    )
    return _Finding(factor, found, found is not None and found < factor, meaning, queries)


def _t(column: _Column) -> _Finding:
    most, distance = column.requested.t or 0.0, column.requested.distance
    require_distances(column.run, column.name, column.counts, distance, column.value_distance)
    query = distance_query(column.counts, distance, column.value_distance)
    found = column.run(query)[0][0]
    figure = None if found is None else float(found)
    meaning = f"Largest distance ({distance}) between the values of {column.name!r} in a group and in the whole release."
    return _Finding(most, figure, figure is not None and figure <= most + TOLERANCE, meaning, [query])


def _beta(column: _Column) -> _Finding:
    most, kind = column.requested.beta or 0.0, column.requested.beta_kind or "enhanced"
    limit = f"CAST({most!r} AS DOUBLE)" if kind == "basic" else f"LEAST(CAST({most!r} AS DOUBLE), -LN(p))"
    over = f"ratio - 1 > {limit} + {TOLERANCE!r} * (1 + {limit})"
    select = f"SELECT MAX(ratio) - 1, COUNT(CASE WHEN {over} THEN 1 END) FROM compared"
    query = column.counts.query(select, column.counts.compared)
    found, broken = column.run(query)[0]
    meaning = (
        f"Largest relative increase of the share of a value of {column.name!r} from the whole release to a group ({kind}). "
        f"Shares above the limit: {broken}."
    )
    return _Finding(most, None if found is None else float(found), broken == 0, meaning, [query])


def _delta(column: _Column) -> _Finding:
    most = column.requested.delta or 0.0
    groups = f"SELECT COUNT(*) AS different, MAX(ABS(LOG2(ratio))) AS worst FROM compared GROUP BY {column.counts.by}"
    worst = f"CASE WHEN different < (SELECT COUNT(*) FROM totals) THEN {INFINITE} ELSE worst END"
    found, queries = _figure(column, f"SELECT MAX({worst}) FROM ({groups}) AS per_group", column.counts.compared)
    meaning = (
        f"Largest |log2(q / p)| of a value of {column.name!r}: q is its share in a group, p its share in the release. "
        "inf: a group lacks a value."
    )
    return _Finding(most, found, found is not None and found < most, meaning, queries)


_FINDERS: dict[str, Callable[[_Column], _Finding]] = {
    "alpha": _alpha,
    "l": _l,
    "entropy_l": _entropy,
    "recursive_l": _recursive,
    "t": _t,
    "beta": _beta,
    "delta": _delta,
}
