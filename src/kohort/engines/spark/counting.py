"""Counts the frequency sets of all parts of a level with one aggregation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kohort.engines.shared.cut_tree import CutTree
from kohort.engines.spark import tasks as spark_tasks
from kohort.engines.spark.tasks import Count, Head

COUNTED = "at bigint, n bigint"
MOST_COUNTS = 1 << 27
"""Counts that the driver collects at once: one gigabyte."""


class SparkCounting:
    """See `cut_tree.Counting`."""

    def __init__(self, head: Head, packed_rows: Any) -> None:
        self._head, self._packed_rows = head, packed_rows
        packed = head.packed
        self._sizes = np.array([coding.axis.size for coding in packed.quasi.codings], np.int64)
        self._first = np.cumsum([0, *(sensitive_column.values for sensitive_column in packed.sensitive)]).astype(np.int64)

    def codes(self, tree: CutTree, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        width = int(self._sizes.sum())
        start = np.cumsum([0, *self._sizes[:-1]]).astype(np.int64)
        layout = self._head.packed.layout
        at_once = max(1, MOST_COUNTS // width)
        parts = []
        for first in range(0, len(nodes), at_once):
            some = nodes[first : first + at_once]
            slots = tree.slots(some)

            def count(words: Any, node_of: Any, counts: Any, slots: Any = slots) -> None:
                from kohort.kernels.cuts.routing import count_codes

                count_codes(words, layout, node_of, slots, start, counts.reshape(-1, width))

            parts.append(self._summed(tree, len(some) * width, count).reshape(-1, width))
        return np.concatenate(parts)

    def pairs(self, tree: CutTree, nodes: NDArray[np.int64], axes: NDArray[np.int64]) -> Sequence[NDArray[np.int64]]:
        values, layout, sensitive = int(self._first[-1]), self._head.packed.layout, self._first
        ends = np.cumsum(self._sizes[axes] * values)
        start, slots = np.append(0, ends[:-1]), tree.slots(nodes)

        def count(words: Any, node_of: Any, counts: Any) -> None:
            from kohort.kernels.cuts.routing import count_pairs

            count_pairs(words, layout, node_of, slots, axes, start, sensitive, counts)

        counts = self._summed(tree, int(ends[-1]), count)
        return [part.reshape(-1, values) for part in np.split(counts, ends[:-1])]

    def persons(self, tree: CutTree, nodes: NDArray[np.int64], axes: NDArray[np.int64]) -> Sequence[NDArray[np.int64]]:
        ends, layout, person = np.cumsum(self._sizes[axes]), self._head.packed.layout, self._head.packed.person_word
        start, slots = np.append(0, ends[:-1]), tree.slots(nodes)

        def count(words: Any, node_of: Any, counts: Any) -> None:
            from kohort.kernels.cuts.routing import count_persons

            reach = np.full((3, len(axes)), -1, np.int64)
            count_persons(words, person, layout, node_of, slots, axes, start, reach, counts.reshape(2, -1))

        counts = self._summed(tree, 2 * int(ends[-1]), count, persons=True)
        return np.split(counts.reshape(2, -1), ends[:-1], axis=1)

    def _summed(self, tree: CutTree, size: int, count: Count, *, persons: bool = False) -> NDArray[np.int64]:
        """Return the sum of the counts of all tasks, as an array of this size."""
        counted = self._packed_rows.mapInArrow(spark_tasks.counting(self._head, tree, size, count, persons=persons), COUNTED)
        found = counted.groupBy("at").sum("n").toArrow()
        counts = np.zeros(size, np.int64)
        counts[found.column(0).to_numpy()] = found.column(1).to_numpy()
        return counts
