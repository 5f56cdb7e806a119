"""One axis = the ordered codes of one quasi-identifier. What a box costs and what it publishes are asked of the axis.

Code 0 is missing; 1, 2, ... are the values in order: numbers by size, leaves depth-first. A box is (low, high) in codes.
A box that mixes missing and present values has width 1 and publishes `*`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kohort.schema import date_formats as calendars
from kohort.schema.trees import ROOT, Tree
from kohort.schema.value_types import Numbers

if TYPE_CHECKING:
    from kohort.kernels.core.widths import AxisTables
    from kohort.kernels.cuts.workload_cuts import Wanted

UNIT = 1 << 24
"""Costs inside searches are integers: a full width is this many units, so that sums do not depend on their order."""

LARGEST = float(np.finfo(np.float64).max)
EXACT_DIGITS = 15
"""A decimal of so many digits comes back from a 64-bit float as it was."""
MOST_PLACES = 22
"""10^22 is the largest power of ten that a 64-bit float holds exactly."""

Measure = Literal["height", "leaf"]
Objective = Literal["leaf", "height", "square-error", "class"]
Codes = NDArray[np.unsignedinteger]
Ends = tuple[Numbers, Numbers]


class Whole(Protocol):
    """What must be known of the whole table where only some of its rows are at hand."""

    @property
    def some_missing(self) -> tuple[bool, ...]:
        """Per axis: whether any value is missing."""

    @property
    def deviations(self) -> tuple[float, ...]:
        """Per axis: the standard deviation of its numbers, in ranges; 0 for categories."""


class Axis(Protocol):
    """The part of an axis that does not depend on its kind. Boxes come as arrays, one entry per box."""

    @property
    def name(self) -> str: ...

    @property
    def size(self) -> int:
        """Number of codes, missing included."""

    def width(self, low: NDArray[np.int64], high: NDArray[np.int64], measure: Measure, ends: Ends | None) -> NDArray[np.float64]:
        """Share of the axis that is published for each box, in [0, 1]."""

    def label(self, low: NDArray[np.int64], high: NDArray[np.int64], ends: Ends | None) -> pa.Array:
        """Published text of each box; null where all is missing."""

    def describe(self) -> str:
        """What was applied, in a few words."""


@dataclass(frozen=True)
class Grid:
    """The multiples of a step, counted from 0: where ranges may end, whatever the data are."""

    step: Decimal
    """As it is written: 0.1 is a tenth, which no binary number is."""

    def suits(self, numbers: Numbers) -> bool:
        """Whether all ends around these numbers can be held and written exactly; if not, nothing else may be asked."""
        if not len(numbers):
            return True
        step = Fraction(self.step)
        low, high = (Fraction(str(number)) for number in (numbers.min().item(), numbers.max().item()))
        below, above = math.floor(low / step) * step, math.ceil(high / step) * step
        if numbers.dtype.kind == "i":
            held = np.iinfo(np.int64)
            return step <= held.max and held.min <= below and above <= held.max
        index = int(self.step.normalize().as_tuple().exponent)
        return abs(index) <= MOST_PLACES and max(-below, above) <= Fraction(10) ** (index + EXACT_DIGITS)

    def down(self, numbers: Numbers) -> Numbers:
        """The next multiple at or below each number.

        >>> Grid(Decimal(5)).down(np.array([-1, 5, 9])).tolist(), Grid(Decimal("0.1")).down(np.array([0.3, 0.35])).tolist()
        ([-5, 5, 5], [0.3, 0.3])
        """
        if numbers.dtype.kind == "i":
            return np.asarray(numbers - numbers % int(self.step))
        count = np.floor(numbers / float(self.step))  # wrong by one at most: there are no more than 10^15 steps
        count -= self._multiple(count) > numbers
        count += self._multiple(count + 1) <= numbers
        return self._multiple(count)

    def up(self, numbers: Numbers) -> Numbers:
        """The next multiple at or above each number."""
        if numbers.dtype.kind == "i":
            step = int(self.step)
            return np.asarray(numbers + (step - numbers % step) % step)  # not by -numbers: the least integer has no opposite
        return -self.down(-numbers)

    def _multiple(self, count: NDArray[np.float64]) -> NDArray[np.float64]:
        """So many steps, rounded once. With few digits one decimal is one float, so comparing them compares decimals."""
        numerator, denominator = self.step.as_integer_ratio()
        return count * float(numerator) / float(denominator)

    def describe(self) -> str:
        return f"in steps of {self.step}"


@dataclass(frozen=True, eq=False)
class NumericAxis:
    """Numbers by size. `first` and `last`: each code's smallest and largest value, different only where values are binned."""

    name: str
    first: Numbers
    last: Numbers
    binned: bool = False
    comma: bool = False
    """Decimals are written with a comma, as in the source."""
    grid: Grid | None = None
    """Where ranges end; at their members if there is none."""

    @property
    def size(self) -> int:
        return len(self.first) + 1

    @property
    def range(self) -> float:
        """Largest minus smallest value of the whole table; 0 for a constant column."""
        return float(difference(self.last[-1:], self.first[:1])[0]) if len(self.first) else 0.0

    def offset(self, values: Numbers) -> NDArray[np.float64]:
        """How far values lie above the smallest of the table; what is published may begin below it."""
        if not len(self.first):
            return np.zeros(len(values))
        smallest = np.broadcast_to(self.first[:1], values.shape)
        return np.where(values >= smallest, difference(values, smallest), -difference(smallest, values))

    def published(self, low: NDArray[np.int64], high: NDArray[np.int64], ends: Ends | None) -> Ends:
        """The ends that are published: a single value as it is, a real interval from grid to grid. For width and label alike."""
        begin, end = ends if ends is not None else (self.first[np.maximum(low, 1) - 1], self.last[np.maximum(high, 1) - 1])
        if self.grid is None:
            return begin, end
        real = begin < end
        return np.where(real, self.grid.down(begin), begin), np.where(real, self.grid.up(end), end)

    def coarse(self) -> tuple[float, Numbers, Numbers]:
        """From which width of a real interval on other ends are published, and which for each code."""
        if self.grid is None:
            return np.inf, self.first, self.last
        return 0.0, self.grid.down(self.first), self.grid.up(self.last)

    def width(self, low: NDArray[np.int64], high: NDArray[np.int64], measure: Measure, ends: Ends | None) -> NDArray[np.float64]:
        del measure  # a number's share of its range is the same by height and by leaves
        if not len(self.first):
            return np.zeros(len(low))
        begin, end = self.published(low, high, ends)
        share = np.clip(difference(end, begin), 0.0, self.range) / (self.range or 1.0)
        share = np.where(high == 0, 0.0, share)
        return np.where((low == 0) & (high > 0), 1.0, share)

    def label(self, low: NDArray[np.int64], high: NDArray[np.int64], ends: Ends | None) -> pa.Array:
        if not len(self.first):
            return pa.nulls(len(low), pa.string())
        begin, end = self.published(low, high, ends)
        begins, finals = self._texts(begin), self._texts(end)
        intervals = pc.binary_join_element_wise("[", begins, " - ", finals, "]", "")
        return _with_missing(pc.if_else(pa.array(begin == end), begins, intervals), low, high)

    def _texts(self, numbers: Numbers) -> pa.Array:
        """Each number's text, made once for all that are equal."""
        coded = pa.array(numbers).dictionary_encode()
        texts = pa.array([number_text(number, comma=self.comma) for number in coded.dictionary.to_pylist()], pa.string())
        return texts.take(coded.indices)

    def describe(self) -> str:
        found = f"numbers, {len(self.first)} {'bins' if self.binned else 'distinct'}"
        return found if self.grid is None else f"{found}, {self.grid.describe()}"


