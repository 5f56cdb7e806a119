"""Risk in the table before it is anonymized: the smallest group, the number of unique rows, and the columns that cause them.

If a column identifies people (the unit), people are counted instead of rows. A person with two rows that no other person has is
still unique.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.inspection.profile import Profile

SAMPLE = 50_000  # number of rows used to find the worst combinations; their figures are then counted in all rows
MOST_COLUMNS = 12  # combinations are formed of this many columns: those with the most distinct values

Indices = NDArray[np.int32]


@dataclass(frozen=True)
class Combination:
    """Some columns, and the number of rows (or people) that are unique by these columns."""

    columns: tuple[str, ...]
    unique: int
    share: float
    """`unique` as a share of all rows (or people)."""


@dataclass(frozen=True)
class Risk:
    """The risk in the table before it is anonymized, for one choice of quasi-identifiers."""

    quasi: tuple[str, ...]
    """The quasi-identifiers."""
    counted_in: Literal["rows", "persons"]
    """What the figures count: `persons` if a unit column is suggested, else `rows`."""
    total: int
    """Number of rows (or people) in the table."""
    k: int
    """Size of the smallest group."""
    classes: int
    """Number of groups."""
    unique: int
    """Rows whose quasi-identifiers no other row has (or people with a row whose quasi-identifiers no other person has)."""
    singling_out: tuple[Combination, ...]
    """The two columns and the three columns that make most rows (or people) unique."""

    @property
    def unique_share(self) -> float:
        """`unique` as a share of all rows (or people)."""
        return self.unique / max(self.total, 1)

    @property
    def counted(self) -> str:
        """What the figures count, in the words of messages: `rows` or `people`."""
        return "people" if self.counted_in == "persons" else "rows"


def assess(profiles: Sequence[Profile], rows: int, unit: Profile | None = None) -> Risk:
    """Count the groups and unique rows (or people) by these quasi-identifiers, and find the worst two and three of them."""
    names = tuple(profile.name for profile in profiles)
    counted_in: Literal["rows", "persons"] = "persons" if unit else "rows"
    total = unit.distinct if unit else rows
    if not rows or not profiles:
        return Risk(names, counted_in, total, 0, 0, 0, ())
    together = _groups([profile.indices for profile in profiles], unit)
    worst = [_worst(profiles, size, total, unit) for size in (2, 3) if size <= len(profiles)]
    return Risk(names, counted_in, total, *together, tuple(worst))


def _worst(profiles: Sequence[Profile], size: int, total: int, unit: Profile | None) -> Combination:
    """Find the combination of `size` columns that makes most rows (or people) unique."""
    tried = sorted(profiles, key=lambda profile: -profile.distinct)[:MOST_COLUMNS]
    one_each = np.arange(total)
    if unit:  # one row per person is enough to rank combinations
        one_each[unit.indices] = np.arange(len(unit.indices))
    sample = one_each[:: max(1, total // SAMPLE)]
    sampled = {profile.name: profile.indices[sample] for profile in tried}

    def unique_in_sample(chosen: tuple[Profile, ...]) -> int:
        return int(np.count_nonzero(_group_sizes([sampled[profile.name] for profile in chosen]) == 1))

    worst = max(combinations(tried, size), key=unique_in_sample)
    unique = _groups([profile.indices for profile in worst], unit).unique
    return Combination(tuple(profile.name for profile in worst), unique, unique / total)


class _Groups(NamedTuple):
    """Size of the smallest group, number of groups, number of unique rows (or people)."""

    k: int
    groups: int
    unique: int


def _groups(columns: Sequence[Indices], unit: Profile | None) -> _Groups:
    """Group the rows by these columns; count rows, or people if `unit` is given."""
    if unit is None:
        sizes = _group_sizes(columns)
        return _Groups(int(sizes.min()), len(sizes), int(np.count_nonzero(sizes == 1)))
    keys = np.sort(_keys([*columns, unit.indices])[0])
    group, person = np.divmod(keys[np.diff(keys, prepend=-1) > 0], unit.distinct + 1)  # each person once per group
    first = np.flatnonzero(np.diff(group, prepend=-1))
    sizes = np.diff(first, append=len(group))
    unique = np.bincount(person[first[sizes == 1]])
    return _Groups(int(sizes.min()), len(sizes), int(np.count_nonzero(unique)))


def _group_sizes(columns: Sequence[Indices]) -> NDArray[np.int64]:
    """Return the number of rows with each combination of values; missing counts as a value."""
    keys, used = _keys(columns)
    if used <= 4 * len(keys):
        counts = np.bincount(keys)
        return counts[counts > 0]
    return np.unique(keys, return_counts=True)[1]


def _keys(columns: Sequence[Indices]) -> tuple[NDArray[np.int64], int]:
    """Return a number per row that is equal for equal combinations (the last column varies fastest), and an upper bound."""
    keys, used = columns[0].astype(np.int64) + 1, int(columns[0].max()) + 2
    for indices in columns[1:]:
        choices = int(indices.max()) + 2
        if used * choices >= 2**62:  # renumber without gaps before the keys overflow
            keys = np.unique(keys, return_inverse=True)[1]
            used = len(keys)
        keys = keys * choices + (indices + 1)
        used *= choices
    return keys, used
