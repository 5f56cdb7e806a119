"""Trees as paths from leaf to root, for tests."""

from __future__ import annotations

import numpy as np

from kohort.schema.trees import Tree


def paths(tree: Tree) -> dict[str, list[str]]:
    """Return the labels of each leaf, from the leaf to the root."""
    return {leaf: [tree.labels[node] for node in tree.ancestors[:, number]] for number, leaf in enumerate(tree.leaves)}


def require_runs(tree: Tree) -> None:
    """Check that the leaves below each node are consecutive, as all code that uses trees requires."""
    for node in range(len(tree.labels)):
        below = np.flatnonzero((tree.ancestors == node).any(axis=0))
        assert len(below)
        assert below[-1] - below[0] + 1 == len(below) == tree.node_leaves[node]
