"""Job files: TOML or JSON, read and written; tree files in them are relative to them."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kohort.errors import RequestError
from kohort.job.settings import tree_path
from kohort.schema.tree_rules import is_misspelt, is_short

TOO_DEEP = "The job is nested too deeply: settings stand in tables, not in tables of tables of tables."


def require_job_file(file: Path, force: bool, suffixes: tuple[str, ...] = (".toml", ".json")) -> None:
    """Refuse, before any work is done, to save a job where it would overwrite something or could not be read again."""
    if file.suffix not in suffixes:
        raise RequestError(f"A job is saved as {' or '.join(suffixes)}, not as {file.name!r}.")
    if not file.parent.is_dir():
        raise RequestError(f"There is no folder {file.parent}. Create it first.")
    if os.path.lexists(file) and not force:
        raise RequestError(f"{file} exists. Choose another name, or replace it with force (--force).")


def read_job_file(file: Path) -> dict[str, Any]:
    """A job file; tree files in it are relative to it."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise RequestError(f"The job file {file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise RequestError(f"The job file {file} is not UTF-8 text.") from None
    except ValueError:
        raise RequestError("The job file has a name that no file can have (a NUL in it).") from None
    loads, syntax = (json.loads, "JSON") if file.suffix == ".json" else (tomllib.loads, "TOML")
    return relocated(parsed(text, loads, syntax, str(file)), lambda tree: str(file.parent / tree))


def parsed(text: str, loads: Any, syntax: str, name: str = "The job") -> dict[str, Any]:
    """A job's text as a nested dict. `loads` reads the syntax."""
    try:
        parsed = loads(text)
    except ValueError as error:
        raise RequestError(f"{name} is not proper {syntax}: {error}") from None
    except RecursionError:
        raise RequestError(TOO_DEEP) from None
    if not isinstance(parsed, dict):
        raise RequestError(f"{name} is not a table of settings.")
    return parsed


def relocated(nested: dict[str, Any], move: Any) -> dict[str, Any]:
    """The job with every file that it names moved."""
    nested = copied(nested)
    for name in ("hierarchies", "workload"):
        if isinstance(nested.get(name), str):
            nested[name] = move(nested[name])
    columns = nested.get("columns")
    for column in columns.values() if isinstance(columns, dict) else ():
        tree = column.get("hierarchy") if isinstance(column, dict) else None
        if isinstance(tree, str) and tree and not is_short(tree) and not is_misspelt(tree):
            column["hierarchy"] = tree_path(move(tree))
    return nested


def copied(nested: Mapping[str, Any]) -> dict[str, Any]:
    """A nested dict that shares no part with the one given."""
    return {key: copied(value) if isinstance(value, Mapping) else value for key, value in nested.items()}
