"""Trees without hand work: made from the values of a column by a rule that stands in the job.

Written short as `interval:5,10,20`, `date:month,year`, `prefix:3,2`, `order:low,middle,high`, `rare:20`, `flat`, or as a table:
`hierarchy = {by = "interval", steps = [5, 10, 20]}`. A rule that does not fit the values is refused by counts, never by values.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from kohort.errors import RequestError, nearest
from kohort.schema import date_formats as calendars
from kohort.schema import trees as hierarchies
from kohort.schema.trees import ROOT, Tree
from kohort.schema.type_detection import Reading

MOST_DIGITS = 1_000  # of the ends of a band; a 64-bit number with a decimal point has fewer than 700
MOST_LEVELS = 30  # characters of codes that get a level each
MOST_LEAVES = 65_535  # more distinct values than that are numbers or keys, not categories
DateLevel = Literal["day", "month", "quarter", "year", "decade"]
DATE_LEVELS: tuple[DateLevel, ...] = get_args(DateLevel)


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """The distinct present values of a column: as text, how many rows hold each, and what they were read as."""

    name: str
    texts: Sequence[str]
    counts: NDArray[np.int64]
    reading: Reading

    def ordered(self, path: Callable[[int], Sequence[str]], key: Sequence[Any]) -> Tree:
        """A tree with one path per value, leaves by key."""
        indices = sorted(range(len(self.texts)), key=key.__getitem__)
        return self.built([path(index) for index in indices])

    def built(self, paths: Sequence[Sequence[str]]) -> Tree:
        try:
            return hierarchies.build(paths)
        except RequestError:  # it speaks of lines, and nobody wrote any
            raise self.refuse("its rule makes a label that is also a value or a label elsewhere. Give it a tree file.") from None

    def refuse(self, what: str) -> RequestError:
        return RequestError(f"Column {self.name!r}: {what}")


class Rule(BaseModel, ABC):
    """How a tree is made."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    by: str
    types: ClassVar[tuple[str, ...]] = ("text", "boolean")
    """What a column may be declared to be and still get such a tree."""

    def tree(self, values: ColumnValues) -> Tree:
        """The tree above these values."""
        if len(values.texts) > MOST_LEAVES:
            raise values.refuse(f"it has {len(values.texts):,} distinct values, too many for a tree. Leave it without one.")
        return self.grow(values) if len(values.texts) else hierarchies.flat([])

    @abstractmethod
    def grow(self, values: ColumnValues) -> Tree:
        """The tree above at least one value."""

    @abstractmethod
    def short(self) -> str:
        """The rule in one line, as it can stand in a job unless it has more to say."""

    def describe(self) -> str:
        """The rule for reports, which show no values."""
        return self.short()

    def written(self) -> str | dict[str, Any]:
        """The rule as it stands in a job: short, or as a table where the short form does not tell all."""
        with suppress(ValueError):
            if rule(self.short()) == self:
                return self.short()
        return self.model_dump(mode="json")


