"""Convert promises to plain numbers for kernels: limits per value, shares in the table, nodes of trees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kohort.encoding.sensitive import SensitiveColumn
from kohort.kernels.core.promise_rules import EQUAL, ORDERED, RECURSIVE_L, TREE, Rules, Tally
from kohort.schema.promises import DEFINITIONS, SensitivePromise
from kohort.schema.promises.definition import Shares
from kohort.schema.trees import Tree

DISTANCES = {"equal": EQUAL, "ordered": ORDERED, "tree": TREE}
NOT_REQUESTED = -1.0


def rules_of(k: int, sensitive: Sequence[SensitiveColumn], shares: Sequence[NDArray[np.float64]], *, persons: bool) -> Rules:
    """Return the promises of all sensitive columns as arrays for kernels. `persons` = people are counted, not rows."""
    promises = [sensitive_column.promise for sensitive_column in sensitive]
    first = np.cumsum([0, *(sensitive_column.values for sensitive_column in sensitive)]).astype(np.int64)
    bounds = [_bounds(promise, of_table) for promise, of_table in zip(promises, shares, strict=True)]
    up_to = [np.cumsum(of_table) for of_table in shares]
    paths = _Paths()
    for sensitive_column, of_table in zip(sensitive, shares, strict=True):
        paths.add(sensitive_column, of_table)
    of_column = [_column_rules(promise, base) for promise, base in zip(promises, paths.bases, strict=True)]
    limits = _joined([sensitive_column.limits for sensitive_column in sensitive])
    most, least = (_joined([pair[which] for pair in bounds]) for which in (0, 1))
    return Rules(
        k=k,
        persons=persons,
        shares_count=any(DEFINITIONS[name].limits_shares for one in promises for name in one.requested),
        first=first,
        least_distinct=np.array([_least_distinct(one.promise, one.values) for one in sensitive], np.int64),
        of_column=np.array(of_column, np.float64).reshape(-1, 7),
        of_value=np.column_stack([limits, most, least, _joined(shares), _joined(up_to)]),
        up_to_before=_joined([np.append(0.0, np.cumsum(sums)) for sums in up_to]),
        path=np.array(paths.ends, np.int64),
        nodes=np.array(paths.nodes, np.int64),
        of_node=np.column_stack([paths.weights, paths.shares]).astype(np.float64).reshape(-1, 2),
    )


def tally_for(rules: Rules, persons_and_pairs: int) -> Tally:
    """Return an empty tally with the array sizes that the rules need."""
    columns, values = len(rules.first) - 1, int(rules.first[-1])
    return Tally(
        sums=np.zeros((2, 1 + 2 * columns), np.int64),
        counts=np.zeros((2, values), np.int64),
        rows_of=np.zeros((2, persons_and_pairs), np.int32),
        present=np.zeros(values, np.int64),
        listed=np.zeros(columns, np.int64),
        largest=np.zeros(int(rules.of_column[:, RECURSIVE_L].max(initial=1)), np.int64),
        mass=np.zeros(len(rules.of_node)),
    )


def _joined(parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the concatenated arrays; empty if there are none."""
    return np.concatenate([np.empty(0), *parts])


def _column_rules(promise: SensitivePromise, tree_base: float) -> list[float]:
    """Return the limits of one column, in the order of `Rules.of_column`."""
    definitions = [DEFINITIONS[name] for name in promise.requested]
    rules = {"bounded": float(any(definition.bounds is not None for definition in definitions))}
    for definition in definitions:
        rules |= definition.column_rules(promise) if definition.column_rules is not None else {}
    named = ("bounded", "entropy", "recursive_l", "recursive_c", "t")
    return [*(rules.get(name, NOT_REQUESTED) for name in named), DISTANCES[promise.distance], tree_base]


def _least_distinct(promise: SensitivePromise, values: int) -> int:
    """Return how many different values a group must have. The table has `values` different values."""
    rules = (DEFINITIONS[name].distinct for name in promise.requested)
    return max((distinct(promise, values) for distinct in rules if distinct is not None), default=0)


def _bounds(promise: SensitivePromise, share: Shares) -> tuple[Shares, Shares]:
    """Return the largest and the smallest share that each value may have in a group."""
    most, least = np.full(len(share), np.inf), np.zeros(len(share))
    for name in promise.requested:
        bounds = DEFINITIONS[name].bounds
        if bounds is not None:
            largest, smallest = bounds(promise, share)
            most, least = np.minimum(most, largest), np.maximum(least, smallest)
    return most, least


class _Paths:
    """The tree nodes above each value of each column, numbered consecutively. A column without a tree has none."""

    def __init__(self) -> None:
        self.ends = [0]
        self.nodes: list[int] = []
        self.weights: list[float] = []
        self.shares: list[float] = []
        self.bases: list[float] = []

    def add(self, sensitive_column: SensitiveColumn, share: NDArray[np.float64]) -> None:
        """Add the values of one column, with their shares in the table."""
        begin = len(self.weights)
        if sensitive_column.scale.tree is not None and sensitive_column.leaves is not None:
            self._add_values(sensitive_column.scale.tree, sensitive_column.leaves.tolist(), share.tolist())
        else:
            self.ends += [len(self.nodes)] * sensitive_column.values
        self.bases.append(sum(weight * part for weight, part in zip(self.weights[begin:], self.shares[begin:], strict=True)))

    def _add_values(self, tree: Tree, leaves: Sequence[int], share: Sequence[float]) -> None:
        """Add the nodes above each value, and add the share of the value to each of them."""
        number_of: dict[int, int] = {}
        for leaf, part in zip(leaves, share, strict=True):
            for node, weight in _steps(tree, leaf):
                if node not in number_of:
                    number_of[node] = len(self.weights)
                    self.weights.append(weight)
                    self.shares.append(0.0)
                self.nodes.append(number_of[node])
                self.shares[number_of[node]] += part
            self.ends.append(len(self.nodes))


def _steps(tree: Tree, leaf: int) -> list[tuple[int, float]]:
    """Return the nodes from a leaf up, without the root, with the cost of moving past each.

    This cost is half the height difference to its parent.
    Missing values (-1) have the largest possible distance to every value: they are treated as a leaf directly below the root.
    """
    if leaf < 0:
        return [(-1, 0.5)]
    chain = tree.ancestors[:, leaf].tolist()
    nodes = [node for at, node in enumerate(chain) if at == 0 or node != chain[at - 1]]
    heights = tree.node_height[nodes] / (2 * max(tree.height, 1))
    return list(zip(nodes, np.diff(heights).tolist(), strict=False))