@dataclass(frozen=True, eq=False)
class DateAxis(NumericAxis):
    """Dates in days, one code per month, published as whole months and from 24 months on as whole years."""

    format: str = calendars.ISO
    """How the source writes them."""

    @classmethod
    def of_months(cls, name: str, months: NDArray[np.int64], form: str = calendars.ISO) -> DateAxis:
        """An axis of these months, numbered from January 1970."""
        return cls(name, *calendars.month_ends(months), format=form)

    def coarse(self) -> tuple[float, Numbers, Numbers]:
        return calendars.SHORTEST_IN_YEARS, *calendars.whole_years(self.first, self.last)

    def published(self, low: NDArray[np.int64], high: NDArray[np.int64], ends: Ends | None) -> Ends:
        return calendars.widened(*super().published(low, high, ends))

    def label(self, low: NDArray[np.int64], high: NDArray[np.int64], ends: Ends | None) -> pa.Array:
        if not len(self.first):
            return pa.nulls(len(low), pa.string())
        return _with_missing(calendars.interval_texts(*self.published(low, high, ends)), low, high)

    def describe(self) -> str:
        return f"dates, {len(self.first)} distinct months"


@dataclass(frozen=True, eq=False)
class TreeAxis:
    """Leaves of a tree, depth-first: leaf i has code i + 1. Text without a tree has a flat one."""

    name: str
    tree: Tree
    rule: str = ""
    """What made the tree, where it was not given."""

    @property
    def size(self) -> int:
        return len(self.tree.leaves) + 1

    def _node(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.tree.common_ancestor(np.maximum(low, 1) - 1, np.maximum(high, 1) - 1)

    def node_share(self, measure: Measure) -> NDArray[np.float64]:
        """Width of each node: its height's share of the tree's, or its leaves' share; a leaf costs nothing."""
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
        return _with_missing(texts.take(pa.array(index)), low, high)

    def describe(self) -> str:
        if self.tree.height == 1:
            return f"text, {len(self.tree.leaves)} values, kept or {ROOT}"
        made = f"tree {self.rule}" if self.rule else "tree"
        return f"{made}, {len(self.tree.leaves)} leaves, {self.tree.height} levels"


@dataclass(frozen=True, eq=False)
class Points:
    """The rows of a table as points: one row of codes each, on these axes."""

    codes: Codes
    """(rows, axes), rows contiguous, one dtype per table."""
    axes: tuple[Axis, ...]
    weights: tuple[float, ...]
    exact: Mapping[int, Numbers] = field(default_factory=dict)
    """True values of the axes whose codes are bins."""
    extra: Points | None = None
    """The sensitive columns as points, for methods that look at them too."""
    whole: Whole | None = None
    """The whole table, if these are some of its points."""
    objective: Objective = "leaf"
    """What searches lower that are free to choose; methods of a paper go by what that says."""
    label: Points | None = None
    """The column whose values are to stay together, never published from here."""
    wanted: Wanted | None = None
    """What a workload asks, for cuts that answer it."""

    @cached_property
    def some_missing(self) -> tuple[bool, ...]:
        """Per axis: whether any value in the whole table is missing."""
        if self.whole is not None:
            return self.whole.some_missing
        return tuple(bool((column == 0).any()) for column in self.codes.T)

    @cached_property
    def deviations(self) -> tuple[float, ...]:
        """Per axis: the standard deviation of its numbers in the whole table, in ranges; 0 for categories."""
        if self.whole is not None:
            return self.whole.deviations
        return tuple(self._deviation(number, axis) for number, axis in enumerate(self.axes))

    def _deviation(self, number: int, axis: Axis) -> float:
        if not isinstance(axis, NumericAxis):
            return 0.0
        codes = self.codes[:, number]
        values, counts = np.unique(self.exact.get(number, codes)[codes != 0], return_counts=True)
        return deviation(axis, values if number in self.exact else axis.first[values.astype(np.int64) - 1], counts)

    @property
    def rows(self) -> int:
        return len(self.codes)

    def take(self, order: NDArray[np.int64]) -> Points:
        """The same points in another order."""
        exact = {axis: values[order] for axis, values in self.exact.items()}
        extra, label = (None if other is None else other.take(order) for other in (self.extra, self.label))
        codes = np.take(self.codes, order, axis=0)
        wanted = None if self.wanted is None else self.wanted._replace(members=np.take(self.wanted.members, order, axis=0))
        return replace(self, codes=codes, exact=exact, extra=extra, whole=self.whole or self, label=label, wanted=wanted)

    def searched(self) -> Points:
        """The points as a search for the objective sees them: a label is one axis more."""
        if self.label is None:
            return self
        codes = np.column_stack([self.codes, self.label.codes])
        axes, weights = (*self.axes, *self.label.axes), (*self.weights, *self.label.weights)
        return replace(self, codes=codes, axes=axes, weights=weights, label=None, whole=None)

    def equal_rows(self) -> NDArray[np.int64]:
        """Per row: the class of those equal to it, numbered by their first rows."""
        _points, first, index = np.unique(self.codes, axis=0, return_index=True, return_inverse=True)
        number = np.empty(len(first), np.int64)
        number[np.argsort(first)] = np.arange(len(first))
        return number[index]

    @property
    def measure(self) -> Measure:
        """How the objective measures categories."""
        return "height" if self.objective == "height" else "leaf"

    def costs(self) -> AxisTables:
        """The axes for kernels that search by the objective; a box that straddles what a workload asks for costs more."""
        tables = self.kernel_tables(self.measure)
        if self.wanted is None:
            return tables
        ends = [tables.down.copy(), tables.up.copy(), tables.coarse_down.copy(), tables.coarse_up.copy()]
        full = tables.full.copy()
        node_cost = tables.node_cost + np.rint(UNIT * self.wanted.toll).astype(np.int64)
        for number, at in enumerate(self.wanted.axis_start):  # a label has none
            jump = self.wanted.jump[at : at + tables.size[number]]
            full[number] += round(UNIT * jump[-1])
            if tables.numeric[number] and tables.scale[number]:
                begin = tables.start[number]
                for values in ends:
                    values[begin : begin + len(jump)] += jump * UNIT / tables.scale[number]
        down, up, coarse_down, coarse_up = ends
        return tables._replace(full=full, down=down, up=up, coarse_down=coarse_down, coarse_up=coarse_up, node_cost=node_cost)

    def kernel_tables(self, measure: Measure = "height") -> AxisTables:
        """The axes flattened for kernels, costs weighted."""
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
                scale[number] = min(UNIT * weight / (axis.range or 1.0), LARGEST)  # were it infinite, a width of 0 would cost NaN
                coarse_from[number], *coarse = axis.coarse()
                for ends, values in zip(number_ends, (axis.first, axis.last, *coarse), strict=True):
                    ends.append(np.append(0.0, axis.offset(values)))  # code 0, missing, is never looked up
                codes_so_far += axis.size
            elif isinstance(axis, TreeAxis):
                start[number], height[number] = rows_so_far, axis.tree.height
                table = np.zeros((axis.tree.height + 1, axis.size), np.int32)  # column 0, missing, is never looked up
                table[:, 1:] = axis.tree.ancestors + nodes_so_far
                ancestors.append(table.ravel())
                cost.append(np.rint(axis.node_share(measure) * (UNIT * weight)).astype(np.int64))
                rows_so_far += table.size
                nodes_so_far += len(axis.tree.labels)
        full = np.rint(UNIT * np.array(self.weights, np.float64)).astype(np.int64)
        down, up, coarse_down, coarse_up = (np.concatenate(ends) for ends in number_ends)
        numbers = (scale, coarse_from, down, up, coarse_down, coarse_up)
        return AxisTables(full, numeric, start, sizes, height, *numbers, np.concatenate(ancestors), np.concatenate(cost))


def deviation(axis: NumericAxis, numbers: Numbers, counts: NDArray[np.int64]) -> float:
    """The standard deviation of numbers in ranges of their axis, each counted so often. Sums are exact: in any order."""
    share = axis.offset(numbers) / (axis.range or 1.0)
    rows = max(int(counts.sum()), 1)
    mean = math.fsum((share * counts).tolist()) / rows
    return math.sqrt(math.fsum(((share - mean) ** 2 * counts).tolist()) / rows)


def difference(high: Numbers, low: Numbers) -> NDArray[np.float64]:
    """high - low, for high >= low; integers are subtracted as integers, so that large ones lose nothing.

    >>> difference(np.array([2**60 + 1]), np.array([2**60])).tolist()
    [1.0]
    """
    if high.dtype.kind == "i":
        return (high.astype(np.uint64) - low.astype(np.uint64)).astype(np.float64)  # modulo 2^64, so never an overflow
    return np.asarray(high - low, np.float64)


def number_text(number: float, *, comma: bool = False) -> str:
    """The published text of a number: integers and whole decimals without a point, others as short as they are exact.

    >>> number_text(37), number_text(37.0), number_text(0.1), number_text(0.1, comma=True)
    ('37', '37', '0.1', '0,1')
    """
    if isinstance(number, float) and number.is_integer() and abs(number) < 2**53:
        return str(int(number))
    return str(number).replace(".", ",") if comma else str(number)


def _with_missing(texts: pa.Array, low: NDArray[np.int64], high: NDArray[np.int64]) -> pa.Array:
    texts = pc.if_else(pa.array((low == 0) & (high > 0)), ROOT, texts)
    return pc.if_else(pa.array(high == 0), pa.scalar(None, pa.string()), texts)


def code_dtype(axes: Sequence[Axis]) -> np.dtype[np.unsignedinteger]:
    """The smallest unsigned type that holds every code of every axis."""
    return np.min_scalar_type(max((axis.size for axis in axes), default=1) - 1)