class Interval(Rule):
    """Numbers in bands of equal width, each step a multiple of the one before."""

    types: ClassVar = ("integer", "decimal")
    by: Literal["interval"] = "interval"
    steps: tuple[Annotated[float, Field(gt=0, allow_inf_nan=False)], ...] = Field(
        default=(5, 10, 20), min_length=1, max_length=20
    )

    @field_validator("steps")
    @classmethod
    def _nested(cls, steps: tuple[float, ...]) -> tuple[float, ...]:
        return _require_multiples(steps, "steps")

    def grow(self, values: ColumnValues) -> Tree:
        if values.reading.value_type not in ("integer", "decimal"):
            raise values.refuse("it does not hold numbers, so it has no intervals. Give it a tree by prefix, or none.")
        comma = values.reading.comma
        numbers = [Fraction(text.replace(",", ".") if comma else text) for text in values.texts]
        whole = values.reading.value_type == "integer" and all(float(step).is_integer() for step in self.steps)

        def band(number: Fraction, step: float) -> str:
            width = Decimal(str(step))
            with localcontext(prec=MOST_DIGITS):
                low = width * int(number // Fraction(width))
                text = f"[{_plain(low)} - {_plain(low + width - 1)}]" if whole else f"[{_plain(low)} - {_plain(low + width)})"
            return text.replace(".", ",") if comma else text

        # A band of one whole number is that number.
        steps = [step for step in self.steps if not (whole and step == 1)]
        return values.ordered(
            lambda index: [values.texts[index], *(band(numbers[index], step) for step in steps), ROOT],
            list(zip(numbers, values.texts, strict=True)),
        )

    def short(self) -> str:
        return "interval:" + ",".join(_plain(Decimal(str(step))) for step in self.steps)


class Date(Rule):
    """Dates by the calendar."""

    types: ClassVar = ("date", "timestamp")
    by: Literal["date"] = "date"
    levels: tuple[DateLevel, ...] = Field(default=("month", "quarter", "year", "decade"), min_length=1)

    @field_validator("levels")
    @classmethod
    def _upwards(cls, levels: tuple[DateLevel, ...]) -> tuple[DateLevel, ...]:
        if list(levels) != sorted(set(levels), key=DATE_LEVELS.index):
            raise ValueError(f"levels must go upwards, each once: {', '.join(DATE_LEVELS)}")
        return levels

    def grow(self, values: ColumnValues) -> Tree:
        if values.reading.value_type not in ("date", "timestamp") or values.reading.numbers is None:
            raise values.refuse("it does not hold dates, so it has no calendar. Declare how they are written with format.")
        days = values.reading.numbers
        labels = [_calendar_labels(days, level) for level in self.levels]
        return values.ordered(
            lambda index: [values.texts[index], *(level[index] for level in labels), ROOT],
            list(zip(days.tolist(), values.texts, strict=True)),
        )

    def short(self) -> str:
        return "date:" + ",".join(self.levels)


class Prefix(Rule):
    """Codes by their first characters: zip codes, ICD-10, NACE. Without lengths: one character less on each level."""

    by: Literal["prefix"] = "prefix"
    lengths: tuple[Annotated[int, Field(ge=1)], ...] = Field(default=(), max_length=50)

    @field_validator("lengths")
    @classmethod
    def _shorter(cls, lengths: tuple[int, ...]) -> tuple[int, ...]:
        if any(one <= other for one, other in pairwise(lengths)):
            raise ValueError("lengths must fall: each level keeps fewer characters than the one below")
        return lengths

    def grow(self, values: ColumnValues) -> Tree:
        longest = max(map(len, values.texts))
        equal = all(len(text) == longest for text in values.texts)
        if not self.lengths and longest > MOST_LEVELS:
            raise values.refuse(f"its values have up to {longest} characters. Say how many the levels keep: prefix:5,3.")
        lengths = [length for length in self.lengths or range(longest - 1, 0, -1) if length < longest]

        def label(text: str, length: int) -> str:
            return text[:length] + ("*" * (longest - length) if equal else "*")

        return values.ordered(
            lambda index: [values.texts[index], *(label(values.texts[index], length) for length in lengths), ROOT], values.texts
        )

    def short(self) -> str:
        return "prefix" + (":" + ",".join(map(str, self.lengths)) if self.lengths else "")


class Order(Rule):
    """Values in an explicit order, neighbours in groups of growing size, each size a multiple of the one before."""

    by: Literal["order"] = "order"
    values: tuple[Annotated[str, Field(min_length=1)], ...] = Field(min_length=1)
    sizes: tuple[Annotated[int, Field(ge=2)], ...] = Field(default=(), max_length=20)

    @field_validator("sizes")
    @classmethod
    def _nested(cls, sizes: tuple[int, ...]) -> tuple[int, ...]:
        return _require_multiples(sizes, "sizes")

    def grow(self, values: ColumnValues) -> Tree:
        if len(set(self.values)) != len(self.values):
            raise values.refuse("its order names a value twice. Name each once.")
        sizes = self.sizes or tuple(2**power for power in range(1, 20) if 2**power < len(self.values))
        levels = [self._labels(size) for size in sizes]
        for size, level in zip(sizes, levels, strict=True):
            groups = -(-len(self.values) // size)
            strange = any(label in self.values and label != text for text, label in zip(self.values, level, strict=True))
            if len(set(level)) != groups or strange:
                raise values.refuse("its order gives two groups, or a group and a value, the same name. Give it a tree file.")
        # Values of the data that the order does not name are found, counted and refused where all trees are checked.
        return values.built([[*path, ROOT] for path in zip(self.values, *levels, strict=True)])

    def _labels(self, size: int) -> list[str]:
        """The group of each value: its first and its last."""
        groups = [self.values[start : start + size] for start in range(0, len(self.values), size)]
        return [group[0] if len(group) == 1 else f"{group[0]} - {group[-1]}" for group in groups for _value in group]

    def short(self) -> str:
        return "order:" + ",".join(self.values)

    def describe(self) -> str:
        return f"order of {len(self.values)} values"


class Rare(Rule):
    """Values that few rows hold are one group; the others stand under the root."""

    by: Literal["rare"] = "rare"
    least: int = Field(default=20, ge=2)
    label: str = Field(default="(rare)", min_length=1)

    @field_validator("label")
    @classmethod
    def _own(cls, label: str) -> str:
        if label == ROOT:
            raise ValueError(f"{ROOT} stands for all values; give the rare ones another label")
        return label

    def grow(self, values: ColumnValues) -> Tree:
        if self.label in values.texts:
            raise values.refuse("the group of rare values is called like one of its values. Give it another label.")
        rare = (values.counts < self.least).tolist()
        return values.ordered(
            lambda index: [values.texts[index], *([self.label] if rare[index] else []), ROOT],
            [(not rare[index], text.encode()) for index, text in enumerate(values.texts)],
        )

    def short(self) -> str:
        return f"rare:{self.least}"


class Flat(Rule):
    """Each value for itself, or nothing."""

    by: Literal["flat"] = "flat"

    def grow(self, values: ColumnValues) -> Tree:
        return hierarchies.flat(sorted(values.texts, key=str.encode))

    def short(self) -> str:
        return "flat"


_RULES: TypeAdapter[Rule] = TypeAdapter(Annotated[Interval | Date | Prefix | Order | Rare | Flat, Field(discriminator="by")])
_SHORT: dict[str, tuple[str, Callable[[str], Any]]] = {
    "interval": ("steps", Decimal),
    "date": ("levels", str),
    "prefix": ("lengths", int),
    "order": ("values", str),
    "rare": ("least", int),
    "flat": ("values", str),
}
_LIKE_A_RULE = re.compile(r"[A-Za-z]{2,}:.*", re.DOTALL)
_EXAMPLE = {"interval": "5,10,20", "prefix": "3,2", "rare": "20"}


def is_short(text: str) -> bool:
    """Whether a text is a rule and not the name of a file."""
    return text.partition(":")[0] in _SHORT


def is_misspelt(text: str) -> bool:
    """Whether a text that is no rule looks like one; a file of such a name is called `./name:more`."""
    return _LIKE_A_RULE.fullmatch(text) is not None and not is_short(text)


def no_such_rule(text: str) -> str:
    """What to say of it; what follows the colon may be values."""
    word = text.partition(":")[0]
    return f"names no rule {word!r}.{nearest(word.lower(), _SHORT)}" if word else "must be a tree file, its rows, or a rule"


def rule(given: str | Mapping[str, Any]) -> Rule:
    """A rule from its short form or its table.

    >>> rule("interval:5,10") == rule({"by": "interval", "steps": [5, 10]}) == Interval(steps=(5, 10))
    True
    """
    try:
        return _RULES.validate_python(_parsed(given) if isinstance(given, str) else dict(given))
    except ValidationError as error:
        finding = error.errors(include_url=False)[0]
        if finding["type"].startswith("union_tag"):
            raise ValueError(f"must say by which rule: {', '.join(_SHORT)}") from None
        where = ".".join(str(part) for part in finding["loc"][:2])
        message = finding["msg"].removeprefix("Value error, ").replace("Input should", "must").replace("Extra inputs are", "is")
        raise ValueError(f"{where}: {message[0].lower()}{message[1:]}") from None


def _parsed(text: str) -> dict[str, Any]:
    by, colon, rest = text.partition(":")
    field, convert = _SHORT[by]
    if not colon:
        return {"by": by}
    try:
        given = [convert(part.strip()) for part in rest.split(",")]
    except (ValueError, ArithmeticError):
        raise ValueError(f"{by}: needs numbers, such as {by}:{_EXAMPLE[by]}") from None
    return {"by": by, field: given[0] if by == "rare" and len(given) == 1 else given}


def _require_multiples(sizes: tuple[Any, ...], name: str) -> tuple[Any, ...]:
    if any(Fraction(str(wide)) % Fraction(str(narrow)) or wide <= narrow for narrow, wide in pairwise(sizes)):
        raise ValueError(f"{name} must grow, each a multiple of the one before")
    return sizes


def _plain(number: Decimal) -> str:
    """Without exponent, trailing zeros and a sign before zero.

    >>> _plain(Decimal("2.50")), _plain(Decimal("1E+2")), _plain(Decimal("-0.0"))
    ('2.5', '100', '0')
    """
    text = f"{number + 0:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _calendar_labels(days: NDArray[np.int64], level: DateLevel) -> list[str]:
    moments = days.astype("M8[D]")
    years = calendars.year_of(days).tolist()
    if level in ("day", "month"):
        return [str(text) for text in np.datetime_as_string(moments, "D" if level == "day" else "M")]
    if level == "quarter":
        quarters = (calendars.month_of(days) % 12 // 3 + 1).tolist()
        return [f"{year:04d}-Q{quarter}" for year, quarter in zip(years, quarters, strict=True)]
    if level == "year":
        return [f"{year:04d}" for year in years]
    return [f"{year // 10 * 10:04d}s" for year in years]
