"""The rows of a table as points on axes, and the axes as flat arrays for kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from kohort.encoding.axes import Axis, Codes, Measure
from kohort.encoding.number_axis import NumericAxis, deviation
from kohort.encoding.tree_axis import TreeAxis
from kohort.schema.type_detection import Numbers

if TYPE_CHECKING:
    from kohort.kernels.core.widths import AxisTables
    from kohort.kernels.cuts.workload_cuts import Wanted

UNIT = 1 << 24
"""Costs in a search are integers, so that sums do not depend on their order. A full width costs this many units."""

LARGEST = float(np.finfo(np.float64).max)
Objective = Literal["leaf", "height", "square-error", "class"]


class Whole(Protocol):
    """Facts about the whole table, for points that are only some of its rows."""

    @property
    def some_missing(self) -> tuple[bool, ...]:
        """Per axis: whether any value is missing."""

    @property
    def deviations(self) -> tuple[float, ...]:
        """Per axis: the standard deviation of its numbers, as a share of the range; 0 for categories."""


@dataclass(frozen=True, eq=False)
class Points:
    """The rows of a table as points: one row of codes per row of the table, one code per axis."""

    codes: Codes
    """(rows, axes), rows contiguous, one dtype per table."""
    axes: tuple[Axis, ...]
    weights: tuple[float, ...]
    exact: Mapping[int, Numbers] = field(default_factory=dict)
    """By axis number: the true values of the rows, for axes whose codes are bins."""
    extra: Points | None = None
    """The sensitive columns as points, for methods that also use them."""
    whole: Whole | None = None
    """Facts about the whole table, if these are only some of its rows."""
    objective: Objective = "leaf"
    """The loss that `auto` and other free searches minimise. Methods from papers minimise what their paper says."""
    label: Points | None = None
    """The column whose equal values should stay in the same group. It is not published from here."""
    wanted: Wanted | None = None
    """The queries of a workload, for methods that optimise cuts for them."""
    record_decisions: bool = False
    """Whether methods that cut also record their cuts, for an explanation. This does not change the groups."""

    @cached_property
    def some_missing(self) -> tuple[bool, ...]:
        """Per axis: whether any value in the whole table is missing."""
        if self.whole is not None:
            return self.whole.some_missing
        return tuple(bool((column == 0).any()) for column in self.codes.T)

    @cached_property
    def deviations(self) -> tuple[float, ...]:
        """Per axis: the standard deviation of its numbers in the whole table, as a share of the range; 0 for categories."""
        if self.whole is not None:
            return self.whole.deviations
        return tuple(self._deviation(number, axis) for number, axis in enumerate(self.axes))

    def _deviation(self, number: int, axis: Axis) -> float:
        """Return the standard deviation of one axis."""
        if not isinstance(axis, NumericAxis):
            return 0.0
        codes = self.codes[:, number]
        values, counts = np.unique(self.exact.get(number, codes)[codes != 0], return_counts=True)
        return deviation(axis, values if number in self.exact else axis.first[values.astype(np.int64) - 1], counts)

    @property
    def rows(self) -> int:
        return len(self.codes)

    def take(self, order: NDArray[np.int64]) -> Points:
        """Return the points of these rows, in this order."""
        exact = {axis: values[order] for axis, values in self.exact.items()}
        extra, label = (None if other is None else other.take(order) for other in (self.extra, self.label))
        codes = np.take(self.codes, order, axis=0)
        wanted = None if self.wanted is None else self.wanted._replace(members=np.take(self.wanted.members, order, axis=0))
        return replace(self, codes=codes, exact=exact, extra=extra, whole=self.whole or self, label=label, wanted=wanted)

    def searched(self) -> Points:
        """Return the points that a search for the objective uses: if there is a label column, it is added as an axis."""
        if self.label is None:
            return self
        codes = np.column_stack([self.codes, self.label.codes])
        axes, weights = (*self.axes, *self.label.axes), (*self.weights, *self.label.weights)
        return replace(self, codes=codes, axes=axes, weights=weights, label=None, whole=None)

    def equal_rows(self) -> NDArray[np.int64]:
        """Return, per row, the number of its group of equal rows. Groups are numbered by their first rows."""
        _points, first, index = np.unique(self.codes, axis=0, return_index=True, return_inverse=True)
        number = np.empty(len(first), np.int64)
        number[np.argsort(first)] = np.arange(len(first))
        return number[index]

    @property
    def measure(self) -> Measure:
        """The loss measure of trees for the objective."""
        return "height" if self.objective == "height" else "leaf"

    def costs(self) -> AxisTables:
        """Return the axes as flat arrays, for kernels that search by the objective.

        With a workload, a box that only partly satisfies a predicate costs more.
        """
        tables = self.kernel_tables(self.measure)
        if self.wanted is None:
            return tables
        ends = [tables.down.copy(), tables.up.copy(), tables.coarse_down.copy(), tables.coarse_up.copy()]
        full = tables.full.copy()
        node_cost = tables.node_cost + np.rint(UNIT * self.wanted.toll).astype(np.int64)
        for number, at in enumerate(self.wanted.axis_start):  # the axis of a label has no predicates
            jump = self.wanted.jump[at : at + tables.size[number]]
            full[number] += round(UNIT * jump[-1])
            if tables.numeric[number] and tables.scale[number]:
                begin = tables.start[number]
                for values in ends:
                    values[begin : begin + len(jump)] += jump * UNIT / tables.scale[number]
        down, up, coarse_down, coarse_up = ends
        return tables._replace(full=full, down=down, up=up, coarse_down=coarse_down, coarse_up=coarse_up, node_cost=node_cost)

    def kernel_tables(self, measure: Measure = "height") -> AxisTables:
        """Return the axes as flat arrays for kernels, with weighted costs."""
        from kohort.kernels.core.widths import AxisTables

        sizes = np.array([axis.size for axis in self.axes], np.int64)
        numeric = np.array([isinstance(axis, NumericAxis) for axis in self.axes], np.bool_)
        start, height = np.zeros((2, len(self.axes)), np.int64)
        scale = np.zeros(len(self.axes))
        coarse_from = np.full(len(self.axes), np.inf)
        number_ends: list[list[NDArray[np.float64]]] = [[np.empty(0)] for _ in range(4)]  # down, up, coarse down, coarse up
        ancestors: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
        cost: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
        codes_so_far = rows_so_far = nodes_so_far = 0
        for number, (axis, weight) in enumerate(zip(self.axes, self.weights, strict=True)):
            if isinstance(axis, NumericAxis):
                start[number] = codes_so_far
                scale[number] = min(UNIT * weight / (axis.range or 1.0), LARGEST)  # if infinite, a width of 0 would cost NaN
                coarse_from[number], *coarse = axis.coarse()
                for ends, values in zip(number_ends, (axis.first, axis.last, *coarse), strict=True):
                    ends.append(np.append(0.0, axis.offset(values)))  # code 0 (missing) is never looked up
                codes_so_far += axis.size
            elif isinstance(axis, TreeAxis):
                start[number], height[number] = rows_so_far, axis.tree.height
                table = np.zeros((axis.tree.height + 1, axis.size), np.int32)  # column 0 (missing) is never looked up
                table[:, 1:] = axis.tree.ancestors + nodes_so_far
                ancestors.append(table.ravel())
                cost.append(np.rint(axis.node_share(measure) * (UNIT * weight)).astype(np.int64))
                rows_so_far += table.size
                nodes_so_far += len(axis.tree.labels)
        full = np.rint(UNIT * np.array(self.weights, np.float64)).astype(np.int64)
        down, up, coarse_down, coarse_up = (np.concatenate(ends) for ends in number_ends)
        numbers = (scale, coarse_from, down, up, coarse_down, coarse_up)
        return AxisTables(full, numeric, start, sizes, height, *numbers, np.concatenate(ancestors), np.concatenate(cost))
