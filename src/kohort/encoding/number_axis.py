"""The axis of a column of numbers, and the grid on which its published ranges may end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kohort.encoding.axes import Ends, Measure, with_missing
from kohort.schema.type_detection import Numbers

EXACT_DIGITS = 15
"""A decimal of so many digits comes back from a 64-bit float as it was."""
MOST_PLACES = 22
"""10^22 is the largest power of ten that a 64-bit float holds exactly."""


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
        exponent = int(self.step.normalize().as_tuple().exponent)
        return abs(exponent) <= MOST_PLACES and max(-below, above) <= Fraction(10) ** (exponent + EXACT_DIGITS)

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
        return with_missing(pc.if_else(pa.array(begin == end), begins, intervals), low, high)

    def _texts(self, numbers: Numbers) -> pa.Array:
        """Each number's text, made once for all that are equal."""
        coded = pa.array(numbers).dictionary_encode()
        texts = pa.array([number_text(number, comma=self.comma) for number in coded.dictionary.to_pylist()], pa.string())
        return texts.take(coded.indices)

    def describe(self) -> str:
        found = f"numbers, {len(self.first)} {'bins' if self.binned else 'distinct'}"
        return found if self.grid is None else f"{found}, {self.grid.describe()}"


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
