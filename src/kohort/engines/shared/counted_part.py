"""Rows that form one cluster, stored only as counts: a part that cannot be cut further, or all suppressed rows.

Counts from different files or tasks can be added, so the rows need not be in one place.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from kohort.constraints.constraints import Constraints
from kohort.encoding.number_axis import NumericAxis
from kohort.engines.shared.packed_table import PackedTable
from kohort.publishing.boxes import Boxes, everything, mean_of_parts, parts_of_sum
from kohort.schema.columns import Schema
from kohort.utility.loss import Sums, cell_sums, square_error_of_counts


class OneCluster:
    """Counts, ends and sums of the packed rows of one cluster."""

    def __init__(self, packed: PackedTable, schema: Schema) -> None:
        axes = packed.template.axes
        self._codes = [np.zeros(axis.size, np.int64) for axis in axes]
        self._values = np.zeros(sum(sensitive_column.values for sensitive_column in packed.sensitive), np.int64)
        self._ends: dict[int, list[np.generic]] = {}
        binned = [number for number, coding in enumerate(packed.quasi.codings) if coding.numbers is not None]
        self._moments = {number: np.zeros(3) for number in binned}
        averaged = [number for number, axis in enumerate(axes) if schema.columns[axis.name].statistic != "range"]
        self._sums = {number: np.zeros(3, np.int64) for number in averaged}

    def add(self, packed: PackedTable, words: NDArray[np.uint64]) -> None:
        """Add packed rows."""
        points, constraints = packed.points(words), packed.constraints(words)
        for number, axis in enumerate(points.axes):
            codes = points.codes[:, number].astype(np.int64)
            self._codes[number] += np.bincount(codes, minlength=axis.size)
            if number in points.exact and isinstance(axis, NumericAxis):
                values = points.exact[number][codes != 0]
                self._ends.setdefault(number, []).extend([values.min(), values.max()] if len(values) else [])
                index = axis.offset(values) / (axis.range or 1.0)
                self._moments[number] += len(index), index.sum(), (index**2).sum()
            if number in self._sums and isinstance(axis, NumericAxis):
                values = points.exact[number] if number in points.exact else np.append(axis.first, 0)[codes - 1]
                self._sums[number] += [part.sum() for part in parts_of_sum(axis, values[codes != 0])]
        for column in constraints.sensitive_values.T[: len(packed.sensitive)]:
            self._values += np.bincount(column, minlength=len(self._values))

    def merge(self, other: OneCluster) -> None:
        """Add the rows of another cluster."""
        for mine, its in zip(self._codes, other._codes, strict=True):
            np.add(mine, its, out=mine)
        self._values += other._values
        for number, sums in other._sums.items():
            self._sums[number] += sums
        for number, ends in other._ends.items():
            self._ends.setdefault(number, []).extend(ends)
            self._moments[number] += other._moments[number]

    @property
    def rows(self) -> int:
        return int(self._codes[0].sum())

    @property
    def is_one_point(self) -> bool:
        """Whether all rows have the same quasi-identifiers, so that every way to group them gives the same release."""
        return not self._moments and all(np.count_nonzero(counts) == 1 for counts in self._codes)

    def is_valid(self, constraints: Constraints) -> bool:
        """Whether the cluster satisfies the promises."""
        from kohort.kernels.cuts.counted_cuts import counted_is_valid

        if not constraints.beyond_k:
            return self.rows >= constraints.k
        return bool(counted_is_valid(constraints.rules, constraints.tally(), self._values, self.rows))

    def finished(self, packed: PackedTable, *, suppressed_group: bool = False) -> tuple[Boxes, Sums]:
        """Return the box of the cluster and its loss. For the suppressed group the box covers every value."""
        axes = packed.template.axes
        held = [np.flatnonzero(counts) for counts in self._codes]
        low, high = (np.array([[codes[end] for codes in held]], np.int64) for end in (0, -1))
        if suppressed_group:
            low, high = np.zeros_like(low), everything(axes)[np.newaxis]
        ends = {number: self._true_ends(packed, number) for number in self._moments}
        means = {number: self._mean(packed, number) for number in self._sums}
        boxes = Boxes(low, high, np.array([self.rows]), ends, means)
        leaf, height = cell_sums(packed.template, boxes)
        error = sum(self._square_error(packed, number) for number in range(len(axes)))
        return boxes, Sums(self.rows, 0, leaf, height, 1, self.rows**2, error)

    def _true_ends(self, packed: PackedTable, number: int) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
        axis = packed.template.axes[number]
        found = self._ends.get(number) or [axis.first[0]]  # type: ignore[attr-defined]
        return np.array([min(found)]), np.array([max(found)])  # type: ignore[type-var]

    def _mean(self, packed: PackedTable, number: int) -> NDArray[np.float64]:
        return mean_of_parts(packed.template.axes[number], *self._sums[number][:, np.newaxis])

    def _square_error(self, packed: PackedTable, number: int) -> float:
        if number not in self._moments:
            return square_error_of_counts(packed.template.axes[number], self._codes[number])
        (many, total, squares), missing = self._moments[number], int(self._codes[number][0])
        return float(many) if missing > many else missing + float(squares - total**2 / max(many, 1))


def one_cluster(packed: PackedTable, schema: Schema, chunks: Iterable[NDArray[np.uint64]]) -> OneCluster:
    """Return one cluster of all these packed rows."""
    cluster = OneCluster(packed, schema)
    for chunk in chunks:
        cluster.add(packed, chunk.reshape(len(chunk), -1))
    return cluster


def with_suppressed_group(sums: Sums, suppressed_group: Sums) -> Sums:
    """Return the loss if suppressed rows are published as one group of `*`. In `sums` they were counted as completely lost."""
    lost = np.full(len(suppressed_group.leaf), float(suppressed_group.rows))
    return sums + Sums(-suppressed_group.rows, -suppressed_group.rows, -lost, -lost, 0, 0, 0.0) + suppressed_group
