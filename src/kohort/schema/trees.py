"""Trees of values: read from `value;level1;...;*` files, checked, numbered depth-first.

With leaves in depth-first order every node is a run of leaves, and the lowest common ancestor of a set of leaves is that
of its first and last. Everything built on trees here rests on this.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kohort.errors import RequestError

ROOT = "*"

Line = tuple[str | None, ...]


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree, level by level from the leaves. A leaf higher up than others stands for itself on the levels below its parent."""

    leaves: tuple[str, ...]
    """Depth-first."""
    labels: tuple[str, ...]
    """Per node: the leaves in order, then level by level to the root."""
    ancestors: NDArray[np.int32]
    """(levels + 1, leaves): the node above each leaf on each level; level 0 is the leaf itself."""
    node_height: NDArray[np.int64]
    """Per node: edges down to its deepest leaf."""

    @property
    def height(self) -> int:
        """Edges from the root to the deepest leaf."""
        return len(self.ancestors) - 1

    @cached_property
    def node_leaves(self) -> NDArray[np.int64]:
        """How many leaves stand below each node."""
        counts = np.zeros(len(self.labels), np.int64)
        for row in self.ancestors:
            counts[row] = np.bincount(row, minlength=len(counts))[row]
        return counts

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
    return Tree(tuple(values), (*values, ROOT), ancestors, np.append(np.zeros(count, np.int64), 1))


def build(rows: Iterable[Sequence[str]], name: str = "tree") -> Tree:
    """A tree from rows of leaf, level 1, ..., root. Rows may differ in length; a missing root is added.

    >>> tree = build([["a", "vowel", "*"], ["b", "consonant", "*"], ["e", "vowel", "*"]])
    >>> tree.leaves, tree.height
    (('a', 'e', 'b'), 2)
    """
    return _build([(number, _trimmed(row)) for number, row in enumerate(rows, start=1)], name)


def _trimmed(row: Sequence[str]) -> tuple[str, ...]:
    """Without the empty cells that spreadsheets leave at the end of a line."""
    end = max((index for index, cell in enumerate(row, start=1) if cell), default=0)
    return tuple(row[:end])


def _build(lines: Sequence[tuple[int, tuple[str, ...]]], name: str) -> Tree:
    numbered = [(number, path) for number, path in lines if path and path[0]]  # missing needs no place in a tree
    if not numbered:
        raise RequestError(f"{name}: the tree is empty. Give one line per value: value;level1;...;*")
    empty = next((number for number, path in numbered if "" in path), None)
    if empty is not None:
        raise RequestError(f"{name}: line {empty} has an empty label. An empty cell means missing; give the label a name.")
    paths = [path for _number, path in numbered]
    roots = {path[-1] for path in paths if len(path) > 1}
    if len(roots) == 1:
        paths = [path if len(path) > 1 else (*path, *roots) for path in paths]
    else:
        paths = [(*path, ROOT) for path in paths]
    depth = max(map(len, paths))
    # Aligned at the root: a short row's leaf stands for itself (None) until its parent's level.
    aligned = [(path[0], *[None] * (depth - len(path)), *path[1:]) for path in paths]
    at = [number for number, _path in numbered]
    _require_one_parent(at, aligned, name)
    _require_distinct_labels(at, aligned, name)
    aligned = _depth_first(dict.fromkeys(aligned))
    leaves = tuple(str(path[0]) for path in aligned)
    labels, levels, heights = list(leaves), [np.arange(len(leaves))], [0] * len(leaves)
    for level in range(1, depth):
        numbers: dict[Line, int] = {}
        row = levels[0].copy()
        for leaf, path in enumerate(aligned):
            label = path[level]
            if label is None:
                continue
            if path[level:] not in numbers:
                numbers[path[level:]] = len(labels)
                labels.append(label)
                heights.append(0)
            row[leaf] = numbers[path[level:]]
            heights[row[leaf]] = max(heights[row[leaf]], heights[levels[-1][leaf]] + 1)
        levels.append(row)
    return Tree(leaves, tuple(labels), np.vstack(levels).astype(np.int32), np.array(heights, np.int64))


def load(path: Path | str) -> Tree:
    """Read a tree file: no header; `;`, `,` or tab between the levels; quoted where needed."""
    file = Path(path)
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise RequestError(f"The tree file {file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise RequestError(f"The tree file {file} is not UTF-8 text. Save it as UTF-8.") from None
    except ValueError:
        raise RequestError("The name of a tree file holds what no name can hold (a NUL). Check the job.") from None
    read = {mark: _rows(text, mark) for mark in ";\t,"}
    rows = max((rows for rows in read.values() if rows is not None), key=_fewest_fields, default=[])
    if _fewest_fields(rows) < 2 and any(rows is None and mark in text for mark, rows in read.items()):
        raise RequestError(f"The tree file {file} is not a proper CSV file: a quote is not closed as it should be.")
    return _build(rows, str(file))


def save(tree: Tree, path: Path) -> None:
    """Write a tree as a file that `load` reads; a level on which a leaf stands for itself is left out of its line."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=";", lineterminator="\n")
        for number, leaf in enumerate(tree.leaves):
            writer.writerow([leaf, *(tree.labels[node] for node in tree.ancestors[1:, number] if node != number)])


def _rows(text: str, delimiter: str) -> list[tuple[int, tuple[str, ...]]] | None:
    """The lines of a tree file with their numbers; None if it is no CSV file with this delimiter."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        return [(reader.line_num, _trimmed(row)) for row in reader]
    except csv.Error:
        return None


def _fewest_fields(rows: Sequence[tuple[int, tuple[str, ...]]]) -> int:
    return min((len(path) for _number, path in rows if path), default=0)


def _require_one_parent(numbers: Sequence[int], lines: Sequence[Line], name: str) -> None:
    parents: dict[tuple[int, str], tuple[int, str | None]] = {}
    leaves: dict[str | None, tuple[int, Line]] = {}
    for number, line in zip(numbers, lines, strict=True):
        known, same = leaves.setdefault(line[0], (number, line))
        if line != same:
            message = f"{name}: line {number} puts the value of line {known} under another parent. Keep one of them."
            raise RequestError(message)
        for level, label in enumerate(line[1:-1], start=1):
            if label is None:
                continue
            first, parent = parents.setdefault((level, label), (number, line[level + 1]))
            if parent != line[level + 1]:
                message = (
                    f"{name}: lines {first} and {number} give the same level-{level} label two parents. "
                    "Rename one, so that each label has one parent."
                )
                raise RequestError(message)


def _require_distinct_labels(numbers: Sequence[int], lines: Sequence[Line], name: str) -> None:
    """A published label must not also be a value that stands elsewhere."""
    number_of = {line[0]: (number, line) for number, line in zip(numbers, lines, strict=True)}
    for number, line in zip(numbers, lines, strict=True):
        for level in range(1, len(line) - 1):
            known, other = number_of.get(line[level], (0, ())) if line[level] is not None else (0, ())
            if known and other[level:] != line[level:]:
                message = f"{name}: a label of line {number} is the value of line {known}, which stands elsewhere. Rename one."
                raise RequestError(message)


def _depth_first(lines: Iterable[Line]) -> list[Line]:
    """Order leaves so that each node's leaves stand together; children as they first appear in the file."""
    rank: dict[Line, int] = {}
    ordered = list(lines)
    for line in ordered:
        for level in range(len(line)):
            rank.setdefault(line[level:] if line[level] is not None else line, len(rank))
    return sorted(
        ordered,
        key=lambda line: [rank[line[level:] if line[level] is not None else line] for level in reversed(range(len(line)))],
    )
