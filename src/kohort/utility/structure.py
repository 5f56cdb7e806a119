"""How far the distributions that a release tells are from those of its source: of columns, of pairs, of whole records.

A release tells of each record an interval of places, and its value is taken to lie anywhere in there, as queries take it. Every
figure then comes from distinct cells and their counts, in whatever order the rows are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from kohort.errors import RequestError, listed
from kohort.utility.aligned import AlignedTables
from kohort.utility.bins import Bins, Floats, counting
from kohort.utility.column_distances import Distances, MeasuredColumn, total_variation
from kohort.utility.models.propensity import Propensity, propensity_of
from kohort.utility.queries.value_domains import Codes, PublishedCells, alike

TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class Changes:
    """Something that every pair of columns has: how far it is from that of the source."""

    mean: float
    largest: float
    between: tuple[str, str]
    """The pair with the largest."""


@dataclass(frozen=True)
class Structure:
    """Every distance between a release and its source."""

    per_column: Mapping[str, Distances]
    total: Distances
    """Means over the columns."""
    pairs: Changes | None
    """Total variation of the tables of two columns each; None with fewer than two."""
    correlations: Changes | None
    """Absolute change of Pearson's between columns of numbers or days, each cell taken at its published mean, or else its middle;
    None with fewer than two.
    """
    propensity: Propensity | None = None
    """If it was asked for."""

    def to_dict(self) -> dict[str, Any]:
        """In figures, for JSON."""
        released = asdict(self)
        if self.propensity is not None:
            released["propensity"]["ratio"] = self.propensity.ratio
        return released

    def in_words(self) -> str:
        """One sentence."""
        released = [f"columns are off by {self.total.total_variation:.1%} of the records on average"]
        if self.pairs is not None:
            worst = " and ".join(map(repr, self.pairs.between))
            released.append(f"pairs of them by {self.pairs.mean:.1%} (at most {self.pairs.largest:.1%}: {worst})")
        if self.correlations is not None:
            released.append(f"correlations change by up to {self.correlations.largest:.2f}")
        if self.total.entropy_share is not None:
            released.append(f"{self.total.entropy_share:.0%} of the entropy is lost")
        if self.propensity is not None:
            released.append(f"a propensity score finds {self.propensity.ratio:.1f} times the difference of another sample")
        words = "; ".join(released)
        return f"{words[0].upper()}{words[1:]}."


def structure(aligned: AlignedTables, *, propensity: bool = False, seed: int = 0) -> Structure:
    """Compare the quasi-identifiers of the records that were released with what is published of them, in any order of rows."""
    source, release, schema = aligned.source, aligned.release, aligned.schema
    if source.num_rows != release.num_rows or not release.num_rows:
        rows = f"the source has {source.num_rows:,} rows, the release {release.num_rows:,}"
        raise RequestError(f"A release is compared with the records in it: {rows}. Leave what is suppressed out of both.")
    names = [published for name in schema.quasi for published, _statistic in schema.columns[name].published(name)]
    if gone := [name for name in names if name not in release.column_names]:
        raise RequestError(f"There is no column {listed(gone)} in the release. Compare it with the source that it was made from.")
    columns = [MeasuredColumn.of(aligned, name) for name in schema.quasi]
    per_column = {column.domain.name: column.distances() for column in columns}
    return Structure(
        per_column,
        Distances(*(_mean(figures) for figures in zip(*map(astuple, per_column.values()), strict=True))),  # type: ignore[arg-type]
        _pairs(columns),
        _correlations([column for column in columns if column.bins.has_order]),
        propensity_of(columns, np.random.default_rng(seed)) if propensity else None,
    )


def _mean(figures: Sequence[float | None]) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return math.fsum(known) / len(known) if known else None


# --- pairs


def _pairs(columns: Sequence[MeasuredColumn]) -> Changes | None:
    """Total variation of every table of two columns. Inside of a cell they do not depend on each other."""
    if len(columns) < 2:
        return None
    bins = [column.bins.coarse() for column in columns]
    indices = [binned.parts(column.held.cells)[1][column.held.codes] for column, binned in zip(columns, bins, strict=True)]
    codes, counts = alike([column.released.codes for column in columns])
    by_cells = sorted(range(len(columns)), key=lambda number: len(columns[number].released.cells.low))
    found, spreads = {}, list[Floats]()
    for before, other in pairwise(by_cells):  # that with more cells is spread class by class, those with fewer cell by cell
        spreads.append(columns[before].released.spread(bins[before]))
        row, at, share = _parts_by_class(columns[other].released.cells, bins[other], codes[other])
        weight, width = share * counts[row], bins[other].count + 1
        for one, spread in zip(by_cells, spreads, strict=False):
            inside = np.bincount(codes[one][row] * width + at, weight, len(spread) * width).reshape(-1, width)
            held = np.bincount(indices[one] * width + indices[other], minlength=spread.shape[1] * width)
            names = columns[min(one, other)].domain.name, columns[max(one, other)].domain.name
            found[names] = total_variation(held.astype(np.float64), (spread.T @ inside).ravel()) / len(indices[one])
    return _changes(found)


def _parts_by_class(cells: PublishedCells, bins: Bins, codes: Codes) -> tuple[Codes, Codes, Floats]:
    """Which class lies in which bin with which share, by the codes of their cells."""
    cell, at, share = bins.parts(cells)
    many = np.bincount(cell, minlength=len(cells.low))
    start, row = np.cumsum(many) - many, np.repeat(np.arange(len(codes)), many[codes])
    part = counting(many[codes]) + start[codes][row]
    return row, at[part], share[part]


def _changes(found: Mapping[tuple[str, str], float]) -> Changes:
    worst = max(found, key=lambda names: found[names])
    return Changes(math.fsum(found.values()) / len(found), found[worst], worst)


def _correlations(columns: Sequence[MeasuredColumn]) -> Changes | None:
    if len(columns) < 2:
        return None
    source = _correlated(np.array([column.numbers(column.held) for column in columns]))
    release = _correlated(np.array([column.numbers(column.middles) for column in columns]))
    names, apart = [column.domain.name for column in columns], np.abs(source - release)
    return _changes({(names[one], names[other]): float(apart[one, other]) for one, other in combinations(range(len(names)), 2)})


def _correlated(numbers: Floats) -> Floats:
    """Pearson's of rows of numbers, over the records that have both; what does not vary correlates with nothing."""
    known = ~np.isnan(numbers)
    some, filled = known.astype(np.float64), np.where(known, numbers, 0.0)
    filled /= np.abs(filled).max(axis=1, keepdims=True) + TINY  # so that no sum overflows
    many = np.maximum(some.sum(axis=1, keepdims=True), 1)
    centred = (filled - filled.sum(axis=1, keepdims=True) / many) * some
    centred /= np.sqrt((centred**2).sum(axis=1, keepdims=True) / many) + TINY
    both = np.maximum(some @ some.T, 1)
    mean = centred @ some.T / both
    variance = centred**2 @ some.T / both - mean**2
    varies = (variance > 1e-12) & (variance.T > 1e-12)
    together = centred @ centred.T / both - mean * mean.T
    return np.where(varies, together / np.sqrt(np.where(varies, variance * variance.T, 1)), 0)
