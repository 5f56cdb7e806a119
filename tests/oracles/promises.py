"""Check whether a published table keeps its promises, in SQL written from the definitions and in simple Python.

It imports nothing from kohort. A group is all rows with equal published quasi-identifiers; missing values are equal to each
other. In a sensitive column all missing values are one value. If the person of each row is given, people are counted, not rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from scipy.optimize import linprog
from scipy.stats import wasserstein_distance

TINY = 1e-9  # sums of shares differ in their last digits if added in another order
MISSING = ""
"""The text of the missing value in SQL and in the oracles. An empty text also counts as missing."""

Counts = Mapping[str, int]
Rows = Sequence[Sequence[str]]

_CELLS = """
CREATE OR REPLACE TEMP TABLE cells AS
SELECT dense_rank() OVER (ORDER BY {quasi}) AS class, person, {value} AS value FROM published
"""
_COUNTS = """
WITH sizes AS (SELECT class, COUNT(DISTINCT person) AS size FROM cells GROUP BY class),
held AS (SELECT class, value, COUNT(DISTINCT person) AS n FROM cells GROUP BY class, value),
overall AS (SELECT value, COUNT(DISTINCT person) AS n FROM cells GROUP BY value),
spelt AS (SELECT BOOL_AND(TRY_CAST(value AS DOUBLE) IS NOT NULL) AS as_numbers FROM overall WHERE value <> ''),
expected AS (
    SELECT value, n / SUM(n) OVER () AS p, COUNT(*) OVER () AS m,
        row_number() OVER (ORDER BY value <> '', leaf, CASE WHEN as_numbers THEN TRY_CAST(value AS DOUBLE) END, value) AS place
    FROM overall CROSS JOIN spelt LEFT JOIN leaves USING (value)
),
pairs AS (
    SELECT class, value, place, m, p, COALESCE(n, 0) AS n, COALESCE(n, 0) / SUM(n) OVER (PARTITION BY class) AS q
    FROM (SELECT DISTINCT class FROM cells) AS classes CROSS JOIN expected LEFT JOIN held USING (class, value)
)
"""
_WORST = {
    "k": "SELECT MIN(size) FROM sizes",
    "alpha": """
        SELECT MAX(n / size / COALESCE(share, $default)) FROM held JOIN sizes USING (class) LEFT JOIN limits USING (value)""",
    "l": "SELECT MIN(different) FROM (SELECT COUNT(*) AS different FROM held GROUP BY class)",
    "entropy_l": "SELECT MIN(l) FROM (SELECT EXP(-SUM(q * LN(q))) AS l FROM pairs WHERE n > 0 GROUP BY class)",
    "recursive_l": """
        SELECT MAX(COALESCE(most / rest, 'infinity')) FROM (
            SELECT MAX(n) AS most, SUM(n) FILTER (rank >= $l) AS rest FROM (
                SELECT class, n, row_number() OVER (PARTITION BY class ORDER BY n DESC) AS rank FROM held
            ) GROUP BY class
        )""",
    "equal": "SELECT MAX(far) FROM (SELECT SUM(ABS(q - p)) / 2 AS far FROM pairs GROUP BY class)",
    "ordered": """
        SELECT MAX(far) FROM (
            SELECT SUM(ABS(gap)) / GREATEST(ANY_VALUE(m) - 1, 1) AS far FROM (
                SELECT class, m, SUM(q - p) OVER (PARTITION BY class ORDER BY place) AS gap FROM pairs
            ) GROUP BY class
        )""",
    "tree": """
        SELECT COALESCE(MAX(far), 0) FROM (
            SELECT SUM(ABS(gap) * length) AS far FROM (
                SELECT class, node, ANY_VALUE(length) AS length, SUM(q - p) AS gap FROM pairs JOIN edges USING (value)
                GROUP BY class, node
            ) GROUP BY class
        )""",
    "basic": "SELECT MAX(q / p - 1 - $beta) FROM pairs",
    "enhanced": "SELECT MAX(q / p - 1 - LEAST($beta, -LN(p))) FROM pairs",
    "delta": "SELECT MAX(CASE WHEN n = 0 THEN 'infinity' ELSE ABS(LOG2(q / p)) END) FROM pairs",
}


def broken(
    release: pa.Table,
    quasi: Sequence[str],
    k: int,
    requested: Mapping[str, Mapping[str, Any]],
    *,
    persons: Sequence[Any] | None = None,
    missing: Iterable[str] = (),
    trees: Mapping[str, Rows] | None = None,
) -> list[str]:
    """Return the promises that a published table does not keep, as `k` or `column.promise`.

    `requested` has the promises by column. `persons` has the person of each row. `trees` has the rows of the tree of a sensitive
    column, in the order of its values.
    """
    found = [] if worst(release, quasi, quasi[0], "k", {}, persons=persons) >= k else ["k"]
    for column, settings in requested.items():
        for promise in settings:
            if promise in ("t_distance", "beta_kind"):
                continue
            tree = (trees or {}).get(column, ())
            figure = worst(release, quasi, column, promise, settings, persons=persons, missing=missing, tree=tree)
            if not _is_kept(promise, figure, settings[promise]):
                found.append(f"{column}.{promise}")
    return found


def _is_kept(promise: str, figure: float, parameter: Any) -> bool:
    """Compare the figure of the worst group with the parameter of the promise."""
    match promise:
        case "alpha":
            return figure <= 1 + TINY  # the share of a value divided by its limit
        case "l" | "entropy_l":
            return bool(figure >= parameter - TINY)
        case "recursive_l":
            return bool(figure < parameter[1])
        case "t":
            return bool(figure <= parameter + TINY)
        case "beta":
            return figure <= TINY  # the gain minus the largest allowed gain
        case "delta":
            return bool(figure < parameter)
    raise AssertionError(promise)


def worst(
    release: pa.Table,
    quasi: Sequence[str],
    column: str,
    promise: str,
    settings: Mapping[str, Any],
    *,
    persons: Sequence[Any] | None = None,
    missing: Iterable[str] = (),
    tree: Rows = (),
) -> float:
    """Return the figure of the worst group for a promise. `_is_kept` shows how it is compared."""
    if not release.num_rows:
        return math.nan
    question, parameters = _question(promise, settings)
    published = {f"q{number}": _text(release.column(name)) for number, name in enumerate(quasi)}
    whose = pa.array([str(person) for person in persons] if persons is not None else np.arange(release.num_rows))
    table = pa.table({**published, "s": release.column(column), "person": whose})
    limits, default = _limits(settings.get("alpha"))
    parameters |= {"default": default} if promise == "alpha" else {}
    with _connection().cursor() as connection:
        connection.register("published", table)
        connection.register("limits", pa.table({"value": pa.array(limits, pa.string()), "share": pa.array(limits.values())}))
        connection.register("edges", _edges(tree))
        connection.register(
            "leaves", pa.table({"value": pa.array([row[0] for row in tree], pa.string()), "leaf": range(len(tree))})
        )
        value = _value(table.schema.field("s").type, missing)
        connection.execute(_CELLS.format(quasi=", ".join(published), value=value))
        return float(connection.execute(_COUNTS + question, parameters).fetchall()[0][0])


def different(column: pa.ChunkedArray) -> int:
    """Return how many different values a sensitive column has, including missing."""
    one_group = pa.table({"q": pa.nulls(len(column), pa.string()), "s": column})
    return int(worst(one_group, ["q"], "s", "l", {}))


@cache
def _connection() -> Any:
    """Return one connection for all queries, because opening one takes longer than most queries. Small tables need one thread."""
    return duckdb.connect(config={"threads": 1})


def _question(promise: str, settings: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the SQL of a promise and its parameters."""
    match promise:
        case "t":
            return _WORST[settings.get("t_distance") or "equal"], {}
        case "beta":
            return _WORST[settings.get("beta_kind") or "enhanced"], {"beta": settings["beta"]}
        case "recursive_l":
            return _WORST[promise], {"l": settings["recursive_l"][0]}
    return _WORST[promise], {}


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string())


