"""A promise flattened for kernels: limits per value, the table's shares, the nodes of trees."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kohort.encoding.sensitive import SensitiveColumn
from kohort.kernels.core.promise_rules import EQUAL, ORDERED, RECURSIVE_L, TREE, Rules, Tally
from kohort.schema.trees import Tree

DISTANCES = {"equal": EQUAL, "ordered": ORDERED, "tree": TREE}
NOT_ASKED = -1.0
STRICT = 1e-12  # what rounding may add to a limit, or must stay below one that is to be undercut


def rules_of(k: int, sensitive: Sequence[SensitiveColumn], shares: Sequence[NDArray[np.float64]], *, persons: bool) -> Rules:
    """What each secret is promised, column by column."""
    promises = [sensitive_column.promise for sensitive_column in sensitive]
    first = np.cumsum([0, *(sensitive_column.values for sensitive_column in sensitive)]).astype(np.int64)
    bounds = [_bounds(sensitive_column, of_table) for sensitive_column, of_table in zip(sensitive, shares, strict=True)]
    up_to = [np.cumsum(of_table) for of_table in shares]
    paths = _Paths()
    for sensitive_column, of_table in zip(sensitive, shares, strict=True):
        paths.add(sensitive_column, of_table)
    of_column = [
        (
            one.alpha is not None or one.beta is not None or one.delta is not None,
            NOT_ASKED if one.entropy_l is None else math.log(one.entropy_l),
            one.recursive_l.l if one.recursive_l else NOT_ASKED,
            one.recursive_l.c if one.recursive_l else NOT_ASKED,
            NOT_ASKED if one.t is None else one.t,
            DISTANCES[one.distance],
            base,
        )
        for one, base in zip(promises, paths.bases, strict=True)
    ]
    limits = _joined([sensitive_column.limits for sensitive_column in sensitive])
    most, least = (_joined([pair[which] for pair in bounds]) for which in (0, 1))
    return Rules(
        k=k,
        persons=persons,
        shares_count=any(set(one.requested) - {"l"} for one in promises),
        first=first,
        least_distinct=np.array(
            [
                max(one.l or 0, sensitive_column.values if one.delta else 0)
                for one, sensitive_column in zip(promises, sensitive, strict=True)
            ],
            np.int64,
        ),
        of_column=np.array(of_column, np.float64).reshape(-1, 7),
        of_value=np.column_stack([limits, most, least, _joined(shares), _joined(up_to)]),
        up_to_before=_joined([np.append(0.0, np.cumsum(sums)) for sums in up_to]),
        path=np.array(paths.ends, np.int64),
        nodes=np.array(paths.nodes, np.int64),
        of_node=np.column_stack([paths.weights, paths.shares]).astype(np.float64).reshape(-1, 2),
    )


def tally_for(rules: Rules, persons_and_pairs: int) -> Tally:
    """An empty tally that fits the rules."""
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
    return np.concatenate([np.empty(0), *parts])


def _bounds(sensitive_column: SensitiveColumn, share: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The largest and the smallest share that each value may have in a group: beta and delta."""
    promise, most, least = sensitive_column.promise, np.full(len(share), np.inf), np.zeros(len(share))
    if promise.beta is not None:
        gain = np.full(len(share), promise.beta)
        if promise.beta_kind != "basic":
            gain = np.minimum(gain, -np.log(np.maximum(share, np.finfo(float).tiny)))
        most = share * (1 + gain) * (1 + STRICT)
    if promise.delta is not None:  # strictly less
        most = np.minimum(most, share * 2**promise.delta * (1 - STRICT))
        least = share * 2**-promise.delta * (1 + STRICT)
    return most, least


class _Paths:
    """The nodes above each value of each column, numbered through; a column without a tree has none."""

    def __init__(self) -> None:
        self.ends = [0]
        self.nodes: list[int] = []
        self.weights: list[float] = []
        self.shares: list[float] = []
        self.bases: list[float] = []

    def add(self, sensitive_column: SensitiveColumn, share: NDArray[np.float64]) -> None:
        begin = len(self.weights)
        if sensitive_column.scale.tree is not None and sensitive_column.leaves is not None:
            self._add_values(sensitive_column.scale.tree, sensitive_column.leaves.tolist(), share.tolist())
        else:
            self.ends += [len(self.nodes)] * sensitive_column.values
        self.bases.append(sum(weight * part for weight, part in zip(self.weights[begin:], self.shares[begin:], strict=True)))

    def _add_values(self, tree: Tree, leaves: Sequence[int], share: Sequence[float]) -> None:
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
    """The nodes from a leaf up, without the root, each with half the step above it: what moving past it costs.

    Missing, -1, is as far from every value as values can be: a leaf right below the root.
    """
    if leaf < 0:
        return [(-1, 0.5)]
    chain = tree.ancestors[:, leaf].tolist()
    nodes = [node for at, node in enumerate(chain) if at == 0 or node != chain[at - 1]]
    heights = tree.node_height[nodes] / (2 * max(tree.height, 1))
    return list(zip(nodes, np.diff(heights).tolist(), strict=False))
