"""Whose rows are they? Finds the column that tells persons apart where a person has several rows.

A person keeps sex, origin and date of birth, and nearly the age, from one row to the next; the patients of a doctor do not
share them. So a column that repeats numbers persons if its rows agree in what a person keeps, and better still if its name
says so. Agreement, not identity: real tables record one patient under two races.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kohort.inspection.name_hints import NAMES, OFFICIAL, PERSON, SOMEBODY_ELSE, ends_like_id, hint, says_id
from kohort.inspection.profile import Profile

ALIKE = 0.8  # how much closer than any two rows those of one value must be in a column that a person keeps
BY_CHANCE = 10  # rows beside the first of their value, below which they may agree by chance
PERSONAL = ("age", "sex", "birth", "origin", "looks")  # meanings of columns that belong to a person, not to a place or a visit
GROUPS = (SOMEBODY_ELSE, "family")  # meanings of columns whose rows of one value belong to several persons


@dataclass(frozen=True)
class Repeating:
    """A column whose values repeat, and what speaks for each being one person with several rows."""

    profile: Profile
    judged: tuple[str, ...]
    """Quasi-identifiers that a person keeps from row to row."""
    alike: tuple[str, ...]
    """Those of them in which the rows of one value agree."""
    personal: bool
    """Whether they belong to a person and not to a place or a household."""

    @property
    def numbers_persons(self) -> bool:
        """Whether its rows of one value seem to be one person's."""
        meaning = _meaning(self.profile)
        if meaning in GROUPS:
            return False
        if meaning in (PERSON, OFFICIAL):
            return bool(self.alike) or not self.judged
        enough = 1 if self.personal and meaning != NAMES else 2  # a first name tells the sex, a school the place
        agree = len(self.alike) >= enough and 2 * len(self.alike) > len(self.judged)
        return agree and self.profile.rows - self.profile.missing - self.profile.distinct >= BY_CHANCE

    @property
    def may_number_persons(self) -> bool:
        """Whether it repeats so often that it is worth a question; names repeat by themselves."""
        often = 2 * self.profile.distinct <= self.profile.rows - self.profile.missing
        return self.numbers_persons or (often and _meaning(self.profile) != NAMES)

    @property
    def rank(self) -> tuple[bool, int, bool, int]:
        """The larger, the better it tells persons apart; of a patient's number and a stay's the patient's has fewer values."""
        name = self.profile.name
        numbers = says_id(name) or (ends_like_id(name) and not name.lower().endswith("name"))
        return _meaning(self.profile) in (PERSON, OFFICIAL), len(self.alike), numbers, -self.profile.distinct


def repeating(identifiers: Sequence[Profile], quasi: Sequence[Profile]) -> list[Repeating]:
    """The identifiers that repeat and may number persons, the likeliest first."""
    lasts = lasting(quasi)
    born = [one for one in quasi if _meaning(one) == "birth" and one.distinct > 1]
    personal = [one for one in quasi if one in born or (one in lasts and _meaning(one) in PERSONAL)]
    judged = personal or lasts
    found = [
        Repeating(
            one,
            tuple(other.name for other in judged),
            tuple(other.name for other in judged if _agreement(one, other) >= ALIKE),
            bool(personal),
        )
        for one in identifiers
        if 1 < one.distinct < one.rows - one.missing
    ]
    return sorted((one for one in found if one.may_number_persons), key=lambda one: one.rank, reverse=True)


def lasting(quasi: Sequence[Profile]) -> list[Profile]:
    """Quasi-identifiers that stay the same from one row of a person to the next: not the times of visits."""
    return [one for one in quasi if one.distinct > 1 and one.value_type not in ("date", "timestamp") and _meaning(one) != "time"]


def determines(one: Profile, other: Profile) -> bool:
    """Whether all rows of each value of one column hold the same value of the other."""
    partner = np.zeros(one.distinct + 1, np.int64)
    partner[one.indices] = other.indices
    return bool(np.array_equal(partner[one.indices], other.indices))


def _agreement(one: Profile, other: Profile) -> float:
    """How much closer in the other column two rows of one value are than any two rows: 1 if they are the same, 0 if no closer.

    Numbers and dates are compared by rank, for an age may grow by a year between two visits; texts are the same or not.
    """
    both = (one.indices >= 0) & (other.indices >= 0)
    group, held = one.indices[both], other.indices[both]
    first = np.empty(one.distinct, np.int64)
    first[group[::-1]] = np.arange(len(group))[::-1]
    later = np.flatnonzero(first[group] != np.arange(len(group)))
    if not len(later):
        return 0.0
    numbers = other.reading.numbers
    rank = np.argsort(np.argsort(numbers)) if numbers is not None else np.arange(other.distinct)
    mine, its = rank[held[later]], rank[held[first[group[later]]]]
    share = np.bincount(rank[held], minlength=other.distinct) / len(held)
    if numbers is not None:
        up_to = np.cumsum(share)
        apart, any_two = np.abs(mine - its).mean(), 2 * float(np.sum(up_to * (1 - up_to)))
    else:
        apart, any_two = (mine != its).mean(), 1 - float(np.sum(share**2))
    return 1 - float(apart) / any_two if any_two > 0 else 0.0


def _meaning(profile: Profile) -> str | None:
    meant = hint(profile.name)
    return meant.meaning if meant else None
