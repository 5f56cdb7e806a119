"""Detect the type of a column from its values (number, date, boolean or text), or read the values as the declared type.

A detected type must fit every value. If two interpretations fit, kohort does not guess: `Reading.question` says what the user
must decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kohort.schema import date_formats as calendars

ValueType = Literal["integer", "decimal", "boolean", "date", "timestamp", "text"]
Numbers = NDArray[Any]
"""Integers and days as int64, decimals as float64."""

INTEGER = r"^[+-]?(0|[1-9][0-9]{0,17})$"
DECIMAL = r"^[+-]?(0|[1-9][0-9]{0,14})(\.[0-9]+)?$"
COMMA_DECIMAL = r"^[+-]?(0|[1-9][0-9]{0,14})(,[0-9]+)?$"
THOUSANDS = r"^[+-]?([0-9]{1,3}|[1-9][0-9]{0,2}(,[0-9]{3})+)$"
ANY_INTEGER = r"^[+-]?[0-9]{1,18}$"
ANY_DECIMAL = r"^[+-]?([0-9]+[.,]?[0-9]*|[.,][0-9]+)([eE][+-]?[0-9]{1,3})?$"
BOOLEANS = ({"true", "false"}, {"yes", "no"}, {"y", "n"}, {"t", "f"}, {"ja", "nein"}, {"oui", "non"}, {"si", "no"}, {"sì", "no"})
COMMA_QUESTION = (
    "contains numbers with a comma that may separate decimals or thousands. Set type (--type COLUMN=decimal if it separates "
    "decimals, else --type COLUMN=text)"
)
DECLARED_BOOLEANS = {"0", "1", *set().union(*BOOLEANS)}
_NOT_NUMBERS = {"integer": "not a whole number", "decimal": "not a number"}


@dataclass(frozen=True, eq=False)
class Reading:
    """The type of the distinct values of a column, and the values as numbers; dates as days since 1970."""

    value_type: ValueType
    numbers: Numbers | None = None
    format: str | None = None
    """The date format, if the dates are stored as text."""
    comma: bool = False
    """Whether decimals are written with a comma; they are then published with a comma."""
    unfit: NDArray[np.bool_] | None = None
    """Per value: whether it does not fit the type. None if all values fit."""
    unfit_because: str = ""
    """What is wrong with the values that do not fit, as the end of a sentence: `the value is ...`."""
    question: str | None = None
    """What the user must decide, as the end of a sentence that starts with the column. None if the values are clear."""


TEXT = Reading("text")


def read(values: pa.Array, declared: ValueType | None = None, form: str | None = None) -> Reading | None:
    """Read the distinct values of a column as the declared type, or detect it. None if they can never be of that type."""
    arrow_type = values.type
    if declared == "text":
        return TEXT
    if declared == "boolean" or (declared is None and pa.types.is_boolean(arrow_type)):
        return _booleans(values.cast(pa.string()))
    if declared in ("date", "timestamp"):
        return _declared_dates(values, declared, form)
    if pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type):
        texts = values.cast(pa.string())
        return _declared_numbers(texts, declared) if declared else _found(texts)
    if (pa.types.is_date(arrow_type) or pa.types.is_timestamp(arrow_type)) and declared is None:
        return _temporal(values)
    return _typed_numbers(values, declared)


# --- text


def _found(texts: pa.Array) -> Reading:
    if not len(texts):
        return TEXT
    dates = calendars.fitting(texts)
    if dates:
        reading = _dates(texts, "timestamp" if calendars.has_time(texts, dates[0]) else "date", dates[0])
        if len(dates) > 1:  # the day or the month may come first
            return Reading(reading.value_type, reading.numbers, dates[0], question=_which(dates))
        return reading
    if _all(texts, INTEGER):
        return Reading("integer", _cast(texts, pa.int64()))
    if _all(texts, DECIMAL):
        return Reading("decimal", _cast(texts, pa.float64()))
    if _all(texts, COMMA_DECIMAL):
        question = COMMA_QUESTION if _all(texts, THOUSANDS) else None
        return Reading("decimal", _cast(_with_points(texts), pa.float64()), comma=True, question=question)
    if len(texts) <= 2 and any({text.lower() for text in texts.to_pylist()} <= pair for pair in BOOLEANS):
        return Reading("boolean")
    return TEXT


def _declared_numbers(texts: pa.Array, declared: ValueType) -> Reading:
    fits = _match(texts, ANY_INTEGER if declared == "integer" else ANY_DECIMAL)
    if not fits.all():
        return Reading(declared, unfit=~fits, unfit_because=_NOT_NUMBERS[declared])
    if declared == "integer":
        return Reading(declared, _cast(texts, pa.int64()))
    commas = pc.match_substring(texts, ",").to_numpy(zero_copy_only=False)
    points = pc.match_substring(texts, ".").to_numpy(zero_copy_only=False)
    if commas.any() and points.any():
        return Reading(declared, unfit=commas, unfit_because="a decimal with a comma, while other values have a point")
    return _finite(Reading(declared, _cast(_with_points(texts), pa.float64()), comma=bool(commas.any())))


def _with_points(texts: pa.Array) -> pa.Array:
    """Replace decimal commas by decimal points."""
    return pc.replace_substring(texts, ",", ".")


def _cast(texts: pa.Array, arrow_type: pa.DataType) -> Numbers:
    return np.asarray(pc.replace_substring_regex(texts, r"^\+", "").cast(arrow_type).to_numpy(zero_copy_only=False))


def _all(texts: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py())


def _match(texts: pa.Array, pattern: str) -> NDArray[np.bool_]:
    return np.asarray(pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False))


def _booleans(texts: pa.Array) -> Reading:
    lowered = [text.lower() for text in texts.to_pylist()]
    unfit = np.array([text not in DECLARED_BOOLEANS for text in lowered], np.bool_)
    if len(set(lowered)) > 2:
        unfit[:] = True
    return Reading(
        "boolean",
        unfit=unfit if unfit.any() else None,
        unfit_because="not boolean (a boolean column has two values, such as yes and no, true and false, 0 and 1)",
    )


# --- dates


def _declared_dates(values: pa.Array, declared: ValueType, form: str | None) -> Reading | None:
    arrow_type = values.type
    if pa.types.is_date(arrow_type) or pa.types.is_timestamp(arrow_type):
        return _temporal(values)
    if not (pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type) or pa.types.is_integer(arrow_type)):
        return None
    texts = values.cast(pa.string())
    if form is not None:
        return _dates(texts, declared, form)
    ways = calendars.fitting(texts)
    if len(ways) > 1:
        return Reading(declared, format=ways[0], question=_which(ways))
    # If no format fits all values, use the one that fits most, so that the message counts the fewest wrong values.
    best = ways[0] if ways else max(calendars.USUAL, key=lambda way: int(calendars.days(texts, way)[1].sum()))
    return _dates(texts, declared, best)


def _which(ways: list[str]) -> str:
    return f"contains dates that can be read as {' and as '.join(ways)}. Set format (--format COLUMN={ways[0]})"


def _dates(texts: pa.Array, value_type: ValueType, form: str) -> Reading:
    days, fits = calendars.days(texts, form)
    return Reading(value_type, days, form, unfit=None if fits.all() else ~fits, unfit_because=f"not a date written as {form}")


def _temporal(values: pa.Array) -> Reading:
    """Read Arrow dates and timestamps as days, in the time zone of the column."""
    value_type: ValueType = "timestamp" if pa.types.is_timestamp(values.type) else "date"
    if value_type == "timestamp":
        try:
            local = pc.local_timestamp(values) if values.type.tz is not None else values
        except pa.ArrowException:
            question = (
                "has a time zone that is not installed on this computer. Set type (--type COLUMN=text), or convert the times"
            )
            return Reading(value_type, question=question)
        values = pc.floor_temporal(local, unit="day")  # a cast would round times before 1970 up to the next day
    days = np.asarray(values.cast(pa.date32()).cast(pa.int32()).to_numpy(zero_copy_only=False), np.int64)
    years = calendars.year_of(days)
    unfit = (years < 1) | (years > 9999)
    return Reading(value_type, days, unfit=unfit if unfit.any() else None, unfit_because="a date outside the years 1 to 9999")


# --- columns stored as numbers


def _typed_numbers(values: pa.Array, declared: ValueType | None) -> Reading | None:
    arrow_type = values.type
    if pa.types.is_integer(arrow_type) and declared != "decimal":
        try:
            return Reading("integer", np.asarray(values.cast(pa.int64()).to_numpy(zero_copy_only=False)))
        except pa.ArrowInvalid:
            too_large = np.array([number >= 2**63 for number in values.to_pylist()])
            return Reading("integer", unfit=too_large, unfit_because="an integer of 2^63 or more")
    if pa.types.is_floating(arrow_type) or pa.types.is_decimal(arrow_type) or pa.types.is_integer(arrow_type):
        exact = (
            values if pa.types.is_float64(arrow_type) else values.cast(pa.string())
        )  # via text, so that 0.1 as a 32-bit float becomes 0.1 and not 0.10000000149
        numbers = np.asarray(exact.cast(pa.float64()).to_numpy(zero_copy_only=False))
        if declared == "integer" and (fractions := numbers != np.rint(numbers)).any():
            return Reading("integer", unfit=fractions, unfit_because=_NOT_NUMBERS["integer"])
        return _finite(Reading(declared or "decimal", numbers))
    return None if declared else TEXT


def _finite(reading: Reading) -> Reading:
    """Mark infinite numbers as values that do not fit."""
    infinite = ~np.isfinite(reading.numbers if reading.numbers is not None else np.empty(0))
    return Reading(reading.value_type, unfit=infinite, unfit_because="infinite") if infinite.any() else reading
