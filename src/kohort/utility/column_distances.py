"""Distances between the source and the release for one quasi-identifier."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kohort.errors import RequestError
from kohort.utility.aligned import AlignedTables
from kohort.utility.bins import Bins, CodedCells, Floats
from kohort.utility.queries.value_domains import Codes, Domain

NO_MASS = 0.5
"""Number of rows assumed for a value that does not occur in the release, so that the Kullback-Leibler divergence is finite."""


@dataclass(frozen=True)
class Distances:
    """Distances between the release and its source, for one column or as the mean of all columns.

    Parameters
    ----------
    total_variation
        Half the sum of the differences between shares: the share of rows that must change to get the source's distribution.
    earth_mover
        The same, with each change weighted by its distance. The distance is 1 from one end of the column to the other, and to or
        from missing. All categories have the distance 1 from each other.
    kullback_leibler
        Kullback-Leibler divergence from source to release, in bits.
    entropy_loss
        Bits of information about the value that a cell lost, as the mean of all rows, for a reader who knows how frequent values
        are (non-uniform entropy: Gionis and Tassa; de Waal and Willenborg). None if only means are published.
    entropy_share
        `entropy_loss` as a share of the loss if all cells were `*`. None if only means are published.

    """

    total_variation: float
    earth_mover: float
    kullback_leibler: float
    entropy_loss: float | None
    entropy_share: float | None


@dataclass(frozen=True, eq=False)
class MeasuredColumn:
    """One quasi-identifier: its source values and its published cells."""

    domain: Domain
    bins: Bins
    held: CodedCells
    """The values of the source."""
    published: Mapping[str, CodedCells]
    """The published cells by statistic: range, mean or both."""

    @classmethod
    def of(cls, aligned: AlignedTables, name: str) -> MeasuredColumn:
        """Read a column of the source and of the release."""
        domain = aligned.domain(name)
        reads = {"range": domain, "mean": replace(domain, value_type="decimal")}  # the mean of whole numbers may be a decimal
        published = {
            statistic: CodedCells.read(reads[statistic], aligned.release.column(column))
            for column, statistic in aligned.schema.columns[name].published(name)
        }
        held = CodedCells(*domain.read_values(aligned.source.column(name), aligned.schema.missing))
        return cls(domain, Bins.of(domain), held, published)

    @property
    def released(self) -> CodedCells:
        """The published ranges or, if there are none, the means."""
        return self.published.get("range") or self.published["mean"]

    @property
    def middles(self) -> CodedCells:
        """The published means or, if there are none, the ranges."""
        return self.published.get("mean") or self.published["range"]

    def distances(self) -> Distances:
        """Return the distances between source and release."""
        source, release = self.held.shares(self.bins), self.released.shares(self.bins)
        apart = total_variation(source, release)
        moved = _earth_moved(source, release) if self.bins.has_order else apart
        return Distances(apart, moved, _kullback_leibler(source, release, len(self.held.codes)), *self._entropy_loss())

    def _entropy_loss(self) -> tuple[float, float] | tuple[None, None]:
        """Return the entropy lost in bits per row, and as a share of the largest possible loss. Missing counts as a value.

        A row loses log2(rows with a value in its cell / rows with its value). `*` includes the missing value. The result needs
        only the sums of the two logarithms.
        """
        if "range" not in self.published:
            return None, None
        rows, null, cells = len(self.held.codes), self.held.cells.is_null, self.released.cells
        indices, at = np.unique(self.held.cells.low[~null], return_inverse=True)
        counts = np.bincount(at, self.held.counts[~null], len(indices))
        missing = float(self.held.counts[null].sum())
        below = np.append(0.0, np.cumsum(counts))
        inside = below[np.searchsorted(indices, cells.high, "right")] - below[np.searchsorted(indices, cells.low, "left")]
        inside = np.where(cells.is_null, missing, inside + cells.unsure * missing)
        if self.released.counts[inside == 0].any():
            name = repr(self.domain.name)
            raise RequestError(
                f"In column {name}, the release has values that the source does not have. Compare it with its own source."
            )
        own = np.append(counts, missing)
        kept = _sum_of_logs(own, own) / rows
        most = math.log2(rows) - kept
        loss = max(_sum_of_logs(self.released.counts, inside) / rows - kept, 0.0)
        return loss, loss / most if most > 0 else 0.0

    def numbers(self, coded: CodedCells) -> Floats:
        """Return the middle of the cell of each row; NaN if missing."""
        middles = self.domain.numbers_within(coded.cells.low, coded.cells.high)[0]
        return np.where(coded.cells.is_null, np.nan, middles)[coded.codes]

    def drawn(self, chosen: Codes, random: np.random.Generator) -> Floats:
        """Return the values of chosen rows, then values drawn evenly from their published cells.

        Values are numbers or, for categories, bins; NaN if missing.
        """
        return np.concatenate([self._drawn(coded, coded.codes[chosen], random) for coded in (self.held, self.released)])

    def _drawn(self, coded: CodedCells, codes: Codes, random: np.random.Generator) -> Floats:
        low, high = (end.astype(np.float64)[codes] for end in (coded.cells.low, coded.cells.high))
        share = random.random(len(codes))
        indices = low + (np.floor(share * (high - low + 1)) if self.domain.is_whole else share * (high - low))
        if self.domain.tree is not None:
            of_leaf = self.domain.leaf_numbers if self.bins.has_order else self.bins.coarse().of_piece
            indices = np.asarray(of_leaf, np.float64)[indices.astype(np.int64)]
        return np.where(coded.cells.is_null[codes], np.nan, indices)


def total_variation(source: Floats, release: Floats) -> float:
    """Return half the sum of the absolute differences."""
    return float(np.abs(source - release).sum()) / 2


def _earth_moved(source: Floats, release: Floats) -> float:
    """Return the earth mover's distance. Inside the column, it is the mean difference of the cumulative shares.

    Shares that move to or from missing have the distance 1. Such a share can arrive at any bin. The part that has arrived up to a
    border never decreases from border to border. It is chosen so that the least remains to be moved inside the column: a monotone
    fit to the differences.
    """
    if source[-1] < release[-1]:
        source, release = release, source
    came_in = float(source[-1] - release[-1])
    lacking = np.cumsum(release - source)[:-2]
    within = np.clip(lacking, 0.0, came_in)
    carried = float(np.abs(lacking - within).sum()) + _until_rising(within.tolist())
    return came_in + carried / max(len(lacking), 1)


def _until_rising(numbers: Sequence[float]) -> float:
    """Return the smallest sum of changes that makes the numbers non-decreasing.

    >>> _until_rising([1, 4, 2, 3])
    2.0
    """
    total, highest = 0.0, list[float]()
    for number in numbers:
        heapq.heappush(highest, -number)
        if -highest[0] > number:
            total += -heapq.heapreplace(highest, -number) - number
    return total


def _kullback_leibler(source: Floats, release: Floats, rows: int) -> float:
    nothing = (source > 0) & (release == 0)
    if nothing.any():
        release = np.where(nothing, NO_MASS / rows, release)
        release = release / release.sum()
    held = source > 0
    return max(float(source[held] @ np.log2(source[held] / release[held])), 0.0)


def _sum_of_logs(counts: NDArray[Any], numbers: Floats) -> float:
    some = counts > 0
    return float(counts[some] @ np.log2(numbers[some]))