def _value(kind: pa.DataType, missing: Iterable[str]) -> str:
    """Return SQL for a sensitive cell as text. All missing values become the empty text."""
    tokens = ", ".join("'" + token.replace("'", "''") + "'" for token in (MISSING, *missing))
    gone = "s IS NULL OR " + ("isnan(s) OR " if pa.types.is_floating(kind) else "")
    return f"CASE WHEN {gone}CAST(s AS VARCHAR) IN ({tokens}) THEN '' ELSE CAST(s AS VARCHAR) END"


def _limits(alpha: Any) -> tuple[dict[str, float], float]:
    """Return the limits of single values, and the limit of all other values; 1 means no limit."""
    if isinstance(alpha, Mapping):
        return {value: float(share) for value, share in alpha.items() if value != "default"}, float(alpha.get("default", 1))
    return {}, float(alpha or 1)


def _edges(tree: Rows) -> pa.Table:
    """Return the edges above each value, named by their lower node. The path between two leaves is as long as their distance.

    The distance of two leaves is the height of their common ancestor, so half of it is on either side. Over each edge the
    surplus of one distribution must be moved, and no more: the sum is the earth mover's distance in a tree.
    """
    heights = _heights(tree)
    whole = max(heights.values(), default=1)
    found = []
    for row in [*tree, (MISSING, "*")]:
        for below, above in pairwise([(*row[::-1][: depth + 1],) for depth in range(len(row))][::-1]):
            found.append((row[0], "/".join(below), (heights.get(above, whole) - heights.get(below, 0)) / 2 / whole))
    value, node, length = zip(*found, strict=True)
    return pa.table({"value": value, "node": node, "length": length})


