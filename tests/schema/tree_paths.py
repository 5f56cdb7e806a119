"""Trees as plain paths."""

from __future__ import annotations

import numpy as np

from kohort.schema.trees import Tree


def paths(tree: Tree) -> dict[str, list[str]]:
    """Each leaf's labels from itself to the root."""
    return {leaf: [tree.labels[node] for node in tree.ancestors[:, number]] for number, leaf in enumerate(tree.leaves)}


# --- the property everything rests on


def require_runs(tree: Tree) -> None:
    """Each node's leaves stand together."""
    for node in range(len(tree.labels)):
        below = np.flatnonzero((tree.ancestors == node).any(axis=0))
        assert len(below)
        assert below[-1] - below[0] + 1 == len(below) == tree.node_leaves[node]
