"""Find the column that identifies people in a table in which a person may have several rows.

Sex, origin and date of birth of a person are the same in all rows, and the age is almost the same; the patients of one doctor
differ in them. So a column with repeated values identifies people if rows with the same value agree in these columns. A column
name that suggests a person is further evidence. The rows need not agree exactly: real tables record one patient with two races.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kohort.inspection.name_hints import NAMES, OFFICIAL, PERSON, SOMEBODY_ELSE, ends_like_id, hint, says_id
from kohort.inspection.profile import Profile

AGREEMENT = 0.8  # minimum of `_agreement` for rows with the same value to count as agreeing in another column
BY_CHANCE = 10  # with fewer repeated rows than this, rows may agree by chance
PERSONAL = ("age", "sex", "birth", "origin", "looks")  # meanings of columns that describe a person, not a place or a visit
GROUPS = (SOMEBODY_ELSE, "family")  # meanings of columns in which several people have the same value


@dataclass(frozen=True)
class Repeating:
    """A column with repeated values, and the evidence that each value is one person with several rows."""

    profile: Profile
    compared: tuple[str, ...]
    """Quasi-identifiers that should be the same in all rows of a person."""
    agreeing: tuple[str, ...]
    """Those of them in which rows with the same value agree."""
    personal: bool
    """Whether the compared columns describe a person, not a place or a household."""

    @property
    def identifies_people(self) -> bool:
        """Whether rows with the same value are probably rows of one person."""
        meaning = _meaning(self.profile)
        if meaning in GROUPS:
            return False
        if meaning in (PERSON, OFFICIAL):
            return bool(self.agreeing) or not self.compared
        # People with the same first name have the same sex, and rows of one school have the same place: one column is too few.
        enough = 1 if self.personal and meaning != NAMES else 2
        agree = len(self.agreeing) >= enough and 2 * len(self.agreeing) > len(self.compared)
        return agree and self.profile.rows - self.profile.missing - self.profile.distinct >= BY_CHANCE

    @property
    def may_identify_people(self) -> bool:
        """Whether the user should check this column. Names are excluded, because different people have the same name."""
        often = 2 * self.profile.distinct <= self.profile.rows - self.profile.missing
        return self.identifies_people or (often and _meaning(self.profile) != NAMES)

    @property
    def rank(self) -> tuple[bool, int, bool, int]:
        """The larger, the better the column identifies people. A patient number has fewer values than a number of stays."""
        name = self.profile.name
        is_number = says_id(name) or (ends_like_id(name) and not name.lower().endswith("name"))
        return _meaning(self.profile) in (PERSON, OFFICIAL), len(self.agreeing), is_number, -self.profile.distinct


def repeating(identifiers: Sequence[Profile], quasi: Sequence[Profile]) -> list[Repeating]:
    """Return the identifiers with repeated values that may identify people, the most likely first."""
    constant = constant_per_person(quasi)
    births = [one for one in quasi if _meaning(one) == "birth" and one.distinct > 1]
    personal = [one for one in quasi if one in births or (one in constant and _meaning(one) in PERSONAL)]
    compared = personal or constant
    found = [
        Repeating(
            one,
            tuple(other.name for other in compared),
            tuple(other.name for other in compared if _agreement(one, other) >= AGREEMENT),
            bool(personal),
        )
        for one in identifiers
        if 1 < one.distinct < one.rows - one.missing
    ]
    return sorted((one for one in found if one.may_identify_people), key=lambda one: one.rank, reverse=True)


def constant_per_person(quasi: Sequence[Profile]) -> list[Profile]:
    """Return the quasi-identifiers that are normally the same in all rows of a person; dates and times of visits are not."""
    return [one for one in quasi if one.distinct > 1 and one.value_type not in ("date", "timestamp") and _meaning(one) != "time"]


def determines(one: Profile, other: Profile) -> bool:
    """Whether all rows with the same value in one column also have the same value in the other."""
    other_value = np.zeros(one.distinct + 1, np.int64)
    other_value[one.indices] = other.indices
    return bool(np.array_equal(other_value[one.indices], other.indices))


def _agreement(one: Profile, other: Profile) -> float:
    """Return how well rows with the same value in `one` agree in `other`: 1 if they are equal, 0 if no closer than any two rows.

    Numbers and dates are compared by rank, because an age may increase by a year between two visits. Texts are equal or not.
    """
    both = (one.indices >= 0) & (other.indices >= 0)
    group, values = one.indices[both], other.indices[both]
    first = np.empty(one.distinct, np.int64)
    first[group[::-1]] = np.arange(len(group))[::-1]
    later = np.flatnonzero(first[group] != np.arange(len(group)))
    if not len(later):
        return 0.0
    numbers = other.reading.numbers
    rank = np.argsort(np.argsort(numbers)) if numbers is not None else np.arange(other.distinct)
    later_rank, first_rank = rank[values[later]], rank[values[first[group[later]]]]
    share = np.bincount(rank[values], minlength=other.distinct) / len(values)
    if numbers is not None:
        cumulative = np.cumsum(share)
        distance, of_any_two = np.abs(later_rank - first_rank).mean(), 2 * float(np.sum(cumulative * (1 - cumulative)))
    else:
        distance, of_any_two = (later_rank != first_rank).mean(), 1 - float(np.sum(share**2))
    return 1 - float(distance) / of_any_two if of_any_two > 0 else 0.0


def _meaning(profile: Profile) -> str | None:
    meant = hint(profile.name)
    return meant.meaning if meant else None