def _heights(tree: Rows) -> dict[tuple[str, ...], int]:
    """Return the height of each node: the number of edges to its deepest leaf. Nodes are named by their paths from the root."""
    heights: dict[tuple[str, ...], int] = {}
    for row in tree:
        path = tuple(row[::-1])
        for depth in range(len(path)):
            node = path[: depth + 1]
            heights[node] = max(heights.get(node, 0), len(path) - len(node))
    return heights


# --- one group at a time, in Python: `counts` has the rows or people with each value


def entropy_l(counts: Counts) -> float:
    """Return exp(entropy): the number of equally frequent values that have the same entropy."""
    total = sum(counts.values())
    return math.exp(-sum(count / total * math.log(count / total) for count in counts.values()))


def is_recursive(counts: Counts, l: int, c: float) -> bool:  # noqa: E741 - the usual name in papers
    """Return whether r1 < c * (r_l + ... + r_m), where r are the counts in descending order."""
    falling = sorted(counts.values(), reverse=True)
    return falling[0] < c * sum(falling[l - 1 :])


def equal_distance(here: Counts, everywhere: Counts) -> float:
    """Return the earth mover's distance if all values have distance 1."""
    one, other = _shares(here, everywhere)
    return float(np.abs(one - other).sum() / 2)


def ordered_distance(here: Counts, everywhere: Counts) -> float:
    """Return the earth mover's distance of ranks. `everywhere` has the values in their order."""
    if len(everywhere) < 2:
        return 0.0
    positions = np.arange(len(everywhere)) / (len(everywhere) - 1)
    return float(wasserstein_distance(positions, positions, *_shares(here, everywhere)))


def tree_distance(here: Counts, everywhere: Counts, tree: Rows) -> float:
    """Return the cost of the cheapest plan that turns one distribution into the other, by a linear program over all pairs."""
    one, other = _shares(here, everywhere)
    m = len(one)
    heights = _heights(tree)
    paths = {row[0]: tuple(row[::-1]) for row in tree} | {MISSING: ("*", MISSING)}

    def apart(a: str, b: str) -> float:
        if a == b:
            return 0.0
        shared = [x for x, y in zip(paths[a], paths[b], strict=False) if x == y]
        return heights[tuple(shared)] / max(heights.values())

    costs = [apart(a, b) for a in everywhere for b in everywhere]
    leaving, arriving = np.kron(np.eye(m), np.ones(m)), np.kron(np.ones(m), np.eye(m))
    plan = linprog(costs, A_eq=np.vstack([leaving, arriving]), b_eq=np.concatenate([one, other]))
    assert plan.success
    return float(plan.fun)


def _shares(here: Counts, everywhere: Counts) -> tuple[Any, Any]:
    """Return the shares of all values in a group and in the whole table."""
    one = np.array([here.get(value, 0) for value in everywhere], float)
    other = np.array(list(everywhere.values()), float)
    return one / one.sum(), other / other.sum()
