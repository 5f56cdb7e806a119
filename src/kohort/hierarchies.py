"""Trees of values: read from `value;level1;...;*` files, checked, numbered depth-first.

With leaves in depth-first order every node is a run of leaves, and the lowest common ancestor of a set of leaves is that
of its first and last. Everything built on trees here rests on this.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kohort.errors import RequestError

ROOT = "*"


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree whose leaves all have the same depth. Node numbers: the leaves in order, then level by level to the root."""

    leaves: tuple[str, ...]
    labels: tuple[str, ...]
    """Per node."""
    ancestors: NDArray[np.int32]
    """(height + 1, leaves): the node above each leaf on each level; level 0 is the leaf itself."""

    @property
    def height(self) -> int:
        """Edges from the root to a leaf."""
        return len(self.ancestors) - 1

    @cached_property
    def node_level(self) -> NDArray[np.int64]:
        level = np.zeros(len(self.labels), np.int64)
        for number, row in enumerate(self.ancestors):
            level[row] = number
        return level

    @cached_property
    def node_leaves(self) -> NDArray[np.int64]:
        """How many leaves stand below each node."""
        return np.bincount(self.ancestors.ravel(), minlength=len(self.labels))

    def common_ancestor(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.int64]:
        """Lowest node above leaves low..high (arrays of leaf numbers)."""
        node = np.array(self.ancestors[0][low], np.int64)
        apart = low != high
        for row in self.ancestors[1:]:
            node[apart] = row[low[apart]]
            apart = apart & (row[low] != row[high])
        return node

    def labels_above(self) -> dict[str, set[str]]:
        """Every text that may be published for a leaf: itself and the labels above it."""
        return {
            leaf: {leaf, *(self.labels[node] for node in self.ancestors[:, number])} for number, leaf in enumerate(self.leaves)
        }


def flat(values: Sequence[str]) -> Tree:
    """A root above the values, in the order given: text without a tree."""
    count = len(values)
    ancestors = np.vstack([np.arange(count), np.full(count, count)]).astype(np.int32)
    return Tree(tuple(values), (*values, ROOT), ancestors)


def build(rows: Iterable[Sequence[str]], name: str = "tree") -> Tree:
    """A tree from rows of leaf, level 1, ..., root. Short rows are padded below the root; a missing root is added.

    >>> tree = build([["a", "vowel", "*"], ["b", "consonant", "*"], ["e", "vowel", "*"]])
    >>> tree.leaves, tree.height
    (('a', 'e', 'b'), 2)
    """
    paths = [tuple(row) for row in rows if any(row)]
    if not paths:
        raise RequestError(f"{name}: the tree is empty. Give one line per value: value;level1;...;*")
    if len({path[-1] for path in paths}) > 1 or min(map(len, paths)) == 1:
        paths = [(*path, ROOT) for path in paths]
    depth = max(map(len, paths))
    paths = [(*path[:-1], *[path[-2]] * (depth - len(path)), path[-1]) for path in paths]
    _require_one_parent(paths, name)
    paths = _depth_first(dict.fromkeys(paths))
    leaves = tuple(path[0] for path in paths)
    labels, ancestors = list(leaves), [np.arange(len(leaves))]
    for level in range(1, depth):
        numbers: dict[tuple[str, ...], int] = {}
        for path in paths:
            if path[level:] not in numbers:
                numbers[path[level:]] = len(labels)
                labels.append(path[level])
        ancestors.append(np.array([numbers[path[level:]] for path in paths]))
    return Tree(leaves, tuple(labels), np.vstack(ancestors).astype(np.int32))


def load(path: Path | str) -> Tree:
    """Read a tree file: no header; `;`, `,` or tab between the levels; quoted where needed."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise RequestError(f"The tree file {file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise RequestError(f"The tree file {file} is not UTF-8 text. Save it as UTF-8.") from None
    first = text.split("\n", 1)[0]
    delimiter = next((mark for mark in ";\t," if mark in first), ";")
    try:
        rows = list(csv.reader(text.splitlines(), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise RequestError(f"The tree file {file} is not a proper CSV file: {error}.") from None
    return build(rows, str(file))


def _require_one_parent(paths: Sequence[tuple[str, ...]], name: str) -> None:
    parents: dict[tuple[int, str], tuple[int, str]] = {}
    leaves: dict[str, int] = {}
    for number, path in enumerate(paths, start=1):
        known = leaves.setdefault(path[0], number)
        if path != paths[known - 1]:
            message = f"{name}: line {number} puts the value of line {known} under another parent. Keep one of them."
            raise RequestError(message)
        for level in range(1, len(path) - 1):
            line, parent = parents.setdefault((level, path[level]), (number, path[level + 1]))
            if parent != path[level + 1]:
                message = (
                    f"{name}: lines {line} and {number} give the same level-{level} label two parents. "
                    "Rename one, so that each label has one parent."
                )
                raise RequestError(message)


def _depth_first(paths: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Order leaves so that each node's leaves stand together; children as they first appear in the file."""
    rank: dict[tuple[str, ...], int] = {}
    ordered = list(paths)
    for path in ordered:
        for level in range(len(path)):
            rank.setdefault(path[level:], len(rank))
    return sorted(ordered, key=lambda path: [rank[path[level:]] for level in reversed(range(len(path)))])
