"""The earth mover's distance of t-closeness, between the values of a class and those of the whole release, in SQL.

Values that a class does not hold are never listed for it, so that many values and many classes do not multiply.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from kohort.auditor import dates
from kohort.auditor.counts import Counts, Run
from kohort.errors import RequestError
from kohort.schema.promises import Distance
from kohort.schema.trees import Tree


@dataclass(frozen=True)
class ValueDistance:
    """What the distance between two values of a sensitive column needs: a tree, or how its values are ordered."""

    tree: Tree | None = None
    """Its view `s1_tree(value, node, weight)` must be there. Values that are ordered have the order of its leaves."""
    dates: str | None = None
    """The way in which ordered values write dates, such as DD.MM.YYYY."""
    comma: bool = False
    """Ordered values are numbers with decimal commas."""


def tree_rows(tree: Tree) -> Iterator[tuple[str, int, float]]:
    """The view of a tree: for each value every node above it but the root, with what it costs to move a share past that.

    Two values are as far apart as the lowest node above both is high, over the height of the tree: half of that on the way up,
    half on the way down. Missing is a leaf right below the root, before all others.
    """
    yield "", -1, 0.5
    height = tree.node_height
    for number, leaf in enumerate(tree.leaves):
        above = dict.fromkeys(tree.ancestors[:, number].tolist())  # a leaf may stand for itself on several levels
        for node, parent in pairwise(above):
            yield leaf, node, float(height[parent] - height[node]) / (2 * tree.height)


def distance_query(counts: Counts, distance: Distance, value_distance: ValueDistance) -> str:
    """The query for the largest distance of a class."""
    if distance == "tree":
        return _along_a_tree(counts)
    return _along_an_order(counts, value_distance) if distance == "ordered" else _between_equals(counts)


def require_indices(run: Run, name: str, counts: Counts, distance: Distance, value_distance: ValueDistance) -> None:
    """Refuse values between which there is no distance; they are never shown."""
    if distance == "tree" and value_distance.tree is None:
        raise RequestError(f"Column {name!r} has no tree for t_distance=tree. Give it one (--hierarchy {name}=FILE).")
    if distance == "equal":
        return
    values, key = _keyed(counts, value_distance)
    lost = int(run(counts.ask(f"SELECT COUNT(*) FROM {values} WHERE {key} IS NULL AND v <> ''", counts.totals))[0][0])
    if lost:
        problem = "not numbers, so they have no order. Give the column a tree"
        if value_distance.tree is not None:
            problem = "not in its tree. Add them to the tree"
        elif value_distance.dates is not None:
            problem = f"not dates written as {value_distance.dates}. Mend them"
        raise RequestError(f"Column {name!r}: {lost} distinct value(s) are {problem}, or name them with --missing.")


def _keyed(counts: Counts, value_distance: ValueDistance) -> tuple[str, str]:
    """The table of values, and what they are ordered by."""
    if value_distance.tree is not None:
        leaves = f"SELECT value, MIN(node) AS leaf FROM {counts.alias}_tree GROUP BY value"  # leaves have the lowest numbers
        return f"totals LEFT JOIN ({leaves}) AS leaves ON v = value", "leaf"
    return "totals", _number(value_distance, "DOUBLE") if value_distance.dates is None else dates.as_date(
        "v", value_distance.dates
    )


def _number(value_distance: ValueDistance, kind: str) -> str:
    text = "REPLACE(v, ',', '.')" if value_distance.comma else "v"
    return f"TRY_CAST({text} AS {kind})"


def _between_equals(counts: Counts) -> str:
    """Half the sum of all |q - p|: what the class has too much of, which is as much as it has too little of elsewhere."""
    away = f"SELECT SUM(GREATEST(q - p, 0)) AS away FROM compared GROUP BY {counts.by}"
    return counts.ask(f"SELECT MAX(away) FROM ({away}) AS classes", counts.compared)


def _along_a_tree(counts: Counts) -> str:
    """The sum over all nodes of |q - p| * weight: a node that the class is not below has p * weight, as if all were such."""
    tree = f"{counts.alias}_tree"
    nodes = (
        f"nodes AS (SELECT {counts.by}, node, SUM(n) / size AS q FROM sized JOIN {tree} ON v = value "
        f"GROUP BY {counts.by}, size, node)"
    )
    release = (
        f"everywhere AS (SELECT node, weight, SUM(n) / size AS p FROM totals JOIN {tree} ON v = value "
        "GROUP BY node, weight, size)"
    )
    away = (
        "SELECT SUM((ABS(q - p) - p) * weight) AS away FROM nodes AS a JOIN everywhere AS b ON a.node = b.node "
        f"GROUP BY {counts.by}"
    )
    return counts.ask(
        f"SELECT MAX(away) + (SELECT SUM(p * weight) FROM everywhere) FROM ({away}) AS classes",
        counts.sized,
        counts.totals,
        nodes,
        release,
    )


def _along_an_order(counts: Counts, value_distance: ValueDistance) -> str:
    """The mean over all places but the last of |Q - P|, the shares of the values up to there in the class and the release.

    Q is the same from one value of the class up to the next (a run), P rises. So within a run P is below Q up to some place
    (`turn`) and above from there on, and sums of P up to a place give the sum of the run. `reached` is P in rows.
    """
    values, key = _keyed(counts, value_distance)
    if value_distance.tree is None and value_distance.dates is None:
        key += f", {_number(value_distance, 'DECIMAL(38, 0)')}"  # long integers can be equal as doubles
    order = f"ORDER BY CASE WHEN v = '' THEN 0 ELSE 1 END, {key}, v"
    indices = f"SELECT v, n, size, ROW_NUMBER() OVER ({order}) AS place FROM {values}"
    by = counts.by
    steps = (
        f"SELECT {by}, place, sum_before, LEAD(place) OVER run AS next_place, LEAD(sum_before) OVER run AS next_sum, "
        f"SUM(n) OVER run / CAST(SUM(n) OVER (PARTITION BY {by}) AS DOUBLE) AS q "
        f"FROM counts AS a JOIN sums AS b ON a.v = b.v WINDOW run AS (PARTITION BY {by} ORDER BY place)"
    )
    turns = (  # marks are few: classes of one size share them
        "SELECT q, is_q, SUM(1 - is_q) OVER up_to AS turn, SUM(reached) OVER up_to AS turn_sum FROM marks "
        "WINDOW up_to AS (ORDER BY q, is_q ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    )
    runs = (
        f"SELECT {by}, a.q * size AS level, place - 1 AS begun, sum_before, turn, turn_sum, "
        "COALESCE(next_place - 1, m) AS ended, COALESCE(next_sum, sum_of_all) AS sum_after "
        "FROM steps AS a JOIN turns AS b ON a.q = b.q AND b.is_q = 1 CROSS JOIN whole"
    )
    tables = (
        counts.totals,
        f"places AS (SELECT v, size, place, SUM(n) OVER (ORDER BY place) AS reached FROM ({indices}) AS numbered)",
        "sums AS (SELECT v, size, place, reached, SUM(reached) OVER (ORDER BY place) - reached AS sum_before FROM places)",
        "whole AS (SELECT MAX(place) AS m, SUM(reached) AS sum_of_all, MAX(size) AS size FROM places)",
        f"steps AS ({steps})",
        "marks AS (SELECT reached / size AS q, 0 AS is_q, reached FROM places UNION ALL SELECT DISTINCT q, 1, 0 FROM steps)",
        f"turns AS ({turns})",
        f"runs AS ({runs})",
    )
    run = (
        "level * (2 * LEAST(GREATEST(turn, begun), ended) - begun - ended) "
        "+ sum_before + sum_after - 2 * LEAST(GREATEST(turn_sum, sum_before), sum_after)"
    )
    gaps = f"SELECT MIN(sum_before) + SUM({run}) AS gaps FROM runs GROUP BY {by}"  # before its first value Q is 0
    mean = "MAX(gaps) / MAX(size * GREATEST(m - 1, 1))"
    return counts.ask(f"SELECT {mean} FROM ({gaps}) AS classes CROSS JOIN whole", *tables)
