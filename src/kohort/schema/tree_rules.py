"""Rules in a job that build a tree from the values of a column, instead of a tree file.

Short form: `interval:5,10,20`, `date:month,year`, `prefix:3,2`, `order:low,middle,high`, `rare:20` or `flat`. TOML table:
`hierarchy = {by = "interval", steps = [5, 10, 20]}`. If a rule does not fit the values, the message gives counts, never values.
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
from pydantic_core import ErrorDetails

from kohort.errors import RequestError, nearest
from kohort.schema import date_formats as calendars
from kohort.schema import trees as hierarchies
from kohort.schema.trees import ROOT, Tree
from kohort.schema.type_detection import Reading

MOST_DIGITS = 1_000  # precision of the ends of a band; a 64-bit number with a decimal point has fewer than 700 digits
MOST_LEVELS = 30  # longest code for which `prefix` without lengths makes one level per character
MOST_LEAVES = 65_535  # a column with more distinct values contains numbers or keys, not categories
DateLevel = Literal["day", "month", "quarter", "year", "decade"]
DATE_LEVELS: tuple[DateLevel, ...] = get_args(DateLevel)


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """The distinct non-missing values of a column as text, the number of rows with each, and their detected type."""

    name: str
    texts: Sequence[str]
    counts: NDArray[np.int64]
    reading: Reading

    def ordered(self, path: Callable[[int], Sequence[str]], key: Sequence[Any]) -> Tree:
        """Build a tree with one path per value; the leaves are ordered by `key`."""
        indices = sorted(range(len(self.texts)), key=key.__getitem__)
        return self.built([path(index) for index in indices])

    def built(self, paths: Sequence[Sequence[str]]) -> Tree:
        """Build a tree from paths made by a rule."""
        try:
            return hierarchies.build(paths)
        except RequestError:  # replaced, because its message names lines of a tree file and there is no file
            problem = (
                "the tree rule makes a label that is also a value, or the same label for two groups. Use a tree file instead."
            )
            raise self.error(problem) from None

    def error(self, problem: str) -> RequestError:
        """Return an error that names the column."""
        return RequestError(f"Column {self.name!r}: {problem}")


class Rule(BaseModel, ABC):
    """A rule that builds a tree from the values of a column."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    by: str
    types: ClassVar[tuple[str, ...]] = ("text", "boolean")
    """Declared types of columns that this rule accepts."""

    def tree(self, values: ColumnValues) -> Tree:
        """Build the tree of these values."""
        if len(values.texts) > MOST_LEAVES:
            raise values.error(
                f"it has {len(values.texts):,} distinct values, but a tree can have at most {MOST_LEAVES:,}. Remove hierarchy."
            )
        return self.grow(values) if len(values.texts) else hierarchies.flat([])

    @abstractmethod
    def grow(self, values: ColumnValues) -> Tree:
        """Build the tree of at least one value."""

    @abstractmethod
    def short(self) -> str:
        """Return the short form of the rule, such as `prefix:3,2`. It may omit settings that only the table form has."""

    def describe(self) -> str:
        """Return the rule as reports show it, without values of the column."""
        return self.short()

    def written(self) -> str | dict[str, Any]:
        """Return the rule as it is written in a job: the short form, or a table if the short form is incomplete."""
        with suppress(ValueError):
            if rule(self.short()) == self:
                return self.short()
        return self.model_dump(mode="json")


