"""Which role a column should have, and why. Guesses for a person to review; in doubt a column is withheld, never passed on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from kohort.encoding.number_axis import Grid
from kohort.inspection.name_hints import Hint, ends_like_id, hint, says_code, says_id
from kohort.inspection.person_columns import Repeating, determines, lasting, repeating
from kohort.inspection.profile import Profile
from kohort.schema.columns import NEAR_UNIQUE, Role
from kohort.schema.promises import Promise
from kohort.schema.tree_rules import MOST_LEAVES, Date, Interval, Order, Prefix, Rare, Rule

K: int = Promise.model_fields["k"].default  # what the drafted job promises
SHARED_BY = 5  # rows that must hold each value of a column that is passed on without being understood
MANY_UNIQUE = 0.2  # share of rows with a value of their own from which a number singles people out
NAMED_ID = 0.1  # distinct values per row from which a column that calls itself a number of something is one
FEW_VALUES = 20  # numbers of so few values are codes if their name says so
MOST_BANDS = 30  # ranges in words that are put in order in the job
LONG_NUMBER = 8  # characters from which a code of one's own is a number of a card, an account, a contract
TINY = 1e-290  # a step too small to be told
LIFETIME = 40  # years over which dates of birth spread, and dates of events seldom do
STRICTEST = ("identifier", "quasi", "sensitive", "other")
SMALL = 20  # rows below which shares say little


@dataclass(frozen=True)
class Suggestion:
    """What inspect would do with a column."""

    role: Role
    reason: str
    type: str | None = None
    format: str | None = None
    rule: Rule | None = None
    """The tree that goes into the job."""
    choice: Rule | None = None
    """A tree that could: numbers and dates publish tighter ranges without one."""
    step: float | None = None
    """A round step for ranges on a grid, of numbers that have no tree."""


def suggest(profiles: Sequence[Profile]) -> list[Suggestion]:
    """One suggestion per column."""
    made = [_suggest(profile) for profile in profiles]
    for later, other in _twins(profiles):
        if "drop" not in (made[later].role, made[other].role):
            if STRICTEST.index(made[later].role) < STRICTEST.index(made[other].role):  # the one that is kept is protected as both
                reason = f"it says the same as {profiles[later].name!r}; {made[later].reason}"
                made[other] = replace(made[later], reason=reason)
            made[later] = Suggestion("drop", f"it says the same as {profiles[other].name!r}, value for value")
    made = [_if_it_numbers_persons(profile, said, profiles, made) for profile, said in zip(profiles, made, strict=True)]
    if not any(suggestion.role == "quasi" for suggestion in made):
        made = [_if_nothing_else(profile, suggestion) for profile, suggestion in zip(profiles, made, strict=True)]
    made = _with_unit(profiles, made)
    made = [_with_tree(profile, suggestion) for profile, suggestion in zip(profiles, made, strict=True)]
    return [replace(said, reason=said.reason + profile.doubt()) for profile, said in zip(profiles, made, strict=True)]


def _suggest(profile: Profile) -> Suggestion:
    """The first rule that applies decides: what cells show before what the name says before what the numbers say."""
    meant = hint(profile.name)
    if profile.unusable:
        return Suggestion("drop", profile.unusable)
    if not profile.distinct:
        return Suggestion("drop", "it holds nothing")
    if profile.contents.direct:
        return Suggestion("identifier", f"it holds {profile.contents.direct}")
    if profile.contents.free_text:
        return Suggestion("drop", "it holds free text, which can name anyone")
    if meant and meant.role == "identifier":
        if profile.distinct > 2:
            return Suggestion("identifier", f"its name speaks of {meant.meaning}")
        return Suggestion("drop", f"its name speaks of {meant.meaning}; if it only says whether there is one, make it other")
    if profile.contents.code_length >= LONG_NUMBER and profile.unique_share >= NEAR_UNIQUE:
        return Suggestion("identifier", f"nearly every row has a code of its own, of {profile.contents.code_length} characters")
    if says_id(profile.name) and (_numbers_persons(profile) or (meant and meant.role == "sensitive")):
        return Suggestion("identifier", f"it numbers persons or rows: {profile.distinct:,} values in {profile.rows:,} rows")
    if meant and meant.role in ("quasi", "sensitive"):
        return _by_name(profile, meant)
    if profile.contents.names and profile.unique_share >= MANY_UNIQUE:
        return Suggestion("identifier", "it seems to hold names of persons")
    if profile.distinct == 1 and not profile.missing:
        return Suggestion("other", "it is the same for everyone")
    if profile.value_type in ("date", "timestamp"):
        return Suggestion("quasi", _what_dates(profile))
    if profile.contents.icd:
        return Suggestion("sensitive", "it holds ICD codes, that is diagnoses")
    if profile.contents.post_code_levels and profile.contents.zero_led:
        return Suggestion("quasi", "it seems to hold post codes")
    return _by_numbers(profile)


def _numbers_persons(profile: Profile) -> bool:
    if profile.value_type not in ("integer", "text") or profile.distinct <= FEW_VALUES:
        return profile.rows < SMALL and profile.unique == profile.rows
    return profile.unique_share >= NEAR_UNIQUE or profile.distinct >= NAMED_ID * profile.rows


def _by_name(profile: Profile, meant: Hint) -> Suggestion:
    if meant.role == "quasi":
        return Suggestion("quasi", f"its name speaks of {meant.meaning}, which others may know")
    if profile.value_type == "text" and profile.unique_share >= MANY_UNIQUE:
        alone = f"{profile.unique_share:.0%} of the rows have a text of their own"
        return Suggestion("drop", f"its name speaks of {meant.meaning}, but {alone}, which can name anyone")
    if profile.contents.code_length >= LONG_NUMBER and profile.distinct > FEW_VALUES:
        return Suggestion("identifier", f"its name speaks of {meant.meaning}, but its codes are as long as numbers of cards")
    reason = f"its name speaks of {meant.meaning}, which nobody should learn"
    if profile.unique_share >= MANY_UNIQUE:
        alone = f"{profile.unique_share:.0%} of the rows have a value of their own"
        reason += f"; {alone}: round it, or make it quasi if others can know it"
    return Suggestion("sensitive", reason)


def _what_dates(profile: Profile) -> str:
    days = np.asarray(profile.reading.numbers)
    years = int(days.max() - days.min()) // 365
    if years >= LIFETIME:
        return f"its dates spread over {years} years, so they may be dates of birth, which others may know"
    return "dates of events are often known to others"


def _by_numbers(profile: Profile) -> Suggestion:
    """A column whose name and form say nothing: passed on only if nobody stands out by it."""
    alone = f"{profile.unique:,} of {profile.rows:,} rows have a value of their own"
    if profile.unique_share >= NEAR_UNIQUE and profile.value_type in ("integer", "text"):
        return Suggestion("identifier", f"it is as good as a key: {alone}")
    if ends_like_id(profile.name) or says_id(profile.name):
        return Suggestion("identifier", "it is called like a number or a name of somebody or something")
    if profile.unique_share >= MANY_UNIQUE:
        return Suggestion("drop", f"it can point to persons: {alone}")
    rare = profile.held_by_fewer(SHARED_BY)
    if rare:
        return Suggestion(
            "drop",
            f"its name says nothing, and {rare:,} of its {profile.distinct:,} values are held by fewer than {SHARED_BY} rows; "
            "if others may know it make it quasi, if not sensitive or other",
        )
    if profile.contents.names or profile.distinct > FEW_VALUES:
        values = f"its {profile.distinct:,} values {'look like names' if profile.contents.names else 'are many'}"
        return Suggestion("drop", f"its name says nothing, and {values}: they may tell who somebody is")
    return Suggestion("other", f"nobody stands out by it: each value is shared by at least {int(profile.counts.min()):,} rows")


def _if_nothing_else(profile: Profile, suggestion: Suggestion) -> Suggestion:
    """Where no column is recognised, everything that others might know counts as known."""
    unknown = hint(profile.name) is None and not profile.contents.free_text and profile.distinct > 1
    if suggestion.role in ("other", "drop") and unknown and profile.unique_share < NEAR_UNIQUE:
        return Suggestion("quasi", "no column is recognised as one that others may know, so each that could be counts")
    return suggestion


# --- several rows of one person


def _if_it_numbers_persons(one: Profile, said: Suggestion, profiles: Sequence[Profile], made: Sequence[Suggestion]) -> Suggestion:
    """A column each of whose values has one combination of quasi-identifiers numbers persons, whatever it is called."""
    kept = lasting(_having(profiles, made, "quasi"))
    could = said.role in ("other", "sensitive", "drop") and one.value_type in ("integer", "text") and not one.missing
    if not could or len(kept) < 2 or not FEW_VALUES < one.distinct <= one.rows / 2:
        return said
    if not all(determines(one, other) for other in kept):
        return said
    return Suggestion("identifier", "each of its values has one combination of quasi-identifiers: it seems to number persons")


def may_number_persons(profiles: Sequence[Profile], made: Sequence[Suggestion]) -> list[Repeating]:
    """The identifiers whose rows of one value may be one person's, the likeliest first."""
    return repeating(_having(profiles, made, "identifier"), _having(profiles, made, "quasi"))


