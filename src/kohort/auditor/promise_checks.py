"""The re-check of the promises beyond k: of each sensitive column, the class that keeps each promise least.

p is always the release's own distribution, which anyone can see who has the file. Parameters stand in the SQL; values never do:
limits of single values are compared here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kohort.auditor.counts import Counts, Run
from kohort.auditor.distances import ValueDistance, distance_query, require_indices, tree_rows
from kohort.auditor.evidence import Check, Verdict
from kohort.errors import RequestError
from kohort.schema.promises import SensitivePromise

__all__ = ["ValueDistance", "check_promises", "tree_rows"]

TOLERANCE = 1e-9
"""Of limits that may be reached: sums of shares are rounded. Limits to be undercut are compared with one exact division."""
INFINITE = "CAST('Infinity' AS DOUBLE)"
UNGROUNDED = ValueDistance()


@dataclass(frozen=True)
class _Column:
    """A sensitive column of the release, and what is promised about it."""

    run: Run
    name: str
    requested: SensitivePromise
    counts: Counts
    value_distance: ValueDistance


@dataclass
class _Finding:
    """What the queries found: a figure, None where there are no rows, and whether it keeps the promise."""

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
    """One check for each promise about each sensitive column; both mappings are by the columns' names."""
    quasi = [alias for alias in aliases if alias.startswith("q")]
    alias_of = {name: alias for alias, name in aliases.items() if alias.startswith("s")}
    unknown = [name for name, requested in sensitive_promises.items() if requested.requested and name not in alias_of]
    if unknown:
        raise RequestError([f"Column {name!r} has promises, but is no sensitive column of the release." for name in unknown])
    checks = []
    for name, requested in sensitive_promises.items():
        for promise in requested.requested:
            value_distance = (value_distances or {}).get(name, UNGROUNDED)
            column = _Column(run, name, requested, Counts(quasi, alias_of[name], persons, missing), value_distance)
            checks.append(_checked(promise, column))
    return checks


def _checked(promise: str, column: _Column) -> Check:
    finding = _FINDERS[promise](column)
    meaning = finding.meaning + (", counted in persons" if column.counts.persons else "")
    name = f"{promise} {column.name}"
    if finding.found is None:
        return Check(name, finding.required, None, "not run", f"{meaning}; there are no rows", tuple(finding.queries))
    verdict: Verdict = "fail" if not finding.holds else "warn" if finding.warn else "pass"
    return Check(name, finding.required, _rounded(finding.found), verdict, meaning, tuple(finding.queries))


def _rounded(found: float) -> float | str:
    if isinstance(found, int) or math.isinf(found):
        return found if isinstance(found, int) else "inf"
    return float(f"{round(found, 12):.6g}")  # what rounding leaves of nothing is nothing


def _figure(column: _Column, select: str, *tables: str) -> tuple[float | None, list[str]]:
    """The one number that a query gives, and the query."""
    query = column.counts.ask(select, *tables)
    found = column.run(query)[0][0]
    return (None if found is None else float(found)), [query]


def _alpha(column: _Column) -> _Finding:
    default, own = column.requested.limits
    meaning = f"largest share of a class that holds one value of {column.name!r}"
    sized = column.counts.peopled if column.counts.persons else column.counts.sized
    if not own:
        found, queries = _figure(column, "SELECT MAX(n / size) FROM sized", sized)
        return _Finding(default, found, found is not None and found <= default + TOLERANCE, meaning, queries)
    query = column.counts.ask("SELECT v, MAX(n / size) FROM sized GROUP BY v", sized)
    shares = {str(value): float(share) for value, share in column.run(query)}
    limit_of = {"" if value in column.counts.missing else value: limit for value, limit in own.items()}
    limited = [(share, limit) for value, share in shares.items() if (limit := limit_of.get(value, default)) < 1]
    closest = max((share / limit for share, limit in limited), default=0.0)
    broken, absent = sum(share > limit + TOLERANCE for share, limit in limited), sum(value not in shares for value in limit_of)
    text = f"{default:g}" if default < 1 else "none"
    meaning += f" over the limit of that value, of which {len(own)} have their own and the others {text}"
    meaning += f"; {absent} value(s) with a limit are not in the release: are they spelt as there?" if absent else ""
    return _Finding(1.0, closest if shares else None, broken == 0, meaning, [query], warn=absent > 0)


