"""The axis of a column whose values are the leaves of a tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort.encoding.axes import Ends, Measure, with_missing
from kohort.schema.trees import ROOT, Tree


@dataclass(frozen=True, eq=False)
class TreeAxis:
    """The leaves of a tree, depth-first: leaf i has code i + 1. Text without a tree has a flat tree: a root and its leaves."""

    name: str
    tree: Tree
    rule: str = ""
    """The rule that created the tree; empty if the tree was given."""

    @property
    def size(self) -> int:
        return len(self.tree.leaves) + 1

    def _node(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the common ancestor of each box."""
        return self.tree.common_ancestor(np.maximum(low, 1) - 1, np.maximum(high, 1) - 1)

    def node_share(self, measure: Measure) -> NDArray[np.float64]:
        """Return the width of each node: its share of the tree's height, or of the tree's leaves. The width of a leaf is 0."""
        if measure == "height":
            return self.tree.node_height / self.tree.height
        leaves = self.tree.node_leaves
        return np.where(leaves > 1, leaves / max(len(self.tree.leaves), 1), 0.0)

    def width(self, low: NDArray[np.int64], high: NDArray[np.int64], measure: Measure, ends: Ends | None) -> NDArray[np.float64]:
        del ends
        if not self.tree.leaves:
            return np.zeros(len(low))
        share = np.where(low == high, 0.0, self.node_share(measure)[self._node(low, high)])
        return np.where((low == 0) & (high > 0), 1.0, share)

    def label(self, low: NDArray[np.int64], high: NDArray[np.int64], ends: Ends | None) -> pa.Array:
        del ends
        if not self.tree.leaves:
            return pa.nulls(len(low), pa.string())
        node, index = np.unique(self._node(low, high), return_inverse=True)
        texts = pa.array([self.tree.labels[number] for number in node.tolist()], pa.string())
        return with_missing(texts.take(pa.array(index)), low, high)

    def describe(self) -> str:
        if self.tree.height == 1:
            return f"text, {len(self.tree.leaves)} values, kept or {ROOT}"
        made = f"tree {self.rule}" if self.rule else "tree"
        return f"{made}, {len(self.tree.leaves)} leaves, {self.tree.height} levels"