def _with_unit(profiles: Sequence[Profile], made: Sequence[Suggestion]) -> list[Suggestion]:
    """The identifier that tells persons apart, where they have several rows, becomes the unit: one column or none."""
    likely = [one for one in may_number_persons(profiles, made) if one.numbers_persons]
    chosen = next((one for one in likely if not _why_no_unit(one.profile)), None)
    known = chosen or next(iter(likely), None)
    if known is None:
        return list(made)
    role: Role = "unit" if chosen else "identifier"
    return [
        replace(said, role=role, reason=f"{said.reason}; {_of_one_person(known)}") if one is known.profile else said
        for one, said in zip(profiles, made, strict=True)
    ]


def _why_no_unit(one: Profile) -> str:
    """Why persons cannot be counted by a column that tells them apart; nothing if they can."""
    if one.missing:
        return f"it is empty in {one.missing:,} rows: fill them in, or leave them out, and make it unit"
    return f"it has {one.distinct:,} values, and no {K} persons could hide among so few" if one.distinct < K else ""


def _of_one_person(found: Repeating) -> str:
    one = found.profile
    alike = f", those of one value alike in {' and '.join(map(repr, found.alike[:3]))}" if found.alike else ""
    seen = f"{one.rows - one.missing:,} rows have {one.distinct:,} values{alike}"
    why_not = _why_no_unit(one)
    if why_not:
        return f"{seen}, so one person may have several rows, but {why_not}"
    return f"{seen}, so they are taken for one person's rows, and persons are counted"


