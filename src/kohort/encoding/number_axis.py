"""The axis of a column of numbers, and the grid on which its published ranges end."""

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
"""A decimal with up to this many digits is unchanged after conversion to a 64-bit float and back."""
MOST_PLACES = 22
"""10^22 is the largest power of ten that a 64-bit float can store exactly."""


@dataclass(frozen=True)
class Grid:
    """The multiples of a step, counted from 0. Ranges end on them, so that range ends do not depend on the data."""

    step: Decimal
    """The step as a decimal, because no binary number is exactly 0.1."""

    def suits(self, numbers: Numbers) -> bool:
        """Return whether all range ends around these numbers can be stored and written exactly.

        If not, do not call the other methods.
        """
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
        """Return the largest multiple that is at most each number.

        >>> Grid(Decimal(5)).down(np.array([-1, 5, 9])).tolist(), Grid(Decimal("0.1")).down(np.array([0.3, 0.35])).tolist()
        ([-5, 5, 5], [0.3, 0.3])
        """
        if numbers.dtype.kind == "i":
            return np.asarray(numbers - numbers % int(self.step))
        count = np.floor(numbers / float(self.step))  # wrong by at most one, because there are at most 10^15 steps
        count -= self._multiple(count) > numbers
        count += self._multiple(count + 1) <= numbers
        return self._multiple(count)

    def up(self, numbers: Numbers) -> Numbers:
        """Return the smallest multiple that is at least each number."""
        if numbers.dtype.kind == "i":
            step = int(self.step)
            # Not -down(-numbers), because the negative of the smallest integer does not exist.
            return np.asarray(numbers + (step - numbers % step) % step)
        return -self.down(-numbers)

    def _multiple(self, count: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return `count` steps, rounded once.

        With at most 15 digits, each decimal has its own float. So comparing floats is the same as comparing decimals.
        """
        numerator, denominator = self.step.as_integer_ratio()
        return count * float(numerator) / float(denominator)

    def describe(self) -> str:
        """Return a short description of the grid."""
        return f"in steps of {self.step}"


@dataclass(frozen=True, eq=False)
class NumericAxis:
    """Numbers in their order. `first` and `last` are the smallest and largest value of each code; they differ only for bins."""

    name: str
    first: Numbers
    last: Numbers
    binned: bool = False
    comma: bool = False
    """Whether decimals are written with a comma, as in the source."""
    grid: Grid | None = None
    """The grid on which ranges end. If None, ranges end at the smallest and largest value of the group."""

    @property
    def size(self) -> int:
        return len(self.first) + 1

    @property
    def range(self) -> float:
        """Largest minus smallest value in the whole table; 0 for a constant column."""
        return float(difference(self.last[-1:], self.first[:1])[0]) if len(self.first) else 0.0

    def offset(self, values: Numbers) -> NDArray[np.float64]:
        """Return values minus the smallest value in the table.

        The result can be negative, because published ranges may begin below the smallest value.
        """
        if not len(self.first):
            return np.zeros(len(values))
        smallest = np.broadcast_to(self.first[:1], values.shape)
        return np.where(values >= smallest, difference(values, smallest), -difference(smallest, values))

    def published(self, low: NDArray[np.int64], high: NDArray[np.int64], ends: Ends | None) -> Ends:
        """Return the published ends of each box: a single value unchanged, a range rounded outwards to the grid.

        Both `width` and `label` use it.
        """
        begin, end = ends if ends is not None else (self.first[np.maximum(low, 1) - 1], self.last[np.maximum(high, 1) - 1])
        if self.grid is None:
            return begin, end
        real = begin < end
        return np.where(real, self.grid.down(begin), begin), np.where(real, self.grid.up(end), end)

    def coarse(self) -> tuple[float, Numbers, Numbers]:
        """Return the width from which ranges have coarse ends, and the coarse ends of each code."""
        if self.grid is None:
            return np.inf, self.first, self.last
        return 0.0, self.grid.down(self.first), self.grid.up(self.last)

    def width(self, low: NDArray[np.int64], high: NDArray[np.int64], measure: Measure, ends: Ends | None) -> NDArray[np.float64]:
        del measure  # for numbers, height loss and leaf loss are the same
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
        """Return the text of each number. Equal numbers are converted once."""
        coded = pa.array(numbers).dictionary_encode()
        texts = pa.array([number_text(number, comma=self.comma) for number in coded.dictionary.to_pylist()], pa.string())
        return texts.take(coded.indices)

    def describe(self) -> str:
        found = f"numbers, {len(self.first)} {'bins' if self.binned else 'distinct'}"
        return found if self.grid is None else f"{found}, {self.grid.describe()}"


def deviation(axis: NumericAxis, numbers: Numbers, counts: NDArray[np.int64]) -> float:
    """Return the standard deviation of numbers as a share of the range of their axis; `counts` has the rows per number.

    Sums are exact, so they do not depend on the order of the numbers.
    """
    share = axis.offset(numbers) / (axis.range or 1.0)
    rows = max(int(counts.sum()), 1)
    mean = math.fsum((share * counts).tolist()) / rows
    return math.sqrt(math.fsum(((share - mean) ** 2 * counts).tolist()) / rows)


def difference(high: Numbers, low: Numbers) -> NDArray[np.float64]:
    """Return high - low, for high >= low. Integers are subtracted as integers, so that large ones stay exact.

    >>> difference(np.array([2**60 + 1]), np.array([2**60])).tolist()
    [1.0]
    """
    if high.dtype.kind == "i":
        return (high.astype(np.uint64) - low.astype(np.uint64)).astype(np.float64)  # modulo 2^64, so it cannot overflow
    return np.asarray(high - low, np.float64)


def number_text(number: float, *, comma: bool = False) -> str:
    """Return the published text of a number: whole numbers without a decimal point, others with as few digits as are exact.

    >>> number_text(37), number_text(37.0), number_text(0.1), number_text(0.1, comma=True)
    ('37', '37', '0.1', '0,1')
    """
    if isinstance(number, float) and number.is_integer() and abs(number) < 2**53:
        return str(int(number))
    return str(number).replace(".", ",") if comma else str(number)