def _l(column: _Column) -> _Finding:
    least = column.requested.l or 0
    classes = f"SELECT COUNT(*) AS different FROM counts GROUP BY {column.counts.by}"
    found, queries = _figure(column, f"SELECT MIN(different) FROM ({classes}) AS classes")
    different = None if found is None else int(found)
    meaning = f"fewest different values of {column.name!r} in a class"
    return _Finding(least, different, (different or 0) >= least, meaning, queries)


def _entropy(column: _Column) -> _Finding:
    least = column.requested.entropy_l or 0.0
    entropy = "LN(SUM(n)) - SUM(n * LN(n)) / SUM(n)"
    classes = f"SELECT EXP({entropy}) AS effective FROM counts GROUP BY {column.counts.by}"
    found, queries = _figure(column, f"SELECT MIN(effective) FROM ({classes}) AS classes")
    meaning = f"equally frequent values that would be as mixed as {column.name!r} is in the least mixed class"
    return _Finding(least, found, (found or 0) * (1 + TOLERANCE) >= least, meaning, queries)


def _recursive(column: _Column) -> _Finding:
    many, factor = column.requested.recursive_l or (0, 0.0)
    by = column.counts.by
    ranked = f"ranked AS (SELECT {by}, n, ROW_NUMBER() OVER (PARTITION BY {by} ORDER BY n DESC) AS place FROM counts)"
    ratio = f"MAX(n) / CAST(NULLIF(SUM(CASE WHEN place >= {many} THEN n ELSE 0 END), 0) AS DOUBLE)"
    classes = f"SELECT COALESCE({ratio}, {INFINITE}) AS ratio FROM ranked GROUP BY {by}"
    found, queries = _figure(column, f"SELECT MAX(ratio) FROM ({classes}) AS classes", ranked)
    meaning = f"the most frequent value of {column.name!r} in a class, as a multiple of all from number {many} on: less than c"
    return _Finding(factor, found, found is not None and found < factor, meaning, queries)


def _t(column: _Column) -> _Finding:
    most, distance = column.requested.t or 0.0, column.requested.distance
    require_indices(column.run, column.name, column.counts, distance, column.value_distance)
    query = distance_query(column.counts, distance, column.value_distance)
    found = column.run(query)[0][0]
    figure = None if found is None else float(found)
    meaning = f"largest distance ({distance}) of the values of {column.name!r} in a class from those of the release"
    return _Finding(most, figure, figure is not None and figure <= most + TOLERANCE, meaning, [query])


def _beta(column: _Column) -> _Finding:
    most, kind = column.requested.beta or 0.0, column.requested.beta_kind or "enhanced"
    limit = f"CAST({most!r} AS DOUBLE)" if kind == "basic" else f"LEAST(CAST({most!r} AS DOUBLE), -LN(p))"
    over = f"ratio - 1 > {limit} + {TOLERANCE!r} * (1 + {limit})"
    query = column.counts.ask(f"SELECT MAX(ratio) - 1, COUNT(CASE WHEN {over} THEN 1 END) FROM compared", column.counts.compared)
    found, broken = column.run(query)[0]
    meaning = (
        f"largest gain of a value of {column.name!r} in a class over its share of the release ({kind}); {broken} are too large"
    )
    return _Finding(most, None if found is None else float(found), broken == 0, meaning, [query])


def _delta(column: _Column) -> _Finding:
    most = column.requested.delta or 0.0
    classes = f"SELECT COUNT(*) AS different, MAX(ABS(LOG2(ratio))) AS worst FROM compared GROUP BY {column.counts.by}"
    worst = f"CASE WHEN different < (SELECT COUNT(*) FROM totals) THEN {INFINITE} ELSE worst END"
    found, queries = _figure(column, f"SELECT MAX({worst}) FROM ({classes}) AS classes", column.counts.compared)
    meaning = f"largest |log2| of a share of {column.name!r} in a class over that in the release, inf if a value is absent"
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
