"""Distances between the distributions of a release and of its source: of columns, of pairs of columns, of whole rows.

A published cell is an interval of positions. Its value is assumed to be anywhere in the interval with equal probability, as for
queries. All figures are computed from distinct cells and their counts, so the order of the rows does not matter.
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
from kohort.utility.queries.value_domains import Codes, PublishedCells, distinct_combinations
from kohort.wording import percent

TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class Changes:
    """Changes from source to release, over all pairs of columns.

    Parameters
    ----------
    mean
        Mean of all pairs.
    largest
        Largest change of a pair.
    between
        The pair with the largest change.

    """

    mean: float
    largest: float
    between: tuple[str, str]


@dataclass(frozen=True)
class Structure:
    """Distances between the distributions of a release and of its source. `Release.structure` returns it.

    Parameters
    ----------
    per_column
        Distances of each quasi-identifier.
    total
        Means over all quasi-identifiers.
    pairs
        Total variation of all pairs of columns. None with fewer than two columns.
    correlations
        Absolute change of Pearson's correlation between columns of numbers or dates. A cell counts as its published mean or, if
        there is none, as its middle. None with fewer than two such columns.
    propensity
        How well a model can distinguish the release from its source. None if it was not requested.

    Examples
    --------
    >>> import kohort as kh
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [20, 20, 30, 40], "sex": ["f", "f", "m", "m"]})
    >>> found = kh.anonymize(table, quasi=["age", "sex"], k=2, seed=1).structure()
    >>> found.per_column["sex"].total_variation  # sex was published unchanged
    0.0
    >>> found.pairs.between
    ('age', 'sex')
    >>> found.total.entropy_share > 0, found.correlations is None, found.propensity is None
    (True, True, True)

    """

    per_column: Mapping[str, Distances]
    total: Distances
    pairs: Changes | None
    correlations: Changes | None
    propensity: Propensity | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as a dictionary for JSON.

        Returns
        -------
        dict
            The keys are `per_column`, `total`, `pairs`, `correlations` and `propensity`.

        Examples
        --------
        >>> import kohort as kh
        >>> import pyarrow as pa
        >>> table = pa.table({"age": [20, 20, 30, 40], "sex": ["f", "f", "m", "m"]})
        >>> kh.anonymize(table, quasi=["age", "sex"], k=2, seed=1).structure().to_dict()["pairs"]["between"]
        ('age', 'sex')

        """
        facts = asdict(self)
        if self.propensity is not None:
            facts["propensity"]["ratio"] = self.propensity.ratio
        return facts

    def in_words(self) -> str:
        """Return the main figures in plain sentences.

        Returns
        -------
        str
            Sentences for people.

        Examples
        --------
        >>> half = Distances(0.5, 0.5, 0.5, 1.0, 0.5)
        >>> print(Structure({"age": half, "sex": half}, half, Changes(0.6, 0.6, ("age", "sex")), None).in_words())
        To match the source, a column must change 50.0 % of its rows on average.
        A pair of columns must change 60.0 % on average (at most 60.0 %: 'age' and 'sex'). Information lost (entropy): 50 %.

        """
        sentences = [f"To match the source, a column must change {percent(self.total.total_variation)} of its rows on average"]
        if self.pairs is not None:
            worst = " and ".join(map(repr, self.pairs.between))
            largest = f"at most {percent(self.pairs.largest)}: {worst}"
            sentences.append(f"A pair of columns must change {percent(self.pairs.mean)} on average ({largest})")
        if self.correlations is not None:
            sentences.append(f"Correlations change by up to {self.correlations.largest:.2f}")
        if self.total.entropy_share is not None:
            sentences.append(f"Information lost (entropy): {100 * self.total.entropy_share:.0f} %")
        if self.propensity is not None:
            ratio = f"{self.propensity.ratio:.1f} times as large as that of a random sample of the source"
            sentences.append(f"The difference that a model finds between release and source is {ratio}")
        return f"{'. '.join(sentences)}."


def structure(aligned: AlignedTables, *, propensity: bool = False, seed: int = 0) -> Structure:
    """Compare the quasi-identifiers of the release with those of its source rows. The order of the rows does not matter."""
    source, release, schema = aligned.source, aligned.release, aligned.schema
    if source.num_rows != release.num_rows or not release.num_rows:
        rows = f"the source has {source.num_rows:,} rows, the release {release.num_rows:,}"
        raise RequestError(f"The tables do not have the same rows: {rows}. Leave suppressed rows out of both.")
    names = [published for name in schema.quasi for published, _statistic in schema.columns[name].published(name)]
    if gone := [name for name in names if name not in release.column_names]:
        raise RequestError(f"There is no column {listed(gone)} in the release. Compare the release with its own source.")
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
    """Return the total variation of every pair of columns. Inside a cell, the two columns are assumed to be independent."""
    if len(columns) < 2:
        return None
    bins = [column.bins.coarse() for column in columns]
    indices = [binned.parts(column.held.cells)[1][column.held.codes] for column, binned in zip(columns, bins, strict=True)]
    codes, counts = distinct_combinations([column.released.codes for column in columns])
    by_cells = sorted(range(len(columns)), key=lambda number: len(columns[number].released.cells.low))
    found, spreads = {}, list[Floats]()
    for before, other in pairwise(by_cells):  # the column with more cells is spread group by group, the others cell by cell
        spreads.append(columns[before].released.spread(bins[before]))
        row, at, share = _parts_by_group(columns[other].released.cells, bins[other], codes[other])
        weight, width = share * counts[row], bins[other].count + 1
        for one, spread in zip(by_cells, spreads, strict=False):
            inside = np.bincount(codes[one][row] * width + at, weight, len(spread) * width).reshape(-1, width)
            held = np.bincount(indices[one] * width + indices[other], minlength=spread.shape[1] * width)
            names = columns[min(one, other)].domain.name, columns[max(one, other)].domain.name
            found[names] = total_variation(held.astype(np.float64), (spread.T @ inside).ravel()) / len(indices[one])
    return _changes(found)


def _parts_by_group(cells: PublishedCells, bins: Bins, codes: Codes) -> tuple[Codes, Codes, Floats]:
    """Return groups, their bins, and the share of the group in the bin. `codes` are the cells of the groups."""
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
    """Return Pearson's correlation of each two columns, over the rows where both are known. It is 0 for a constant column."""
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
