"""How exposed persons are in the table as it stands: the smallest class, who stands alone, and by which few columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from kohort.inspecting.profile import Profile

SAMPLE = 50_000  # rows on which combinations are ranked; the figures of those shown are of all rows
MOST_COLUMNS = 12  # columns whose combinations are tried: those with the most distinct values


@dataclass(frozen=True)
class Combination:
    """Some columns, and how many persons are the only one with their values in them."""

    columns: tuple[str, ...]
    unique: int
    share: float


@dataclass(frozen=True)
class Risk:
    """The table as it stands, for one choice of quasi-identifiers."""

    quasi: tuple[str, ...]
    k: int
    """The smallest class."""
    classes: int
    unique: int
    """Persons whose combination nobody shares."""
    unique_share: float
    singling_out: tuple[Combination, ...]
    """The two and the three columns by which most persons stand alone."""


def assess(profiles: Sequence[Profile], rows: int) -> Risk:
    """The risk of these quasi-identifiers together, and of the worst two and three of them."""
    names = tuple(profile.name for profile in profiles)
    if not rows or not profiles:
        return Risk(names, 0, 0, 0, 0.0, ())
    sizes = _class_sizes([profile.places for profile in profiles])
    unique = int(np.count_nonzero(sizes == 1))
    worst = [_worst(profiles, rows, size) for size in (2, 3) if size <= len(profiles)]
    return Risk(names, int(sizes.min()), len(sizes), unique, unique / rows, tuple(worst))


def _worst(profiles: Sequence[Profile], rows: int, size: int) -> Combination:
    tried = sorted(profiles, key=lambda profile: -profile.distinct)[:MOST_COLUMNS]
    step = max(1, rows // SAMPLE)

    def alone(chosen: tuple[Profile, ...], every: int) -> int:
        return int(np.count_nonzero(_class_sizes([profile.places[::every] for profile in chosen]) == 1))

    best = max(combinations(tried, size), key=lambda chosen: alone(chosen, step))
    unique = alone(best, 1)
    return Combination(tuple(profile.name for profile in best), unique, unique / rows)


def _class_sizes(columns: Sequence[NDArray[np.int32]]) -> NDArray[np.int64]:
    """How many rows share each combination of values; missing is a value."""
    keys, used = columns[0].astype(np.int64) + 1, int(columns[0].max()) + 2
    for places in columns[1:]:
        choices = int(places.max()) + 2
        if used * choices >= 2**62:  # squeeze the gaps out before the keys overflow
            keys = np.unique(keys, return_inverse=True)[1]
            used = len(keys)
        keys = keys * choices + (places + 1)
        used *= choices
    if used <= 4 * len(keys):
        counts = np.bincount(keys)
        return counts[counts > 0]
    return np.unique(keys, return_counts=True)[1]
