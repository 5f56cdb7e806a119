"""What is wrong with a job, every mistake at once, each as one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any

from pydantic import BaseModel, ValidationError

from kohort.errors import RequestError, did_you_mean, listed, nearest
from kohort.job.settings import QUASI_ONLY
from kohort.methods import METHODS
from kohort.schema.columns import ROLES, Column
from kohort.schema.promises import SETTINGS, Promise
from kohort.schema.workload import Workload

_WORDS = (
    ("Input should be", "must be"),
    ("greater than or equal to", "at least"),
    ("less than or equal to", "at most"),
    ("a valid integer, unable to parse string as an integer", "a whole number"),
    ("a valid integer, got a number with a fractional part", "a whole number"),
    ("a valid number, unable to parse string as a number", "a number"),
)  # pydantic's, and ours
_UNPAIRED = re.compile("[\ud800-\udfff]")
LEAST_MEMORY, MOST_MEMORY = 512 << 20, 1 << 50
_UNIT = re.compile("([kmgt]?)(?:i?b)?")


def memory_size(given: str) -> int:
    """How many bytes `2GiB`, `512m`, ... are.

    >>> memory_size("2GiB"), memory_size("1.5 g") == 3 * 2**29
    (2147483648, True)
    """
    found = re.fullmatch(r"\s*([0-9]+(?:[.][0-9]+)?)\s*([a-z]*)\s*", given.casefold())
    unit = found and _UNIT.fullmatch(found[2])
    if found is None or not unit:
        raise ValueError("must be a size such as 2GiB or 512MiB.")
    size = int(float(found[1]) * 1024 ** " kmgt".index(unit[1] or " "))
    if size < LEAST_MEMORY:
        raise ValueError("must be at least 512MiB.")
    if size > MOST_MEMORY:
        raise ValueError("must be at most 1024TiB.")
    return size


def not_unicode(nested: Mapping[str, Any], place: str = "") -> list[str]:
    """Settings that no file could hold: bytes of a command line that are no text come as lone surrogates."""
    problems = []
    for name, value in nested.items():
        here = f"{place}{name}"
        if isinstance(value, Mapping):
            problems += not_unicode(value, f"{here}.")
        for text in (here, *(value if isinstance(value, (list, tuple)) else (value,))):
            if isinstance(text, str) and not text.isascii() and _UNPAIRED.search(text):
                message = _UNPAIRED.sub("?", here)
                problems.append(f"{message} holds bytes that are not text. Write it in Unicode; if it names a file, rename that.")
                break
    return problems


def method_mistakes(nested: Mapping[str, Any]) -> Iterable[str]:
    """An unknown method, or options that it does not have."""
    name, option = nested.get("method", "auto"), nested.get("option", {})
    method = METHODS.get(name) if isinstance(name, str) else None
    if method is None:
        yield f"There is no method {name!r}.{did_you_mean(str(name), METHODS)} Known: {', '.join(METHODS)}."
    elif isinstance(option, Mapping):
        try:
            method.options.model_validate(option)
        except ValidationError as error:
            yield from sentences(error, method.options, method.name)


def workload_mistakes(nested: dict[str, Any]) -> Iterable[str]:
    """A workload that stands in the job itself."""
    given = nested.get("workload")
    if isinstance(given, Workload):
        nested["workload"] = given.to_dict()
    elif isinstance(given, Mapping):
        try:
            nested["workload"] = Workload.load(given).to_dict()
        except RequestError as error:
            yield from error.problems


def objective_mistakes(nested: Mapping[str, Any]) -> Iterable[str]:
    """A label and the objective that needs it come together, and it is a column that may be known."""
    objective, label, columns = nested.get("objective"), nested.get("label"), nested.get("columns")
    if objective == "class" and label is None:
        yield "objective class keeps records of one label together: name the column (label, --label)."
    if label is None or not isinstance(columns, Mapping):
        return
    if objective != "class":
        yield "label is only used by the objective class: ask for it (objective, --objective class), or leave the label out."
    column = columns.get(label) if isinstance(label, str) else None
    if column is None:
        yield f"label names column {label!r}, which has no role.{nearest(str(label), columns)}"
    elif isinstance(column, Mapping) and column.get("role") == "sensitive":
        yield f"The label {label!r} is sensitive: classes of one label each would give it away. Only quasi or other can be one."
    elif isinstance(column, Mapping) and column.get("role") not in ("quasi", "other"):
        yield f"The label {label!r} is not published, so no model could be trained on it. Make it quasi or other."


def column_mistakes(nested: Mapping[str, Any]) -> Iterable[str]:
    columns = nested["columns"]
    requested = (
        {name: column for name, column in columns.items() if isinstance(column, Mapping)} if isinstance(columns, dict) else {}
    )
    if not any(column.get("role") == "quasi" for column in requested.values()):
        yield "No quasi-identifier is named. Say with quasi (--quasi a,b) which columns others may know of a person."
    for name, column in requested.items():
        role = column.get("role")
        given = [setting for setting in QUASI_ONLY if setting in column]
        if role in ROLES and role != "quasi" and given:
            yield f"Column {name!r} is {role}: {', '.join(given)} only serves quasi-identifiers."
        promised = [setting for setting in SETTINGS if setting in column]
        if role in ROLES and role != "sensitive" and promised:
            yield f"Column {name!r} is {role}: {', '.join(promised)} only serves sensitive columns."
        if role in ROLES and role != "other" and column.get("allow"):
            yield f"Column {name!r} is {role}: allow only serves columns with the role other."
    units = [name for name, column in requested.items() if column.get("role") == "unit"]
    if len(units) > 1:
        yield f"{len(units)} columns are units: {listed(units)}. One column says which rows belong to one person."


def promise_mistakes(nested: Mapping[str, Any]) -> Iterable[str]:
    promise, columns = nested.get("promise", {}), nested["columns"]
    if not isinstance(promise, Mapping) or not isinstance(columns, dict):
        return
    sensitive = {
        name: column for name, column in columns.items() if isinstance(column, dict) and column.get("role") == "sensitive"
    }
    requested = [setting for setting in SETTINGS if promise.get(setting) is not None]
    if requested and not sensitive:
        yield f"{', '.join(requested)} speaks of sensitive columns, and none is named. Name them with sensitive (--sensitive s)."
    for measure, setting in (("t_distance", "t"), ("beta_kind", "beta")):
        for table in (promise, *sensitive.values()):
            if table.get(measure) is not None and table.get(setting) is None and promise.get(setting) is None:
                yield f"{measure} is given without {setting}, which it would measure."
                break


def sentences(error: ValidationError, model: type[BaseModel], where: str = "setting") -> Iterable[str]:
    """pydantic's findings, each as one sentence that names the place, what is allowed, and the nearest right name."""
    for finding in error.errors(include_url=False):
        *path, last = takewhile(_is_setting, map(str, finding["loc"])) if finding["loc"] else [where]
        place = ".".join([*path, last])
        if finding["type"] == "extra_forbidden":
            elsewhere = " It belongs under [promise]." if not path and last in Promise.model_fields else None
            if where == "setting":
                yield f"There is no setting {place!r}.{elsewhere or nearest(last, _fields(model, path))}"
            else:
                known = ", ".join(model.model_fields)
                has = f" Its options: {known}." if known else " It has no options."
                yield f"{where} has no option {place!r}.{did_you_mean(last, model.model_fields)}{has}"
        elif finding["type"] == "missing":
            yield f"{place} is not given."
        elif finding["type"] == "literal_error":
            allowed = finding["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
            yield f"{place} must be one of {', '.join(allowed)}.{did_you_mean(str(finding['input']), allowed)}"
        elif finding["type"].startswith("bool"):
            yield f"{place} must be true or false."
        else:
            message = finding["msg"].removeprefix("Value error, ")
            for theirs, ours in _WORDS:
                message = message.replace(theirs, ours)
            yield f"{place} {message}" + ("" if message.endswith((".", "?")) else ".")


def _is_setting(part: str) -> bool:
    """Whether a part of pydantic's address is a name of ours; where several types are allowed it goes on with theirs."""
    return part not in ("str", "bool", "int", "float") and "[" not in part


def _fields(model: type[BaseModel], path: list[str]) -> list[str]:
    if path[:1] == ["columns"]:
        return list(Column.model_fields)
    if path[:1] == ["promise"]:
        return list(Promise.model_fields)
    return list(model.model_fields)
