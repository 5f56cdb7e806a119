"""Read and write job files (TOML or JSON). Paths in a job file are relative to its folder."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kohort.errors import RequestError
from kohort.job.settings import tree_path
from kohort.schema.tree_rules import is_misspelt, is_short

TOO_DEEP = "The job is nested too deeply. Settings are at the top level, in [promise], or in [columns.NAME]."


def require_job_file(file: Path, force: bool, suffixes: tuple[str, ...] = (".toml", ".json")) -> None:
    """Refuse, before the run starts, a job file that would replace another file or that kohort could not read again."""
    if file.suffix not in suffixes:
        raise RequestError(f"kohort saves this job as a {' or '.join(suffixes)} file. Change the ending of {file.name!r}.")
    if not file.parent.is_dir():
        raise RequestError(f"There is no folder {str(file.parent)!r}. Create it first.")
    if os.path.lexists(file) and not force:
        raise RequestError(f"{file} exists already. Choose another name, or replace it with force (--force).")


def read_job_file(file: Path) -> dict[str, Any]:
    """Read a job file. Paths in it become relative to the current folder."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise RequestError(
                f"There is no job file {str(file)!r}. Check the name and the folder, or draft a job with `kohort inspect`."
            ) from None
        raise RequestError(f"kohort cannot read the job file {str(file)!r}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise RequestError(f"The job file {file} is not UTF-8 text. Save it as UTF-8.") from None
    except ValueError:
        raise RequestError("The name of the job file contains a NUL character. Give the path of a file.") from None
    loads, syntax = (json.loads, "JSON") if file.suffix == ".json" else (tomllib.loads, "TOML")
    return relocated(parsed(text, loads, syntax, str(file)), lambda tree: str(file.parent / tree))


def parsed(text: str, loads: Any, syntax: str, name: str = "The job") -> dict[str, Any]:
    """Return the text of a job as a nested dict. `loads` reads the syntax."""
    try:
        parsed = loads(text)
    except ValueError as error:
        where = re.sub(r"\bcolumn (?=[0-9])", "character ", str(error).rstrip("."))  # here a column is a column of a table
        raise RequestError(f"{name} is not valid {syntax}: {where}. Correct this line. Text must be in double quotes.") from None
    except RecursionError:
        raise RequestError(TOO_DEEP) from None
    if not isinstance(parsed, dict):
        raise RequestError(f"{name} holds no settings by name.")
    return parsed


def relocated(nested: dict[str, Any], move: Any) -> dict[str, Any]:
    """Return a copy of the job in which `move` has changed every path."""
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
    """Return a copy of a nested dict that shares no dict with it."""
    return {key: copied(value) if isinstance(value, Mapping) else value for key, value in nested.items()}
