"""How exposed persons are in the table as it stands: the smallest class, who stands alone, and by which few columns.

Where one column tells persons apart, persons are counted and not rows: who has two rows that nobody else has is still alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.inspection.profile import Profile

SAMPLE = 50_000  # rows on which combinations are ranked; the figures of those shown are of all rows
MOST_COLUMNS = 12  # columns whose combinations are tried: those with the most distinct values

Indices = NDArray[np.int32]


@dataclass(frozen=True)
class Combination:
    """Some columns, and how many rows or persons are the only one with their values in them."""

    columns: tuple[str, ...]
    unique: int
    share: float


@dataclass(frozen=True)
class Risk:
    """The table as it stands, for one choice of quasi-identifiers."""

    quasi: tuple[str, ...]
    counted_in: Literal["rows", "persons"]
    total: int
    """So many of them."""
    k: int
    """The smallest class."""
    classes: int
    unique: int
    """Rows whose combination no other has; persons with a row whose combination nobody else has."""
    singling_out: tuple[Combination, ...]
    """The two and the three columns by which most stand alone."""

    @property
    def unique_share(self) -> float:
        return self.unique / max(self.total, 1)


def assess(profiles: Sequence[Profile], rows: int, unit: Profile | None = None) -> Risk:
    """The risk of these quasi-identifiers together, and of the worst two and three of them."""
    names = tuple(profile.name for profile in profiles)
    counted_in: Literal["rows", "persons"] = "persons" if unit else "rows"
    total = unit.distinct if unit else rows
    if not rows or not profiles:
        return Risk(names, counted_in, total, 0, 0, 0, ())
    together = _classes([profile.indices for profile in profiles], unit)
    worst = [_worst(profiles, size, total, unit) for size in (2, 3) if size <= len(profiles)]
    return Risk(names, counted_in, total, *together, tuple(worst))


def _worst(profiles: Sequence[Profile], size: int, total: int, unit: Profile | None) -> Combination:
    tried = sorted(profiles, key=lambda profile: -profile.distinct)[:MOST_COLUMNS]
    one_each = np.arange(total)
    if unit:  # a row of each person tells enough
        one_each[unit.indices] = np.arange(len(unit.indices))
    sample = one_each[:: max(1, total // SAMPLE)]
    sampled = {profile.name: profile.indices[sample] for profile in tried}

    def alone(chosen: tuple[Profile, ...]) -> int:
        return int(np.count_nonzero(_class_sizes([sampled[profile.name] for profile in chosen]) == 1))

    best = max(combinations(tried, size), key=alone)
    unique = _classes([profile.indices for profile in best], unit).unique
    return Combination(tuple(profile.name for profile in best), unique, unique / total)


class _Classes(NamedTuple):
    k: int
    classes: int
    unique: int


def _classes(columns: Sequence[Indices], unit: Profile | None) -> _Classes:
    """The smallest class, how many there are, and who is alone in one."""
    if unit is None:
        sizes = _class_sizes(columns)
        return _Classes(int(sizes.min()), len(sizes), int(np.count_nonzero(sizes == 1)))
    keys = np.sort(_keys([*columns, unit.indices])[0])
    class_of, person = np.divmod(keys[np.diff(keys, prepend=-1) > 0], unit.distinct + 1)  # each person of a class once
    first = np.flatnonzero(np.diff(class_of, prepend=-1))
    sizes = np.diff(first, append=len(class_of))
    alone = np.bincount(person[first[sizes == 1]])
    return _Classes(int(sizes.min()), len(sizes), int(np.count_nonzero(alone)))


def _class_sizes(columns: Sequence[Indices]) -> NDArray[np.int64]:
    """How many rows share each combination of values; missing is a value."""
    keys, used = _keys(columns)
    if used <= 4 * len(keys):
        counts = np.bincount(keys)
        return counts[counts > 0]
    return np.unique(keys, return_counts=True)[1]


def _keys(columns: Sequence[Indices]) -> tuple[NDArray[np.int64], int]:
    """A number for each combination, row by row, the last column counting fastest; and below which number they all are."""
    keys, used = columns[0].astype(np.int64) + 1, int(columns[0].max()) + 2
    for indices in columns[1:]:
        choices = int(indices.max()) + 2
        if used * choices >= 2**62:  # squeeze the gaps out before the keys overflow
            keys = np.unique(keys, return_inverse=True)[1]
            used = len(keys)
        keys = keys * choices + (indices + 1)
        used *= choices
    return keys, used
