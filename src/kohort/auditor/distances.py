"""Earth mover's distance for t-closeness in SQL: between the values of a group and those of the whole release.

The queries never list values that do not occur in a group. Otherwise their size would be groups times values.
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
from kohort.wording import counted


@dataclass(frozen=True)
class ValueDistance:
    """How to measure the distance between two values of a sensitive column: by a tree, or by the order of the values."""

    tree: Tree | None = None
    """If given, the view `s1_tree(value, node, weight)` must exist. Ordered values have the order of the leaves."""
    dates: str | None = None
    """Format of ordered values that are dates, such as DD.MM.YYYY."""
    comma: bool = False
    """Whether ordered values are numbers with decimal commas."""


def tree_rows(tree: Tree) -> Iterator[tuple[str, int, float]]:
    """Yield the rows of the view of a tree: each value with each node on its path below the root, and the node's weight.

    The weight is the cost to move a share of rows from the node to its parent. The distance between two values is the height of
    their lowest common ancestor divided by the height of the tree: half of it for the way up, half for the way down. The missing
    value is a leaf directly below the root, before all others.
    """
    yield "", -1, 0.5
    height = tree.node_height
    for number, leaf in enumerate(tree.leaves):
        above = dict.fromkeys(tree.ancestors[:, number].tolist())  # a leaf may be its own ancestor on several levels
        for node, parent in pairwise(above):
            yield leaf, node, float(height[parent] - height[node]) / (2 * tree.height)


def distance_query(counts: Counts, distance: Distance, value_distance: ValueDistance) -> str:
    """Return the query for the largest distance between a group and the release."""
    if distance == "tree":
        return _tree_distance(counts)
    return _ordered_distance(counts, value_distance) if distance == "ordered" else _equal_distance(counts)


def require_distances(run: Run, name: str, counts: Counts, distance: Distance, value_distance: ValueDistance) -> None:
    """Raise an error if some values have no distance from the others. The error never shows a value."""
    if distance == "tree" and value_distance.tree is None:
        raise RequestError(
            f"Column {name!r} has no tree, but t_distance=tree needs one. Set hierarchy (--hierarchy {name}=FILE)."
        )
    if distance == "equal":
        return
    values, key = _sort_key(counts, value_distance)
    lost = int(run(counts.query(f"SELECT COUNT(*) FROM {values} WHERE {key} IS NULL AND v <> ''", counts.totals))[0][0])
    if lost:
        problem = f"not numbers, so they have no order. Set hierarchy (--hierarchy {name}=FILE) to give the column a tree"
        if value_distance.tree is not None:
            problem = "not in the tree of the column. Add them to the tree"
        elif value_distance.dates is not None:
            problem = f"not dates written as {value_distance.dates}. Correct them"
        missing = "If such a value means 'unknown', name it in missing (--missing 'n/a')."
        raise RequestError(
            f"Column {name!r}: {counted(lost, 'distinct value')} {'is' if lost == 1 else 'are'} {problem}. {missing}"
        )


def _sort_key(counts: Counts, value_distance: ValueDistance) -> tuple[str, str]:
    """Return the table of values and the expression to sort them by."""
    if value_distance.tree is not None:
        leaves = f"SELECT value, MIN(node) AS leaf FROM {counts.alias}_tree GROUP BY value"  # leaves have the lowest numbers
        return f"totals LEFT JOIN ({leaves}) AS leaves ON v = value", "leaf"
    return "totals", _number(value_distance, "DOUBLE") if value_distance.dates is None else dates.as_date(
        "v", value_distance.dates
    )


def _number(value_distance: ValueDistance, kind: str) -> str:
    text = "REPLACE(v, ',', '.')" if value_distance.comma else "v"
    return f"TRY_CAST({text} AS {kind})"


def _equal_distance(counts: Counts) -> str:
    """Half the sum of all |q - p|. It equals the sum of the positive q - p, so values absent from the group are not needed."""
    distance = f"SELECT SUM(GREATEST(q - p, 0)) AS distance FROM compared GROUP BY {counts.by}"
    return counts.query(f"SELECT MAX(distance) FROM ({distance}) AS per_group", counts.compared)


def _tree_distance(counts: Counts) -> str:
    """The sum of |q - p| * weight over all nodes.

    A node without a value of the group contributes p * weight. The query adds p * weight for all nodes and corrects those nodes
    that have values of the group.
    """
    tree = f"{counts.alias}_tree"
    nodes = (
        f"nodes AS (SELECT {counts.by}, node, SUM(n) / size AS q FROM sized JOIN {tree} ON v = value "
        f"GROUP BY {counts.by}, size, node)"
    )
    release = (
        f"everywhere AS (SELECT node, weight, SUM(n) / size AS p FROM totals JOIN {tree} ON v = value "
        "GROUP BY node, weight, size)"
    )
    correction = (
        "SELECT SUM((ABS(q - p) - p) * weight) AS correction FROM nodes AS a JOIN everywhere AS b ON a.node = b.node "
        f"GROUP BY {counts.by}"
    )
    return counts.query(
        f"SELECT MAX(correction) + (SELECT SUM(p * weight) FROM everywhere) FROM ({correction}) AS per_group",
        counts.sized,
        counts.totals,
        nodes,
        release,
    )


def _ordered_distance(counts: Counts, value_distance: ValueDistance) -> str:
    """The mean of |Q - P| over all positions except the last.

    Q and P are the cumulative shares up to a position, in the group and in the release. From one value of the group to its next
    one (a run), Q is constant and P increases. So within a run P is below Q up to a position (`turn`) and above Q after it, and
    the sum of the run follows from cumulative sums of P. `reached` is P as a number of rows. In the SQL, `place` is the position.
    """
    values, key = _sort_key(counts, value_distance)
    if value_distance.tree is None and value_distance.dates is None:
        key += f", {_number(value_distance, 'DECIMAL(38, 0)')}"  # long integers may be equal as doubles
    order = f"ORDER BY CASE WHEN v = '' THEN 0 ELSE 1 END, {key}, v"
    indices = f"SELECT v, n, size, ROW_NUMBER() OVER ({order}) AS place FROM {values}"
    by = counts.by
    steps = (
        f"SELECT {by}, place, sum_before, LEAD(place) OVER run AS next_place, LEAD(sum_before) OVER run AS next_sum, "
        f"SUM(n) OVER run / CAST(SUM(n) OVER (PARTITION BY {by}) AS DOUBLE) AS q "
        f"FROM counts AS a JOIN sums AS b ON a.v = b.v WINDOW run AS (PARTITION BY {by} ORDER BY place)"
    )
    turns = (  # there are few marks, because groups of the same size share them
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
    gaps = f"SELECT MIN(sum_before) + SUM({run}) AS gaps FROM runs GROUP BY {by}"  # Q is 0 before the first value of the group
    mean = "MAX(gaps) / MAX(size * GREATEST(m - 1, 1))"
    return counts.query(f"SELECT {mean} FROM ({gaps}) AS per_group CROSS JOIN whole", *tables)
