"""Describe ranges of unpublished groups with published values only.

A range of numbers or dates is widened to published ends. Beyond the outermost published end, it stops at that end. A category is
replaced by the nearest label at or above a published label. A range with missing and present values is `*`. All ranges of a
column whose ranges are not published are `*` too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kohort.encoding.axes import Axis, Ends, Measure
from kohort.encoding.number_axis import NumericAxis, difference
from kohort.encoding.tree_axis import TreeAxis
from kohort.publishing.boxes import Boxes
from kohort.schema.columns import Column
from kohort.schema.trees import ROOT, Tree


@dataclass(frozen=True, eq=False)
class PublishedRanges:
    """Ranges of one axis. In this class, no values may be shown; subclasses show published values."""

    is_present: NDArray[np.bool_]
    """Per range: whether no value in it is missing."""
    is_shown_missing: NDArray[np.bool_]
    """Per range: whether all its values are missing, and the release has a group with only missing values."""

    def texts(self) -> list[str]:
        """Return the text of each range; `*` if a value is missing."""
        return [text if present else ROOT for present, text in zip(self.is_present.tolist(), self._present(), strict=True)]

    def widths(self, measure: Measure) -> NDArray[np.float64]:
        """Return the share of the axis's published range that each range covers, in [0, 1]. Wider ranges never have less."""
        without_present = np.where(self.is_shown_missing, 0.0, 1.0)
        return np.where(self.is_present, self._shares(measure), without_present)

    def _present(self) -> list[str]:
        return [ROOT] * len(self.is_present)

    def _shares(self, measure: Measure) -> NDArray[np.float64]:
        del measure
        return np.ones(len(self.is_present))


def ranges_of(
    axis: Axis,
    column: Column,
    boxes: Boxes,
    number: int,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    exact: Sequence[NDArray[Any]] | None = None,
) -> PublishedRanges:
    """Return the published form of ranges of one axis, given by their codes and, if codes are bins, by their exact ends."""
    published_low, published_high = boxes.low[:, number], boxes.high[:, number]
    is_range = (published_low > 0) & (column.statistic != "mean")
    missing = low > 0, (high == 0) & bool((published_high == 0).any())
    low, high = np.maximum(low, 1), np.maximum(high, 1)
    if not is_range.any():
        return PublishedRanges(*missing)
    if isinstance(axis, TreeAxis):
        node = _nodes_above_published(axis.tree, published_low[is_range] - 1, published_high[is_range] - 1, low - 1, high - 1)
        return _Categories(*missing, axis, node)
    assert isinstance(axis, NumericAxis)
    ends = boxes.ends.get(number)
    ends = None if ends is None else (ends[0][is_range], ends[1][is_range])
    shown = np.unique(np.concatenate(axis.published(published_low[is_range], published_high[is_range], ends)))
    first, last = exact if exact is not None else (axis.first[low - 1], axis.last[high - 1])
    begin = shown[np.maximum(np.searchsorted(shown, first, "right") - 1, 0)]
    end = shown[np.minimum(np.searchsorted(shown, last, "left"), len(shown) - 1)]
    return _Numbers(*missing, axis, (begin, end), float(difference(shown[-1:], shown[:1])[0]))


@dataclass(frozen=True, eq=False)
class _Numbers(PublishedRanges):
    axis: NumericAxis
    ends: Ends
    published_range: float
    """From the smallest to the largest published end. The range of the whole table may have an end that is not published."""

    def _present(self) -> list[str]:
        some = np.ones(len(self.is_present), np.int64)  # any code except 0, which means missing
        return self.axis.label(some, some, self.ends).to_pylist()  # type: ignore[no-any-return]

    def _shares(self, measure: Measure) -> NDArray[np.float64]:
        del measure
        some = np.ones(len(self.is_present), np.int64)
        begin, end = self.axis.published(some, some, self.ends)
        return np.clip(difference(end, begin) / (self.published_range or 1.0), 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class _Categories(PublishedRanges):
    axis: TreeAxis
    node: NDArray[np.int64]
    """Per range: a node of the tree; -1 if no label may be shown."""

    def _present(self) -> list[str]:
        return [ROOT if node < 0 else self.axis.tree.labels[node] for node in self.node.tolist()]

    def _shares(self, measure: Measure) -> NDArray[np.float64]:
        return np.where(self.node < 0, 1.0, self.axis.node_share(measure)[self.node])


def _nodes_above_published(
    tree: Tree,
    published_low: NDArray[np.int64],
    published_high: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return for each range of leaves the nearest node at or above it that is also at or above a published node; -1 for none."""
    is_above = np.zeros(len(tree.labels), np.bool_)
    path, reached = _path_up(tree, published_low, published_high)
    is_above[path[reached]] = True
    path, reached = _path_up(tree, low, high)
    fits = reached & is_above[path]
    return np.where(fits.any(axis=0), path[fits.argmax(axis=0), np.arange(len(low))], -1)


def _path_up(tree: Tree, low: NDArray[np.int64], high: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return (levels, ranges): the nodes from the first leaf of a range up to the root, and which contain the whole range."""
    path = tree.ancestors[:, low]
    return path, np.cumsum(path == tree.common_ancestor(low, high), axis=0) > 0
