"""Divide columns into bins and spread published cells over them, to compare distributions.

A position is a number, a day or the index of a leaf, see `queries.value_domains`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort.utility.queries.value_domains import Codes, Domain, Indices, PublishedCells

MOST_BINS = 50
"""Maximum for columns of numbers or days, and for any column in a table of pairs."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of a column: its positions cut into pieces, each piece in one bin, and a last bin for missing values."""

    borders: Indices
    """First position of each piece except the first. Positions outside the range of the source belong to the outer pieces."""
    of_piece: Codes
    """Bin of each piece. Several pieces may share a bin."""
    count: int
    """Number of bins, without the bin for missing values."""
    has_order: bool
    is_whole: bool

    @classmethod
    def of(cls, domain: Domain) -> Bins:
        """Return the bins of a column."""
        if domain.tree is None:
            borders = _borders(*domain.ends, is_whole=domain.is_whole)
            return cls(borders, np.arange(len(borders) + 1), len(borders) + 1, has_order=True, is_whole=domain.is_whole)
        leaves = np.arange(domain.ends[1] + 1)
        if domain.leaf_numbers is None or not len(domain.leaf_numbers):
            return cls(leaves[1:], leaves, len(leaves), has_order=False, is_whole=True)
        numbers = domain.leaf_numbers
        borders = _borders(numbers.min(), numbers.max(), is_whole=domain.value_type != "decimal")
        return cls(leaves[1:], np.searchsorted(borders, numbers, "right"), len(borders) + 1, has_order=True, is_whole=True)

    def coarse(self) -> Bins:
        """Return at most `MOST_BINS` bins, so that a table of two columns stays small. Neighbouring leaves share a bin."""
        if self.count <= MOST_BINS:
            return self
        return replace(self, of_piece=self.of_piece * MOST_BINS // self.count, count=MOST_BINS)

    def parts(self, cells: PublishedCells) -> tuple[Codes, Codes, Floats]:
        """Return cells, their bins, and the share of the cell in the bin.

        Shares are by number of positions or, for real numbers, by length. `*` counts as present, even if it may be missing.
        """
        first, last = (np.searchsorted(self.borders, end, "right") for end in (cells.low, cells.high))
        many = np.where(cells.is_null, 1, last - first + 1)
        cell = np.repeat(np.arange(len(many)), many)
        piece = counting(many) + first[cell]
        low, high = cells.low.astype(np.float64), cells.high.astype(np.float64)
        edges = np.concatenate([[-np.inf], self.borders, [np.inf]])
        begin, end = np.maximum(low[cell], edges[piece]), np.minimum(high[cell], edges[piece + 1] - self.is_whole)
        size = np.where(many > 1, high - low + self.is_whole, 1.0)
        share = np.where(many[cell] > 1, (end - begin + self.is_whole) / size[cell], 1.0)
        return cell, np.where(cells.is_null[cell], self.count, self.of_piece[piece]), share


def counting(many: Codes) -> Codes:
    """Return the runs 0, 1, ..., n - 1 for each n, one after the other.

    >>> counting(np.array([2, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    return np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)


def _borders(low: Any, high: Any, *, is_whole: bool) -> Indices:
    """Return the inner borders of bins of equal width. With few whole numbers, each has its own bin."""
    if not is_whole:
        return np.linspace(low, high, MOST_BINS + 1)[1:-1] if low < high else np.empty(0)
    size = int(high) - int(low) + 1
    many = min(size, MOST_BINS)
    return np.array([int(low) - (-number * size // many) for number in range(1, many)], np.int64)


@dataclass(frozen=True, eq=False)
class CodedCells:
    """The distinct cells of a column, and the cell of each row."""

    cells: PublishedCells
    codes: Codes
    """Index of the cell of each row."""

    @classmethod
    def read(cls, domain: Domain, column: pa.ChunkedArray) -> CodedCells:
        """Read a published column."""
        return cls(*domain.read_published(column))

    @cached_property
    def counts(self) -> Floats:
        """Number of rows of each cell."""
        return np.bincount(self.codes, minlength=len(self.cells.low)).astype(np.float64)

    def shares(self, bins: Bins) -> Floats:
        """Return the share of all rows in each bin."""
        cell, at, share = bins.parts(self.cells)
        return np.bincount(at, share * self.counts[cell], bins.count + 1) / len(self.codes)

    def spread(self, bins: Bins) -> Floats:
        """Return an array (cells, bins): the share of each cell in each bin."""
        cell, at, share = bins.parts(self.cells)
        spread = np.zeros((len(self.cells.low), bins.count + 1))
        np.add.at(spread, (cell, at), share)
        return spread
