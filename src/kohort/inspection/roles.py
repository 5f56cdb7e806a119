"""Suggest a role for each column, with a reason that users read. If in doubt, a column is not published."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from kohort.encoding.number_axis import Grid
from kohort.inspection.name_hints import Hint, ends_like_id, hint, says_code, says_id
from kohort.inspection.person_columns import Repeating, constant_per_person, determines, repeating
from kohort.inspection.profile import Profile
from kohort.schema.columns import NEAR_UNIQUE, Role
from kohort.schema.promises import Promise
from kohort.schema.tree_rules import MOST_LEAVES, Date, Interval, Order, Prefix, Rare, Rule
from kohort.wording import counted

K: int = Promise.model_fields["k"].default  # the k of the drafted job
SHARED_BY = 5  # a column with an unknown meaning is published only if each value occurs in at least this many rows
MANY_UNIQUE = 0.2  # if at least this share of rows has a unique value, the values may identify people
NAMED_ID = 0.1  # a column named like an identifying number is one if it has at least this many distinct values per row
FEW_VALUES = 20  # a column with at most this many distinct values has few values
MOST_BANDS = 30  # at most this many ranges written as text are put in order in the job
LONG_NUMBER = 8  # unique codes with at least this many characters are numbers of cards, accounts or contracts
TINY = 1e-290  # smaller steps cannot be written
LIFETIME = 40  # dates over at least this many years are probably dates of birth; dates of events seldom cover so many
STRICTEST = ("identifier", "quasi", "sensitive", "other")
UNKNOWN = "kohort cannot tell from the name what this column is."
ROUND_IT = "Round the column in your table first, or give it the role quasi if other people may know it."
SMALL = 20  # in tables with fewer rows, shares mean little


@dataclass(frozen=True)
class Suggestion:
    """The role and settings that inspect suggests for a column."""

    role: Role
    reason: str
    """Why, as one or more sentences. They contain counts and names of columns, never values."""
    type: str | None = None
    format: str | None = None
    rule: Rule | None = None
    """The tree rule in the drafted job."""
    choice: Rule | None = None
    """A tree rule that is possible but not used: without a tree, numbers and dates are published as tighter ranges."""
    step: float | None = None
    """A round step for ranges on a grid, for numbers without a tree."""


def suggest(profiles: Sequence[Profile]) -> list[Suggestion]:
    """Return one suggestion per column."""
    made = [_suggest(profile) for profile in profiles]
    for dropped, kept in _equivalent_columns(profiles):
        if "drop" not in (made[dropped].role, made[kept].role):
            if STRICTEST.index(made[dropped].role) < STRICTEST.index(made[kept].role):  # the kept column gets the stricter role
                reason = f"It has the same information as {profiles[dropped].name!r}. {made[dropped].reason}"
                made[kept] = replace(made[dropped], reason=reason)
            same = f"It has the same information as {profiles[kept].name!r}: each value of one belongs to one value of the other."
            made[dropped] = Suggestion("drop", same)
    made = [_if_it_identifies_people(one, suggestion, profiles, made) for one, suggestion in zip(profiles, made, strict=True)]
    if not any(suggestion.role == "quasi" for suggestion in made):
        made = [_if_no_quasi(profile, suggestion) for profile, suggestion in zip(profiles, made, strict=True)]
    made = _with_unit(profiles, made)
    made = [_with_tree(profile, suggestion) for profile, suggestion in zip(profiles, made, strict=True)]
    return [_with_reason(suggestion, profile.doubt()) for profile, suggestion in zip(profiles, made, strict=True)]


def _with_reason(suggestion: Suggestion, sentence: str) -> Suggestion:
    """Add a sentence to the reason; an empty one adds nothing."""
    return replace(suggestion, reason=f"{suggestion.reason} {sentence}") if sentence else suggestion


def _suggest(profile: Profile) -> Suggestion:
    """Suggest a role from one column. The first rule that applies decides: form of cells, then column name, then counts."""
    meant = hint(profile.name)
    if profile.unusable:
        return Suggestion("drop", profile.unusable)
    if not profile.distinct:
        return Suggestion("drop", "The column is empty.")
    if profile.contents.direct:
        return Suggestion("identifier", f"The cells are {profile.contents.direct}. They identify people.")
    if profile.contents.free_text:
        return Suggestion("drop", "The cells are free text, which can name people.")
    if meant and meant.role == "identifier":
        suggests = f"Column name suggests {meant.described}"
        if profile.distinct > 2:
            return Suggestion("identifier", f"{suggests}. It identifies people.")
        few = "but the column has at most 2 values. If it only says whether there is one, give it the role other."
        return Suggestion("drop", f"{suggests}, {few}")
    if profile.contents.code_length >= LONG_NUMBER and profile.unique_share >= NEAR_UNIQUE:
        return Suggestion("identifier", f"Nearly every row has its own code of {profile.contents.code_length} characters.")
    if says_id(profile.name) and (_is_number(profile) or (meant and meant.role == "sensitive")):
        count = f"{profile.distinct:,} values in {profile.rows:,} rows"
        return Suggestion("identifier", f"Column name suggests a number that identifies people or rows: {count}.")
    if meant and meant.role in ("quasi", "sensitive"):
        return _by_name(profile, meant)
    if profile.contents.names and profile.unique_share >= MANY_UNIQUE:
        return Suggestion("identifier", "The cells look like names of people.")
    if profile.distinct == 1 and not profile.missing:
        return Suggestion("other", "All rows have the same value.")
    if profile.value_type in ("date", "timestamp"):
        return Suggestion("quasi", _about_dates(profile))
    if profile.contents.icd:
        return Suggestion("sensitive", "The cells are ICD codes, that is, diagnoses. Nobody should learn this about a person.")
    if profile.contents.post_code_levels and profile.contents.zero_led:
        return Suggestion("quasi", "The cells look like post codes. Other people may know them: quasi-identifier.")
    return _by_counts(profile)


def _is_number(profile: Profile) -> bool:
    """Whether the values of a column named like an identifying number are numerous enough to be one."""
    if profile.value_type not in ("integer", "text") or profile.distinct <= FEW_VALUES:
        return profile.rows < SMALL and profile.unique == profile.rows
    return profile.unique_share >= NEAR_UNIQUE or profile.distinct >= NAMED_ID * profile.rows


def _by_name(profile: Profile, meant: Hint) -> Suggestion:
    """Suggest a role for a column whose name suggests a quasi-identifier or a sensitive column."""
    suggests = f"Column name suggests {meant.described}"
    share = f"{100 * profile.unique_share:.0f} % of the rows have a"
    if meant.role == "quasi":
        return Suggestion("quasi", f"{suggests}. Other people may know it: quasi-identifier.")
    if profile.value_type == "text" and profile.unique_share >= MANY_UNIQUE:
        return Suggestion("drop", f"{suggests}, but {share} text that occurs only once. Such texts can name people.")
    if profile.contents.code_length >= LONG_NUMBER and profile.distinct > FEW_VALUES:
        return Suggestion("identifier", f"{suggests}, but the codes are as long as card numbers.")
    reason = f"{suggests}. Nobody should learn this about a person."
    if profile.unique_share >= MANY_UNIQUE:
        reason += f" {share} value that occurs only once. {ROUND_IT}"
    return Suggestion("sensitive", reason)


def _about_dates(profile: Profile) -> str:
    """Return the reason for a column of dates."""
    days = np.asarray(profile.reading.numbers)
    years = int(days.max() - days.min()) // 365
    if years >= LIFETIME:
        return f"The dates cover {years} years. They may be dates of birth. Other people may know them: quasi-identifier."
    return "Other people often know the dates of events: quasi-identifier."


def _by_counts(profile: Profile) -> Suggestion:
    """Suggest a role for a column whose name and cells show nothing. It is published only if its values are few and common."""
    once = f"{profile.unique:,} of {profile.rows:,} rows have a value that occurs only once"
    if profile.unique_share >= NEAR_UNIQUE and profile.value_type in ("integer", "text"):
        return Suggestion("identifier", f"{once}, so the column identifies rows.")
    if ends_like_id(profile.name) or says_id(profile.name):
        return Suggestion("identifier", "Column name suggests a number or a name that identifies people or things.")
    if profile.unique_share >= MANY_UNIQUE:
        return Suggestion("drop", f"{once}. Such values may identify people.")
    advice = "If other people may know it, give it the role quasi. If not, give it the role sensitive or other."
    rare = profile.rarer_than(SHARED_BY)
    if rare:
        values = f"Of its {profile.distinct:,} values, {rare:,} occur in fewer than {SHARED_BY} rows"
        return Suggestion("drop", f"{UNKNOWN} {values}. {advice}")
    if profile.contents.names or profile.distinct > FEW_VALUES:
        like = " that look like names" if profile.contents.names else ""
        return Suggestion("drop", f"{UNKNOWN} Its {profile.distinct:,} values{like} may identify people. {advice}")
    common = "Few values, each common. Alone it identifies nobody; combined with other columns it may."
    fewest = int(profile.counts.min())
    return Suggestion(
        "other",
        f"{common} The rarest value occurs in {fewest:,} rows. If other people may know this column, give it the role quasi.",
    )


def _if_no_quasi(profile: Profile, suggestion: Suggestion) -> Suggestion:
    """Suggest quasi for every column that could be one. Used if no column is recognised as a quasi-identifier."""
    unknown = hint(profile.name) is None and not profile.contents.free_text and profile.distinct > 1
    if suggestion.role in ("other", "drop") and unknown and profile.unique_share < NEAR_UNIQUE:
        reason = "No column was recognised as a quasi-identifier, so every column that may be one is suggested as one."
        return Suggestion("quasi", reason)
    return suggestion


# --- several rows of one person


def _if_it_identifies_people(
    one: Profile, suggestion: Suggestion, profiles: Sequence[Profile], made: Sequence[Suggestion]
) -> Suggestion:
    """Suggest identifier if all rows with the same value have the same quasi-identifiers, whatever the column name."""
    constant = constant_per_person(_with_role(profiles, made, "quasi"))
    could = suggestion.role in ("other", "sensitive", "drop") and one.value_type in ("integer", "text") and not one.missing
    if not could or len(constant) < 2 or not FEW_VALUES < one.distinct <= one.rows / 2:
        return suggestion
    if not all(determines(one, other) for other in constant):
        return suggestion
    reason = "All rows with the same value have the same quasi-identifiers, so each value seems to be one person."
    return Suggestion("identifier", reason)


def repeating_identifiers(profiles: Sequence[Profile], made: Sequence[Suggestion]) -> list[Repeating]:
    """Return the identifiers with repeated values in which each value may be one person, the most likely first."""
    return repeating(_with_role(profiles, made, "identifier"), _with_role(profiles, made, "quasi"))


def _with_unit(profiles: Sequence[Profile], made: Sequence[Suggestion]) -> list[Suggestion]:
    """Make the identifier that identifies people the unit, if people have several rows. At most one column becomes the unit."""
    likely = [one for one in repeating_identifiers(profiles, made) if one.identifies_people]
    unit = next((one for one in likely if not _why_no_unit(one.profile)), None)
    found = unit or next(iter(likely), None)
    if found is None:
        return list(made)
    role: Role = "unit" if unit else "identifier"
    return [
        _with_reason(replace(suggestion, role=role), _about_people(found)) if one is found.profile else suggestion
        for one, suggestion in zip(profiles, made, strict=True)
    ]


def _why_no_unit(one: Profile) -> str:
    """Return why a column that identifies people cannot be the unit, as a sentence; empty if it can."""
    if one.missing:
        empty = counted(one.missing, "row")
        return f"It cannot be the unit, because it is empty in {empty}. Fill or remove these rows, then give it the role unit."
    few = f"It cannot be the unit, because it has only {one.distinct:,} values, and a group needs at least {K} people."
    return few if one.distinct < K else ""


def _about_people(found: Repeating) -> str:
    """Return the sentences about a column in which each value is one person."""
    one = found.profile
    values = f"{one.rows - one.missing:,} rows have {one.distinct:,} values"
    if found.agreeing:
        values += f", and rows with the same value agree in {' and '.join(map(repr, found.agreeing[:3]))}"
    why_not = _why_no_unit(one)
    if why_not:
        return f"{values}. So one person may have several rows. {why_not}"
    return f"{values}. So each value is treated as one person, and people are counted instead of rows."


def _with_role(profiles: Sequence[Profile], made: Sequence[Suggestion], role: Role) -> list[Profile]:
    return [one for one, suggestion in zip(profiles, made, strict=True) if suggestion.role == role]


# --- columns with the same information


def _equivalent_columns(profiles: Sequence[Profile]) -> list[tuple[int, int]]:
    """Return pairs (dropped, kept) of columns with the same information and at least three values; text is kept."""
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
    """Whether each value of one column belongs to exactly one value of the other."""
    if not np.array_equal(np.sort(one.counts), np.sort(other.counts)) or one.missing != other.missing:
        return False
    return determines(one, other) and determines(other, one)


# --- trees


def _with_tree(profile: Profile, suggestion: Suggestion) -> Suggestion:
    """Add the type of a quasi-identifier and a tree rule that fits."""
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
        suggestion = _with_reason(suggestion, "Its numbers are treated as codes.")
        value_type = "text"
    if value_type in ("integer", "decimal"):
        bands = Interval(steps=_steps(profile, age=meant is not None and meant.meaning == "age"))
        exact = profile.unique_share >= (MANY_UNIQUE if value_type == "decimal" else NEAR_UNIQUE)
        if exact and profile.distinct <= MOST_LEAVES and not (meant and meant.meaning == "age"):
            why = "It is published in bands, because the ends of a tight range would be exact values of people."
            return _with_reason(replace(suggestion, type=value_type, rule=bands), why)
        return replace(suggestion, type=value_type, choice=bands, step=_grid_step(profile))
    return replace(suggestion, type=value_type, rule=_text_rule(profile))


def _text_rule(profile: Profile) -> Rule | None:
    """Return a tree rule for a column of text; None if no rule fits."""
    if profile.contents.bands and 3 <= profile.distinct <= MOST_BANDS and not profile.rarer_than(SHARED_BY):
        texts = [str(text) for text in profile.texts.to_pylist()]
        return Order(values=tuple(sorted(texts, key=lambda text: (_first_number(text), text))))
    if profile.contents.icd:
        return Prefix(lengths=(3, 1))
    if profile.contents.code_length > 2 and profile.distinct > FEW_VALUES:
        return Prefix()
    least = max(SMALL, profile.rows // 100)
    rare = profile.rarer_than(least)
    return Rare(least=least) if rare >= 3 and profile.distinct - rare >= 2 else None


def _first_number(text: str) -> int:
    return int(re.findall(r"\d+", text)[0])


def _steps(profile: Profile, *, age: bool) -> tuple[float, ...]:
    """Return widths of bands: the narrowest is 1, 2 or 5 times a power of ten and divides the range into about twenty bands."""
    first = _twentieth(profile)
    if age or first is None:
        return (5.0, 10.0, 20.0)
    first = max(first, 2.0) if profile.value_type == "integer" else first
    return tuple(float(f"{first * factor:.12g}") for factor in (1, 2, 4))


def _grid_step(profile: Profile) -> float | None:
    """Return a round step for ranges on a grid; None if its multiples cannot be written exactly."""
    step = _twentieth(profile)
    if step is None:
        return None
    step = max(step, 1.0) if profile.value_type == "integer" else float(f"{step:.12g}")
    written = Decimal(int(step)) if step.is_integer() else Decimal(str(step))
    return step if Grid(written).suits(np.asarray(profile.reading.numbers)) else None


def _twentieth(profile: Profile) -> float | None:
    """Return a twentieth of the range, rounded up to 1, 2 or 5 times a power of ten; None if there is no range."""
    numbers = profile.reading.numbers
    if numbers is None or not len(numbers):
        return None
    least = (float(numbers.max()) / 2 - float(numbers.min()) / 2) / 10  # halved first, because max - min may overflow
    if least < TINY:
        return None
    power = 10.0 ** np.floor(np.log10(least))
    rounded = (step * float(power) for step in (1.0, 2.0, 5.0, 10.0))
    return next(step for step in rounded if step >= least * (1 - 1e-12) or step >= 10 * power)