def _having(profiles: Sequence[Profile], made: Sequence[Suggestion], role: Role) -> list[Profile]:
    return [one for one, said in zip(profiles, made, strict=True) if said.role == role]


# --- columns that say the same


def _twins(profiles: Sequence[Profile]) -> list[tuple[int, int]]:
    """(one, other): columns of three and more values where each value of one stands for one of the other; text is kept."""
    pairs = []
    for second in range(len(profiles)):
        for first in range(second):
            one, other = profiles[first], profiles[second]
            if 2 < one.distinct == other.distinct < one.rows / 2 and _same(one, other):
                numeric_first = one.value_type in ("integer", "decimal") and other.value_type == "text"
                pairs.append((first, second) if numeric_first else (second, first))
                break
    return pairs


def _same(one: Profile, other: Profile) -> bool:
    if not np.array_equal(np.sort(one.counts), np.sort(other.counts)) or one.missing != other.missing:
        return False
    return determines(one, other) and determines(other, one)


# --- trees


def _with_tree(profile: Profile, suggestion: Suggestion) -> Suggestion:
    """The type, and the tree that fits, of a quasi-identifier."""
    if suggestion.role != "quasi":
        return suggestion
    reading, meant = profile.reading, hint(profile.name)
    value_type: str | None = reading.value_type
    if value_type in ("date", "timestamp"):
        return replace(suggestion, type=value_type, format=reading.format, choice=Date())
    is_place = meant is not None and meant.meaning == "place"
    levels = profile.contents.post_code_levels
    if levels and (is_place or profile.contents.zero_led):
        return replace(suggestion, type="text", rule=Prefix(lengths=levels))
    if value_type == "integer" and profile.distinct <= 3 * FEW_VALUES and says_code(profile.name):
        suggestion = replace(suggestion, reason=f"{suggestion.reason}; its numbers are taken for codes")
        value_type = "text"
    if value_type in ("integer", "decimal"):
        bands = Interval(steps=_steps(profile, age=meant is not None and meant.meaning == "age"))
        exact = profile.unique_share >= (MANY_UNIQUE if value_type == "decimal" else NEAR_UNIQUE)
        if exact and profile.distinct <= MOST_LEAVES and not (meant and meant.meaning == "age"):
            why = "; in bands, for the ends of a range would be exact values of somebody"
            return replace(suggestion, type=value_type, rule=bands, reason=suggestion.reason + why)
        return replace(suggestion, type=value_type, choice=bands, step=_grid_step(profile))
    return replace(suggestion, type=value_type, rule=_text_rule(profile))


