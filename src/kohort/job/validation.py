"""Find the mistakes in a job: all of them, each as one sentence or two."""

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
)  # pydantic's words, and ours
_UNPAIRED = re.compile("[\ud800-\udfff]")
LEAST_MEMORY, MOST_MEMORY = 512 << 20, 1 << 50
_UNIT = re.compile("([kmgt]?)(?:i?b)?")


def memory_size(given: str) -> int:
    """Return the number of bytes of a size such as `2GiB` or `512m`.

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
    """Return settings that are not valid text. Bytes of a command line that are not text arrive as lone surrogates."""
    problems = []
    for name, value in nested.items():
        here = f"{place}{name}"
        if isinstance(value, Mapping):
            problems += not_unicode(value, f"{here}.")
        for text in (here, *(value if isinstance(value, (list, tuple)) else (value,))):
            if isinstance(text, str) and not text.isascii() and _UNPAIRED.search(text):
                message = _UNPAIRED.sub("?", here)
                problems.append(
                    f"{message} contains bytes that are not text. Write it in UTF-8. If it is a file name, rename the file."
                )
                break
    return problems


def method_mistakes(nested: Mapping[str, Any]) -> Iterable[str]:
    """Return an unknown method, or options that the method does not have."""
    name, option = nested.get("method", "auto"), nested.get("option", {})
    method = METHODS.get(name) if isinstance(name, str) else None
    if method is None:
        yield f"There is no method {name!r}.{nearest(str(name), METHODS)}"
    elif isinstance(option, Mapping):
        try:
            method.options.model_validate(option)
        except ValidationError as error:
            yield from sentences(error, method.options, method.name)


def workload_mistakes(nested: dict[str, Any]) -> Iterable[str]:
    """Return the mistakes of a workload that is written in the job itself."""
    given = nested.get("workload")
    if isinstance(given, Workload):
        nested["workload"] = given.to_dict()
    elif isinstance(given, Mapping):
        try:
            nested["workload"] = Workload.load(given).to_dict()
        except RequestError as error:
            yield from error.problems


def objective_mistakes(nested: Mapping[str, Any]) -> Iterable[str]:
    """Return mistakes of `label`: it needs the objective class, and must be a published column that is not sensitive."""
    objective, label, columns = nested.get("objective"), nested.get("label"), nested.get("columns")
    if objective == "class" and label is None:
        yield "objective class needs a label: the column whose values should stay together. Set label (--label COL)."
    if label is None or not isinstance(columns, Mapping):
        return
    if objective != "class":
        yield "label has an effect only with objective class. Set objective (--objective class), or leave label out."
    column = columns.get(label) if isinstance(label, str) else None
    if column is None:
        yield f"label names column {label!r}, but no column of that name has a role.{nearest(str(label), columns)}"
    elif isinstance(column, Mapping) and column.get("role") == "sensitive":
        yield (
            f"The label {label!r} is sensitive. objective class puts rows with the same label into one group. "
            "That would reveal it. Choose a quasi or other column."
        )
    elif isinstance(column, Mapping) and column.get("role") not in ("quasi", "other"):
        yield f"The label {label!r} is not published, so no model could be trained on it. Give it the role quasi or other."


def column_mistakes(nested: Mapping[str, Any]) -> Iterable[str]:
    columns = nested["columns"]
    requested = (
        {name: column for name, column in columns.items() if isinstance(column, Mapping)} if isinstance(columns, dict) else {}
    )
    if not any(column.get("role") == "quasi" for column in requested.values()):
        yield "No quasi-identifier is given. Use quasi (--quasi age,sex) to list the columns that other people may know."
    for name, column in requested.items():
        role = column.get("role")
        given = [setting for setting in QUASI_ONLY if setting in column]
        if role in ROLES and role != "quasi" and given:
            yield f"Column {name!r} has the role {role}. Only quasi-identifiers can have {', '.join(given)}."
        promised = [setting for setting in SETTINGS if setting in column]
        if role in ROLES and role != "sensitive" and promised:
            yield f"Column {name!r} has the role {role}. Only sensitive columns can have {', '.join(promised)}."
        if role in ROLES and role != "other" and column.get("allow"):
            yield f"Column {name!r} has the role {role}. Only columns with the role other can have allow."
    units = [name for name, column in requested.items() if column.get("role") == "unit"]
    if len(units) > 1:
        one = "Only one column can have it. Give the others the role identifier or drop."
        yield f"{len(units)} columns have the role unit: {listed(units)}. {one}"


def promise_mistakes(nested: Mapping[str, Any]) -> Iterable[str]:
    promise, columns = nested.get("promise", {}), nested["columns"]
    if not isinstance(promise, Mapping) or not isinstance(columns, dict):
        return
    sensitive = {
        name: column for name, column in columns.items() if isinstance(column, dict) and column.get("role") == "sensitive"
    }
    requested = [setting for setting in SETTINGS if promise.get(setting) is not None]
    if requested and not sensitive:
        yield f"{', '.join(requested)} protects sensitive columns, but none is given. Set sensitive (--sensitive diagnosis)."
    for measure, setting in (("t_distance", "t"), ("beta_kind", "beta")):
        for table in (promise, *sensitive.values()):
            if table.get(measure) is not None and table.get(setting) is None and promise.get(setting) is None:
                yield f"{measure} has no effect without {setting}. Set {setting}, or leave {measure} out."
                break


def sentences(error: ValidationError, model: type[BaseModel], where: str = "setting") -> Iterable[str]:
    """Return pydantic's findings, each as a sentence with the setting, the allowed values and the nearest right name."""
    for finding in error.errors(include_url=False):
        *path, last = takewhile(_is_setting, map(str, finding["loc"])) if finding["loc"] else [where]
        place = _place([*path, last])
        if finding["type"] == "extra_forbidden":
            elsewhere = " In a job file it belongs under [promise]." if not path and last in Promise.model_fields else None
            if where == "setting":
                yield f"There is no setting {'.'.join([*path, last])!r}.{elsewhere or nearest(last, _fields(model, path))}"
            else:
                known = ", ".join(model.model_fields)
                has = f" Its options: {known}." if known else " It has no options."
                yield f"The method {where} has no option {place!r}.{did_you_mean(last, model.model_fields)}{has}"
        elif finding["type"] == "missing":
            yield f"{place} is missing." + (f" Choose one of {', '.join(ROLES)}." if last == "role" else "")
        elif finding["type"] == "literal_error":
            allowed = finding["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
            yield f"{place} must be one of {', '.join(allowed)}.{did_you_mean(str(finding['input']), allowed)}"
        elif finding["type"] in ("model_type", "dict_type"):
            yield f"{place} must be a table with settings."
        elif finding["type"].startswith("bool"):
            yield f"{place} must be true or false."
        elif place == "suppress" and finding["type"] == "less_than_equal":  # somebody who writes 2 means 2 %
            yield "suppress is a share of the rows, from 0 to 1. For 2 % write 0.02 (--suppress 0.02)."
        else:
            message = finding["msg"].removeprefix("Value error, ")
            for theirs, ours in _WORDS:
                message = message.replace(theirs, ours)
            yield f"{place} {message}" + ("" if message.endswith((".", "?")) else ".")


def _place(path: list[str]) -> str:
    """Return the name of a setting as people write it: `k`, or `Column 'age': weight`."""
    if path[0] == "columns" and len(path) > 1:
        return f"Column {path[1]!r}: {'.'.join(path[2:])}".rstrip()
    return ".".join(path[1:] if path[0] == "promise" and len(path) > 1 else path)


def _is_setting(part: str) -> bool:
    """Return whether a part of pydantic's address names a setting. Parts that name a type do not."""
    return part not in ("str", "bool", "int", "float") and "[" not in part


def _fields(model: type[BaseModel], path: list[str]) -> list[str]:
    if path[:1] == ["columns"]:
        return list(Column.model_fields)
    if path[:1] == ["promise"]:
        return list(Promise.model_fields)
    return list(model.model_fields)
