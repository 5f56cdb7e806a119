"""Merge settings into one nested dict, whether they come flat or nested, as keyword, flag or file."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from kohort.errors import nearest
from kohort.schema.columns import ROLES, Column
from kohort.schema.presets import PRESETS, Preset
from kohort.schema.promises import DEFAULT, SETTINGS
from kohort.schema.tree_rules import is_misspelt, is_short

PER_COLUMN = tuple(name for name in Column.model_fields if name != "role" and name not in SETTINGS)
QUASI_ONLY = ("weight", "statistic", "step")
DESCRIPTIVE = (
    "type",
    "format",
    "hierarchy",
)  # allowed for any role in a job file, so that a role can be changed without other edits
TABLES = ("promise", "columns", "option")
NO_FLOOR = Preset(2, "tight", "")


def fold(nested: dict[str, Any], settings: Mapping[str, Any], of_job: Collection[str]) -> list[str]:
    """Merge settings into a nested job; return the mistakes found. `of_job` names the settings at the top level of a job."""
    given = {name: value for name, value in settings.items() if value is not None}
    known = {*ROLES, *PER_COLUMN, *SETTINGS, "k", *of_job}
    problems = [f"There is no setting {name!r}.{nearest(name, sorted(known))}" for name in given if name not in known]
    for name in TABLES:
        if name in given:
            _merge(nested, name, given[name])
    if "k" in given:
        _merge(nested, "promise", {"k": given["k"]})
    nested.setdefault("columns", {})
    if isinstance(nested["columns"], dict):
        problems += _fold_roles(nested["columns"], given)
        _fold_sensitive_promises(nested, given)
        problems += _fold_columns(nested, given)
    nested.update({name: _plain(given[name]) for name in given if name in of_job and name not in TABLES})
    return problems


def _merge(nested: dict[str, Any], name: str, given: Any) -> None:
    """Add settings to a nested table. A value that is not a table stays, so that pydantic reports it."""
    before = nested.get(name, {})
    if isinstance(before, Mapping):
        nested[name] = {**before, **given} if isinstance(given, Mapping) else given


def _fold_roles(columns: dict[str, Any], given: Mapping[str, Any]) -> list[str]:
    problems: list[str] = []
    role_of: dict[str, str] = {}
    for role in ROLES:
        named = _names(given.get(role, ()))
        if named is None:
            problems.append(f"{role} must be a column name or a list of column names.")
            continue
        twice = [name for name in named if role_of.setdefault(name, role) != role]
        problems += [f"Column {name!r} has two roles, {role_of[name]} and {role}. Give it one role." for name in twice]
    for name, role in role_of.items():
        _take_role(columns, name, role)
    return problems


def _fold_sensitive_promises(nested: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Merge promises about sensitive values. They hold for every sensitive column, unless they name their columns."""
    columns = {name: column for name, column in nested["columns"].items() if isinstance(column, dict)}
    sensitive = {name for name, column in columns.items() if column.get("role") == "sensitive"}
    for setting in SETTINGS:
        value = given.get(setting)
        if value is None:
            continue
        if isinstance(value, Mapping) and value and sensitive.issuperset(value):
            for name in value:
                columns[name][setting] = value[name]
        elif setting == "alpha" and not isinstance(value, Mapping):
            for table in (_table(nested, "promise"), *columns.values()):  # values that have their own limit keep it
                if isinstance(table.get("alpha"), Mapping):
                    table["alpha"] = {**table["alpha"], DEFAULT: value}
                elif table is nested["promise"] or table.get("alpha") is not None:
                    table["alpha"] = value
        else:
            _merge(nested, "promise", {setting: value})
            for column in columns.values():
                column.pop(setting, None)


def _table(nested: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a copy of a nested table to write to. A value that is not a table stays, so that pydantic reports it."""
    before = nested.get(name, {})
    if isinstance(before, Mapping):
        nested[name] = dict(before)
        return nested[name]  # type: ignore[no-any-return]
    return {}


def _fold_columns(nested: dict[str, Any], given: Mapping[str, Any]) -> list[str]:
    columns, promise = nested["columns"], nested.get("promise")
    everywhere = isinstance(promise, Mapping) and promise.get("t") is not None
    problems: list[str] = []
    for setting in PER_COLUMN:
        values = given.get(setting, {})
        if setting == "allow" and not isinstance(values, Mapping):
            values = dict.fromkeys(_names(values) or (), True) or values
        if not isinstance(values, Mapping):
            problems.append(f"{setting} needs column names. Write {setting}={{'column': value}}.")
            continue
        for name, value in values.items():
            if name in columns:
                _merge(columns, name, {setting: _plain(value)})
                column = columns[name] if isinstance(columns[name], Mapping) else {}
                has = column.get("role")
                measured = has == "sensitive" and (everywhere or column.get("t") is not None)
                if setting in DESCRIPTIVE and has in ROLES and has != "quasi" and not measured:
                    no_effect = f"{setting} has no effect there. Remove it, or give the column the role quasi."
                    problems.append(f"Column {name!r} has the role {has}. {no_effect}")
            else:
                problems.append(
                    f"{setting} names column {name!r}, but no column of that name has a role.{nearest(name, columns)}"
                )
    return problems


def _take_role(columns: dict[str, Any], name: str, role: str) -> None:
    """Give a column a role. Settings of its former role are removed: `--drop born` also removes the type of born."""
    before = columns.get(name)
    if isinstance(before, Mapping) and before.get("role") not in (None, role):
        left = {
            *((*QUASI_ONLY, *DESCRIPTIVE) if role != "quasi" else ()),
            *(SETTINGS if role != "sensitive" else ()),
            *(("allow",) if role != "other" else ()),
        }
        columns[name] = {setting: value for setting, value in before.items() if setting not in left}
    _merge(columns, name, {"role": role})


def _floor(nested: Mapping[str, Any]) -> Preset:
    name = nested.get("preset")
    return PRESETS.get(name, NO_FLOOR) if isinstance(name, str) else NO_FLOOR


def apply_preset(nested: dict[str, Any]) -> Iterable[str]:
    """Fill in the settings of the preset, and return a mistake for each setting that is weaker."""
    floor, promise = _floor(nested), nested.setdefault("promise", {})
    if floor is NO_FLOOR or not isinstance(promise, Mapping):
        return
    name, k, ranges = nested["preset"], promise.get("k"), nested.get("ranges")
    if k is None:
        nested["promise"] = {**promise, "k": floor.k}
    elif isinstance(k, int) and k < floor.k:
        yield f"k={k} is weaker than the preset {name}, which needs k={floor.k}. Set k (--k {floor.k}), or leave it out."
    if ranges is None:
        nested["ranges"] = floor.ranges
    elif ranges == "tight" and floor.ranges == "grid":
        yield (
            f"ranges=tight is weaker than the preset {name}: ranges would begin and end at values of people. "
            "Leave ranges out, or set it to grid."
        )


def _names(given: Any) -> list[str] | None:
    """Return one name or several as a list; None if the value is neither."""
    if isinstance(given, str):
        return [given]
    if isinstance(given, Iterable) and not isinstance(given, (Mapping, AbstractSet)):  # a set has no order
        names = list(given)
        return names if all(isinstance(name, str) for name in names) else None
    return None


def _plain(value: Any) -> Any:
    return tree_path(os.fspath(value)) if isinstance(value, os.PathLike) else value


def tree_path(path: str) -> str:
    """Return a path that cannot be mistaken for a rule."""
    return os.path.join(".", path) if is_short(path) or is_misspelt(path) else path  # noqa: PTH118 - a Path would drop the dot