def _text_rule(profile: Profile) -> Rule | None:
    if profile.contents.bands and 3 <= profile.distinct <= MOST_BANDS and not profile.held_by_fewer(SHARED_BY):
        texts = [str(text) for text in profile.texts.to_pylist()]
        return Order(values=tuple(sorted(texts, key=lambda text: (_first_number(text), text))))
    if profile.contents.icd:
        return Prefix(lengths=(3, 1))
    if profile.contents.code_length > 2 and profile.distinct > FEW_VALUES:
        return Prefix()
    least = max(SMALL, profile.rows // 100)
    rare = profile.held_by_fewer(least)
    return Rare(least=least) if rare >= 3 and profile.distinct - rare >= 2 else None


def _first_number(text: str) -> int:
    return int(re.findall(r"\d+", text)[0])


def _steps(profile: Profile, *, age: bool) -> tuple[float, ...]:
    """Bands of 1, 2 or 5 times a power of ten, about twenty of the narrowest over the range."""
    first = _twentieth(profile)
    if age or first is None:
        return (5.0, 10.0, 20.0)
    first = max(first, 2.0) if profile.value_type == "integer" else first
    return tuple(float(f"{first * factor:.12g}") for factor in (1, 2, 4))


def _grid_step(profile: Profile) -> float | None:
    """The same as a step for ranges on a grid; none where its multiples cannot be written exactly."""
    step = _twentieth(profile)
    if step is None:
        return None
    step = max(step, 1.0) if profile.value_type == "integer" else float(f"{step:.12g}")
    written = Decimal(int(step)) if step.is_integer() else Decimal(str(step))
    return step if Grid(written).suits(np.asarray(profile.reading.numbers)) else None


def _twentieth(profile: Profile) -> float | None:
    """1, 2 or 5 times a power of ten, at least a twentieth of the range; None if there is no range."""
    numbers = profile.reading.numbers
    if numbers is None or not len(numbers):
        return None
    least = (float(numbers.max()) / 2 - float(numbers.min()) / 2) / 10  # halved first: the range itself may be too large
    if least < TINY:
        return None
    power = 10.0 ** np.floor(np.log10(least))
    rounded = (step * float(power) for step in (1.0, 2.0, 5.0, 10.0))
    return next(step for step in rounded if step >= least * (1 - 1e-12) or step >= 10 * power)
