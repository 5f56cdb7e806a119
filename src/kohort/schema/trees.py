"""Trees of values (hierarchies): read from files with lines `value;level1;...;*`, checked, and numbered depth-first.

In depth-first order the leaves below each node are consecutive. So the lowest common ancestor of a set of leaves is that of
the first and the last of them. All code that uses trees relies on this.
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
from kohort.wording import quoted

ROOT = "*"
CHECK_NAME = "Check the name after --hierarchy, or hierarchy in the job file."

Line = tuple[str | None, ...]


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree, stored level by level from the leaves to the root.

    A leaf with a shorter path than others is its own ancestor on the levels below its parent.
    """

    leaves: tuple[str, ...]
    """The values, in depth-first order."""
    labels: tuple[str, ...]
    """The label of each node: first the leaves in order, then the nodes of each level up to the root."""
    ancestors: NDArray[np.int32]
    """Array of shape (levels + 1, leaves): the ancestor of each leaf on each level; level 0 is the leaf itself."""
    node_height: NDArray[np.int64]
    """Per node: number of edges down to its deepest leaf."""

    @property
    def height(self) -> int:
        """Number of edges from the root to the deepest leaf."""
        return len(self.ancestors) - 1

    @cached_property
    def node_leaves(self) -> NDArray[np.int64]:
        """Number of leaves below each node."""
        counts = np.zeros(len(self.labels), np.int64)
        for row in self.ancestors:
            counts[row] = np.bincount(row, minlength=len(counts))[row]
        return counts

    def common_ancestor(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the lowest common ancestor of the leaves `low` to `high` (arrays of leaf numbers)."""
        node = np.array(self.ancestors[0][low], np.int64)
        apart = low != high
        for row in self.ancestors[1:]:
            node[apart] = row[low[apart]]
            apart = apart & (row[low] != row[high])
        return node

    def labels_above(self) -> dict[str, set[str]]:
        """Return all texts that may be published for each leaf: the leaf itself and the labels of its ancestors."""
        return {
            leaf: {leaf, *(self.labels[node] for node in self.ancestors[:, number])} for number, leaf in enumerate(self.leaves)
        }


def flat(values: Sequence[str]) -> Tree:
    """Return a tree in which all values, in the given order, are children of the root. It is used for text without a tree."""
    count = len(values)
    ancestors = np.vstack([np.arange(count), np.full(count, count)]).astype(np.int32)
    return Tree(tuple(values), (*values, ROOT), ancestors, np.append(np.zeros(count, np.int64), 1))


def build(rows: Iterable[Sequence[str]], name: str = "tree") -> Tree:
    """Build a tree from rows of leaf, level 1, ..., root. Rows may have different lengths; a missing root is added.

    >>> tree = build([["a", "vowel", "*"], ["b", "consonant", "*"], ["e", "vowel", "*"]])
    >>> tree.leaves, tree.height
    (('a', 'e', 'b'), 2)
    """
    return _build([(number, _trimmed(row)) for number, row in enumerate(rows, start=1)], name)


def _trimmed(row: Sequence[str]) -> tuple[str, ...]:
    """Remove the empty cells that spreadsheets leave at the end of a line."""
    end = max((index for index, cell in enumerate(row, start=1) if cell), default=0)
    return tuple(row[:end])


def _build(lines: Sequence[tuple[int, tuple[str, ...]]], name: str) -> Tree:
    numbered = [(number, path) for number, path in lines if path and path[0]]  # missing values are not part of a tree
    if not numbered:
        raise RequestError(f"{name}: the tree is empty. Write one line per value: value;wider value;*")
    empty = next((number for number, path in numbered if "" in path), None)
    if empty is not None:
        raise RequestError(
            f"{name}: line {empty} has an empty label. In a release an empty cell means a missing value. Write a label there."
        )
    paths = [path for _number, path in numbered]
    roots = {path[-1] for path in paths if len(path) > 1}
    if len(roots) == 1:
        paths = [path if len(path) > 1 else (*path, *roots) for path in paths]
    else:
        paths = [(*path, ROOT) for path in paths]
    depth = max(map(len, paths))
    # Paths are aligned at the root. None fills a short path: on these levels the leaf is its own ancestor.
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
    """Read a tree file: no header; `;`, `,` or tab between the levels; cells may be quoted."""
    file = Path(path)
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise RequestError(f"There is no tree file {quoted(file)}. {CHECK_NAME}") from None
    except OSError as error:
        raise RequestError(f"The tree file {quoted(file)} cannot be read: {error.strerror}. {CHECK_NAME}") from None
    except UnicodeDecodeError:
        raise RequestError(f"The tree file {quoted(file)} is not UTF-8 text. Save it as UTF-8 (in Excel: 'CSV UTF-8').") from None
    except ValueError:
        raise RequestError("The name of a tree file contains a NUL character. Correct hierarchy in the job.") from None
    read = {mark: _rows(text, mark) for mark in ";\t,"}
    rows = max((rows for rows in read.values() if rows is not None), key=_fewest_fields, default=[])
    if _fewest_fields(rows) < 2 and any(rows is None and mark in text for mark, rows in read.items()):
        raise RequestError(
            f"The tree file {quoted(file)} is not a valid CSV file: a quotation mark is not closed. Correct the file."
        )
    return _build(rows, quoted(file))


def save(tree: Tree, path: Path) -> None:
    """Write a tree as a file that `load` can read. Levels on which a leaf is its own ancestor are not written."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=";", lineterminator="\n")
        for number, leaf in enumerate(tree.leaves):
            writer.writerow([leaf, *(tree.labels[node] for node in tree.ancestors[1:, number] if node != number)])


def _rows(text: str, delimiter: str) -> list[tuple[int, tuple[str, ...]]] | None:
    """Return the lines of a tree file with their numbers; None if it is not a valid CSV file with this delimiter."""
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
            message = (
                f"{name}: lines {known} and {number} begin with the same value but continue differently. Delete one of them."
            )
            raise RequestError(message)
        for level, label in enumerate(line[1:-1], start=1):
            if label is None:
                continue
            first, parent = parents.setdefault((level, label), (number, line[level + 1]))
            if parent != line[level + 1]:
                message = (
                    f"{name}: lines {first} and {number} have the same label on level {level} but continue differently after it. "
                    "Rename the label in one of the lines."
                )
                raise RequestError(message)


def _require_distinct_labels(numbers: Sequence[int], lines: Sequence[Line], name: str) -> None:
    """Raise an error if a label is also a value in another part of the tree: in a release the two would look the same."""
    number_of = {line[0]: (number, line) for number, line in zip(numbers, lines, strict=True)}
    for number, line in zip(numbers, lines, strict=True):
        for level in range(1, len(line) - 1):
            known, other = number_of.get(line[level], (0, ())) if line[level] is not None else (0, ())
            if known and other[level:] != line[level:]:
                message = (
                    f"{name}: a label in line {number} is also the value of line {known}, in another part of the tree. "
                    "Rename the label."
                )
                raise RequestError(message)


def _depth_first(lines: Iterable[Line]) -> list[Line]:
    """Order the leaves so that the leaves below each node are consecutive; children in order of first appearance."""
    rank: dict[Line, int] = {}
    ordered = list(lines)
    for line in ordered:
        for level in range(len(line)):
            rank.setdefault(line[level:] if line[level] is not None else line, len(rank))
    return sorted(
        ordered,
        key=lambda line: [rank[line[level:] if line[level] is not None else line] for level in reversed(range(len(line)))],
    )