class Interval(Rule):
    """Group numbers into bands of equal width; each step is a multiple of the step before."""

    types: ClassVar = ("integer", "decimal")
    by: Literal["interval"] = "interval"
    steps: tuple[Annotated[float, Field(gt=0, allow_inf_nan=False)], ...] = Field(
        default=(5, 10, 20), min_length=1, max_length=20
    )

    @field_validator("steps")
    @classmethod
    def _nested(cls, steps: tuple[float, ...]) -> tuple[float, ...]:
        return _require_multiples(steps)

    def grow(self, values: ColumnValues) -> Tree:
        if values.reading.value_type not in ("integer", "decimal"):
            raise values.error(
                "the rule interval needs numbers, but not all values are numbers. Use prefix, or remove hierarchy."
            )
        comma = values.reading.comma
        numbers = [Fraction(text.replace(",", ".") if comma else text) for text in values.texts]
        whole = values.reading.value_type == "integer" and all(float(step).is_integer() for step in self.steps)

        def band(number: Fraction, step: float) -> str:
            width = Decimal(str(step))
            with localcontext(prec=MOST_DIGITS):
                low = width * int(number // Fraction(width))
                text = f"[{_plain(low)} - {_plain(low + width - 1)}]" if whole else f"[{_plain(low)} - {_plain(low + width)})"
            return text.replace(".", ",") if comma else text

        # A band that contains one whole number is the same as the value, so it gets no level.
        steps = [step for step in self.steps if not (whole and step == 1)]
        return values.ordered(
            lambda index: [values.texts[index], *(band(numbers[index], step) for step in steps), ROOT],
            list(zip(numbers, values.texts, strict=True)),
        )

    def short(self) -> str:
        return "interval:" + ",".join(_plain(Decimal(str(step))) for step in self.steps)


class Date(Rule):
    """Group dates by month, quarter, year or decade."""

    types: ClassVar = ("date", "timestamp")
    by: Literal["date"] = "date"
    levels: tuple[DateLevel, ...] = Field(default=("month", "quarter", "year", "decade"), min_length=1)

    @field_validator("levels")
    @classmethod
    def _upwards(cls, levels: tuple[DateLevel, ...]) -> tuple[DateLevel, ...]:
        if list(levels) != sorted(set(levels), key=DATE_LEVELS.index):
            raise ValueError(f"must be in this order, each at most once: {', '.join(DATE_LEVELS)}")
        return levels

    def grow(self, values: ColumnValues) -> Tree:
        if values.reading.value_type not in ("date", "timestamp") or values.reading.numbers is None:
            raise values.error(
                "the rule date needs dates, but kohort found no date format that fits all values. "
                f"Set format (--format {values.name}=DD.MM.YYYY), or remove hierarchy."
            )
        days = values.reading.numbers
        labels = [_calendar_labels(days, level) for level in self.levels]
        return values.ordered(
            lambda index: [values.texts[index], *(level[index] for level in labels), ROOT],
            list(zip(days.tolist(), values.texts, strict=True)),
        )

    def short(self) -> str:
        return "date:" + ",".join(self.levels)


class Prefix(Rule):
    """Group codes by their first characters: zip codes, ICD-10, NACE. Without lengths, each level keeps one character less."""

    by: Literal["prefix"] = "prefix"
    lengths: tuple[Annotated[int, Field(ge=1)], ...] = Field(default=(), max_length=50)

    @field_validator("lengths")
    @classmethod
    def _shorter(cls, lengths: tuple[int, ...]) -> tuple[int, ...]:
        if any(one <= other for one, other in pairwise(lengths)):
            raise ValueError("must decrease: each level keeps fewer characters than the level before")
        return lengths

    def grow(self, values: ColumnValues) -> Tree:
        longest = max(map(len, values.texts))
        equal = all(len(text) == longest for text in values.texts)
        if not self.lengths and longest > MOST_LEVELS:
            raise values.error(
                f"its values have up to {longest} characters, too many for one level per character. "
                "Set how many characters each level keeps, such as prefix:5,3."
            )
        lengths = [length for length in self.lengths or range(longest - 1, 0, -1) if length < longest]

        def label(text: str, length: int) -> str:
            return text[:length] + ("*" * (longest - length) if equal else "*")

        return values.ordered(
            lambda index: [values.texts[index], *(label(values.texts[index], length) for length in lengths), ROOT], values.texts
        )

    def short(self) -> str:
        return "prefix" + (":" + ",".join(map(str, self.lengths)) if self.lengths else "")


class Order(Rule):
    """Group neighbours in a given order of the values; each group size is a multiple of the size before."""

    by: Literal["order"] = "order"
    values: tuple[Annotated[str, Field(min_length=1)], ...] = Field(min_length=1)
    sizes: tuple[Annotated[int, Field(ge=2)], ...] = Field(default=(), max_length=20)

    @field_validator("sizes")
    @classmethod
    def _nested(cls, sizes: tuple[int, ...]) -> tuple[int, ...]:
        return _require_multiples(sizes)

    def grow(self, values: ColumnValues) -> Tree:
        if len(set(self.values)) != len(self.values):
            raise values.error("the rule order names a value twice. Name each value once.")
        sizes = self.sizes or tuple(2**power for power in range(1, 20) if 2**power < len(self.values))
        levels = [self._labels(size) for size in sizes]
        for size, level in zip(sizes, levels, strict=True):
            groups = -(-len(self.values) // size)
            is_value = any(label in self.values and label != text for text, label in zip(self.values, level, strict=True))
            if len(set(level)) != groups or is_value:
                raise values.error(
                    "the rule order makes the same label for two groups, or for a group and a value. Use a tree file instead."
                )
        # Values of the column that the order does not name are reported where all trees are checked against the column.
        return values.built([[*path, ROOT] for path in zip(self.values, *levels, strict=True)])

    def _labels(self, size: int) -> list[str]:
        """Return the label of each value's group: the first and the last value of the group."""
        groups = [self.values[start : start + size] for start in range(0, len(self.values), size)]
        return [group[0] if len(group) == 1 else f"{group[0]} - {group[-1]}" for group in groups for _value in group]

    def short(self) -> str:
        return "order:" + ",".join(self.values)

    def describe(self) -> str:
        return f"order of {len(self.values)} values"


class Rare(Rule):
    """Put all values that occur in few rows into one group; the other values are children of the root."""

    by: Literal["rare"] = "rare"
    least: int = Field(default=20, ge=2)
    label: str = Field(default="(rare)", min_length=1)

    @field_validator("label")
    @classmethod
    def _own(cls, label: str) -> str:
        if label == ROOT:
            raise ValueError(f"must not be {ROOT}, which is the label of all values together")
        return label

    def grow(self, values: ColumnValues) -> Tree:
        if self.label in values.texts:
            raise values.error("the label of the group of rare values is also a value of the column. Choose another label.")
        rare = (values.counts < self.least).tolist()
        return values.ordered(
            lambda index: [values.texts[index], *([self.label] if rare[index] else []), ROOT],
            [(not rare[index], text.encode()) for index, text in enumerate(values.texts)],
        )

    def short(self) -> str:
        return f"rare:{self.least}"


class Flat(Rule):
    """Publish each value unchanged or as `*`, with no levels between."""

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
    """Whether a text is the short form of a rule and not the name of a file."""
    return text.partition(":")[0] in _SHORT


def is_misspelt(text: str) -> bool:
    """Whether a text looks like a rule with a wrong name. A file with such a name must be written as `./name:more`."""
    return _LIKE_A_RULE.fullmatch(text) is not None and not is_short(text)


def no_such_rule(text: str) -> str:
    """Return the message about an unknown rule. It leaves out the text after the colon, which may contain values."""
    word = text.partition(":")[0]
    if not word:
        return f"must be a tree file, a list of rows, or a rule ({', '.join(_SHORT)})"
    return f"has an unknown rule {word!r}.{nearest(word.lower(), _SHORT)}"


def rule(given: str | Mapping[str, Any]) -> Rule:
    """Make a rule from its short form or its table.

    >>> rule("interval:5,10") == rule({"by": "interval", "steps": [5, 10]}) == Interval(steps=(5, 10))
    True
    """
    try:
        return _RULES.validate_python(_parsed(given) if isinstance(given, str) else dict(given))
    except ValidationError as error:
        finding = error.errors(include_url=False)[0]
        if finding["type"].startswith("union_tag"):
            raise ValueError(f"needs by = one of: {', '.join(_SHORT)}") from None
        by, *where = (str(part) for part in finding["loc"][:2])
        raise ValueError(f"with the rule {by}: {' '.join([*where, _message(finding)])}") from None


def _message(finding: ErrorDetails) -> str:
    """Return a plain message for one finding of pydantic, to be read after the name of the setting."""
    plain = {
        "missing": "is missing",
        "extra_forbidden": "is not a setting of this rule",
        "string_too_short": "must not be empty",
        "int_type": "must be one whole number",
    }
    return plain.get(finding["type"], finding["msg"].removeprefix("Value error, ").replace("Input should", "must"))


def _parsed(text: str) -> dict[str, Any]:
    by, colon, rest = text.partition(":")
    field, convert = _SHORT[by]
    if not colon:
        return {"by": by}
    if by == "flat":
        raise ValueError("must be flat without a colon: the rule flat has no settings")
    try:
        given = [convert(part.strip()) for part in rest.split(",")]
    except (ValueError, ArithmeticError):
        raise ValueError(f"needs numbers after {by}:, such as {by}:{_EXAMPLE[by]}") from None
    return {"by": by, field: given[0] if by == "rare" and len(given) == 1 else given}


def _require_multiples(sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    if any(Fraction(str(wide)) % Fraction(str(narrow)) or wide <= narrow for narrow, wide in pairwise(sizes)):
        raise ValueError("must increase, and each must be a multiple of the one before")
    return sizes


def _plain(number: Decimal) -> str:
    """Write a number without exponent, without trailing zeros, and without a sign before zero.

    >>> _plain(Decimal("2.50")), _plain(Decimal("1E+2")), _plain(Decimal("-0.0"))
    ('2.5', '100', '0')
    """
    text = f"{number + 0:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _calendar_labels(days: NDArray[np.int64], level: DateLevel) -> list[str]:
    """Return the label of each day on one level of the calendar."""
    dates = days.astype("M8[D]")
    years = calendars.year_of(days).tolist()
    if level in ("day", "month"):
        return [str(text) for text in np.datetime_as_string(dates, "D" if level == "day" else "M")]
    if level == "quarter":
        quarters = (calendars.month_of(days) % 12 // 3 + 1).tolist()
        return [f"{year:04d}-Q{quarter}" for year, quarter in zip(years, quarters, strict=True)]
    if level == "year":
        return [f"{year:04d}" for year in years]
    return [f"{year // 10 * 10:04d}s" for year in years]
