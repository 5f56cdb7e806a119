"""One quasi-identifier of a source and of its release: how far what is told of it is from what it holds."""

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
"""Records that a release is taken to tell of a value that it tells none of, so that Kullback-Leibler is finite."""


@dataclass(frozen=True)
class Distances:
    """How far one column is from its source, or all of them on average."""

    total_variation: float
    """Half the sum of the differences between shares: the share of the records that would have to change."""
    earth_mover: float
    """The same, each change by how far it goes: 1 is from one end of the column to the other, or to or from missing.
    Categories are all equally far apart.
    """
    kullback_leibler: float
    """From source to release, in bits."""
    entropy_loss: float | None
    """Bits per record that its cell does not tell of its value, for one who knows how frequent values are (non-uniform entropy:
    Gionis and Tassa; de Waal and Willenborg). None where only means are published.
    """
    entropy_share: float | None
    """Of what a column of nothing but * would lose."""


@dataclass(frozen=True, eq=False)
class MeasuredColumn:
    """One quasi-identifier: what its records hold, and what is told of them."""

    domain: Domain
    bins: Bins
    held: CodedCells
    published: Mapping[str, CodedCells]
    """By statistic: its range, its mean, or both."""

    @classmethod
    def of(cls, aligned: AlignedTables, name: str) -> MeasuredColumn:
        domain = aligned.domain(name)
        reads = {"range": domain, "mean": replace(domain, value_type="decimal")}  # the mean of whole numbers need not be one
        published = {
            statistic: CodedCells.read(reads[statistic], aligned.release.column(column))
            for column, statistic in aligned.schema.columns[name].published(name)
        }
        held = CodedCells(*domain.read_values(aligned.source.column(name), aligned.schema.missing))
        return cls(domain, Bins.of(domain), held, published)

    @property
    def released(self) -> CodedCells:
        return self.published.get("range") or self.published["mean"]

    @property
    def middles(self) -> CodedCells:
        return self.published.get("mean") or self.published["range"]

    def distances(self) -> Distances:
        source, release = self.held.shares(self.bins), self.released.shares(self.bins)
        apart = total_variation(source, release)
        moved = _earth_moved(source, release) if self.bins.has_order else apart
        return Distances(apart, moved, _kullback_leibler(source, release, len(self.held.codes)), *self._entropy_loss())

    def _entropy_loss(self) -> tuple[float, float] | tuple[None, None]:
        """In bits per record, and as a share of the most that can be lost. Missing is a value, for which * may stand.

        A record loses log2(records with a value in its cell / records with its value): the sums of both logarithms are enough.
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
                f"In column {name} the release tells what the source does not hold. Compare it with its own source."
            )
        own = np.append(counts, missing)
        kept = _sum_of_logs(own, own) / rows
        most = math.log2(rows) - kept
        loss = max(_sum_of_logs(self.released.counts, inside) / rows - kept, 0.0)
        return loss, loss / most if most > 0 else 0.0

    def numbers(self, coded: CodedCells) -> Floats:
        """Per record: the middle of its cell; NaN where missing."""
        middles = self.domain.numbers_within(coded.cells.low, coded.cells.high)[0]
        return np.where(coded.cells.is_null, np.nan, middles)[coded.codes]

    def drawn(self, chosen: Codes, random: np.random.Generator) -> Floats:
        """The values of chosen records, then ones drawn evenly from their cells: numbers, NaN where missing, or bins."""
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
    return float(np.abs(source - release).sum()) / 2


def _earth_moved(source: Floats, release: Floats) -> float:
    """Inside the column by the mean difference of the cumulative shares; to or from missing all the way.

    Mass that was missing may come in anywhere: what has come in up to a border only rises from there to the next, from nothing to
    all of it, and is chosen to leave the least to be carried across. That is a monotone fit to the differences.
    """
    if source[-1] < release[-1]:
        source, release = release, source
    came_in = float(source[-1] - release[-1])
    lacking = np.cumsum(release - source)[:-2]
    within = np.clip(lacking, 0.0, came_in)
    carried = float(np.abs(lacking - within).sum()) + _until_rising(within.tolist())
    return came_in + carried / max(len(lacking), 1)


def _until_rising(numbers: Sequence[float]) -> float:
    """The least sum of changes after which no number is below the one before.

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
