"""Job: what the user asks for. The Python API, the command line and (later) the web page all build one of these.

A keyword argument, a command-line flag and a key of the TOML file have the same name and meaning. Per-column settings can
be given flat (`weight={"age": 2}`) or under their column (`[columns.age] weight = 2`): flat ones are folded into columns.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from kohort.encoding.points import Objective
from kohort.errors import MachineError, RequestError, did_you_mean, nearest
from kohort.job.settings import apply_preset, column_mistakes, fold, promise_mistakes, tree_path
from kohort.methods import METHODS, Method, Options
from kohort.schema.columns import Column, Role
from kohort.schema.promises import Promise, SensitivePromise
from kohort.schema.tree_rules import is_misspelt, is_short
from kohort.schema.workload import Workload

TOO_DEEP = "The job is nested too deeply: settings stand in tables, not in tables of tables of tables."
_WORDS = (
    ("Input should be", "must be"),
    ("greater than or equal to", "at least"),
    ("less than or equal to", "at most"),
    ("a valid integer, unable to parse string as an integer", "a whole number"),
    ("a valid integer, got a number with a fractional part", "a whole number"),
    ("a valid number, unable to parse string as a number", "a number"),
)  # pydantic's, and ours
_UNPAIRED = re.compile("[\ud800-\udfff]")


class Job(BaseModel):
    """A frozen, validated request. Build it with `Job.build`, which reports every mistake at once."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    method: str = "auto"
    effort: int | None = Field(
        default=None, ge=0, le=1000, description="rounds of improvement; 1 for auto, merge and top-down if not given, else 0"
    )
    objective: Objective = Field(default="leaf", description="what searches lower: loss by leaves or heights, square error, ...")
    label: str | None = Field(default=None, description="the column to keep together, for the objective class")
    workload: str | dict[str, Any] | None = Field(
        default=None, description="queries that the release should answer: a TOML file, or what stands in one"
    )
    option: dict[str, bool | int | float | str] = Field(default_factory=dict, description="options of the method")
    seed: int | None = Field(default=None, ge=0, lt=2**63, description="drawn from the system and saved if not given")
    missing: tuple[str, ...] = Field(default=(), description="texts that stand for a missing value, beside the empty one")
    encoding: str | None = Field(default=None, description="of a text file that is not UTF-8, such as latin-1")
    hierarchies: str | None = Field(default=None, description="a folder of tree files named after their columns")
    keep_order: bool = Field(default=False, description="publish the rows in their order instead of shuffled")
    row_order: Literal["canonical", "given"] = Field(default="canonical", description="the order in which methods see rows")
    preset: Literal["internal", "trusted", "public", "high-risk"] | None = Field(
        default=None, description="a floor for what is promised: nothing weaker is accepted"
    )
    block: int = Field(
        default=20_000, ge=0, description="rows of a block, for methods that compare rows with rows; 0 = the whole table is one"
    )
    ranges: Literal["tight", "grid"] = Field(
        default="tight", description="where a published range ends: at its rows, or on a grid"
    )
    suppress: float = Field(default=0, ge=0, le=1, description="the share of the rows that may be left out")
    suppressed: Literal["leave", "star"] = Field(
        default="leave", description="suppressed rows leave the release, or stay as one class of * if that keeps the promise"
    )
    engine: Literal["auto", "memory", "disk", "spark"] = Field(
        default="auto", description="where rows live; auto: in memory if they fit, else on disk, or where a Spark table is"
    )
    memory: str = Field(default="2GiB", description="what may be taken before rows go to disk, and then; at least 512MiB")
    master: str | None = Field(default=None, description="where Spark runs, if it is to be started: local[4], spark://host:7077")
    threads: int | None = Field(default=None, ge=1, le=1024, description="all cores if not given")
    promise: Promise = Field(default_factory=Promise)
    columns: dict[str, Column] = Field(default_factory=dict)

    @field_validator("missing", mode="before")
    @classmethod
    def _one_or_more(cls, given: Any) -> Any:
        return (given,) if isinstance(given, str) else given

    @field_validator("memory", mode="before")
    @classmethod
    def _a_size(cls, given: Any) -> Any:
        text = str(given) if isinstance(given, int) and not isinstance(given, bool) else given
        if isinstance(text, str):
            memory_size(text)
        return text

    # --- building

    @classmethod
    def build(cls, base: Job | Mapping[str, Any] | str | os.PathLike[str] | None = None, /, **settings: Any) -> Job:
        """A job from another job, a nested dict or a TOML/JSON file, changed by flat settings.

        >>> job = Job.build(quasi=["age", "zip"], sensitive="disease", k=10, weight={"age": 2})
        >>> job.promise.k, job.columns["age"].weight, list(job.columns)
        (10, 2.0, ['age', 'zip', 'disease'])
        """
        try:
            nested = _nested(base)
            problems = [
                *fold(nested, settings, cls.model_fields),
                *_not_unicode(nested),
                *_method_mistakes(nested),
                *_objective_mistakes(nested),
                *_workload_mistakes(nested),
            ]
            problems += [*column_mistakes(nested), *promise_mistakes(nested), *apply_preset(nested)]
            job = cls.model_validate(nested)
            problems += [] if problems else _search_mistakes(job)
        except ValidationError as error:
            raise RequestError([*problems, *_sentences(error, cls)]) from None
        except RecursionError:
            raise RequestError(TOO_DEEP) from None
        if problems:
            raise RequestError(problems)
        option = METHODS[job.method].options.model_validate(job.option).model_dump(exclude_unset=True)
        return job.model_copy(update={"option": option})  # saved by type: `--option relaxed=true` as a truth value

    # --- asking

    @property
    def memory_bytes(self) -> int:
        return memory_size(self.memory)

    @property
    def algorithm(self) -> Method:
        return METHODS[self.method]

    @property
    def rounds(self) -> int:
        """How many rounds of improvement."""
        return self.algorithm.effort if self.effort is None else self.effort

    def method_options(self) -> Options:
        return self.algorithm.options.model_validate(self.option)

    def names(self, role: Role) -> list[str]:
        return [name for name, column in self.columns.items() if column.role == role]

    def sensitive_promises(self) -> dict[str, SensitivePromise]:
        """What is promised about each sensitive column."""
        return {name: self.columns[name].over(self.promise) for name in self.names("sensitive")}

    def measured(self) -> list[str]:
        """Sensitive columns between whose values a distance counts that needs a tree or an order."""
        return [
            name
            for name, requested in self.sensitive_promises().items()
            if requested.t is not None and requested.distance != "equal"
        ]

    def compared(self) -> list[str]:
        """Sensitive columns that the method looks at too."""
        return self.names("sensitive") if self.algorithm.uses_sensitive(self.method_options()) else []

    def binding(self) -> dict[str, Any]:
        """What binding the columns to a table needs to know beside them: the settings of `schema.bind`."""
        measured = {*self.measured(), *self.compared()}
        return {"folder": self.hierarchies, "missing": self.missing, "ranges": self.ranges, "measured": measured}

    def tree_files(self) -> list[Path]:
        """Every tree file that this job may read."""
        named = [Path(column.hierarchy) for column in self.columns.values() if isinstance(column.hierarchy, str)]
        with suppress(OSError, ValueError):  # whoever reads the folder will say what is wrong with it
            return [*named, *(file for file in Path(self.hierarchies).iterdir() if file.is_file())] if self.hierarchies else named
        return named

    def files(self) -> list[Path]:
        """Every file that this job may read beside its source."""
        return [*self.tree_files(), *([Path(self.workload)] if isinstance(self.workload, str) else [])]

    def with_seed(self) -> Job:
        """This job with a seed: its own, or one drawn now from the system."""
        return self if self.seed is not None else self.model_copy(update={"seed": secrets.randbits(63)})

    # --- to text and back

    def to_dict(self) -> dict[str, Any]:
        """Nested and plain; settings left at their default are left out, the essential ones are not."""
        given = self.model_dump(mode="json", exclude_defaults=True, exclude={"columns", "promise"})
        columns = {
            name: {"role": column.role, **column.model_dump(mode="json", exclude_defaults=True, exclude_none=True)}
            for name, column in self.columns.items()
        }
        head = {"version": self.version, "method": self.method}
        return {**head, **given, "promise": self.promise.model_dump(mode="json", exclude_none=True), "columns": columns}

    def to_toml(self) -> str:
        return tomli_w.dumps(self.to_dict())

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    @classmethod
    def from_toml(cls, text: str) -> Job:
        return cls.build(_parse(text, tomllib.loads, "TOML"))

    @classmethod
    def from_json(cls, text: str) -> Job:
        return cls.build(_parse(text, json.loads, "JSON"))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a .toml or .json file; tree files are named relative to it, so that the folder can be moved."""
        file = Path(path)
        moved = Job.build(_relocated(self.to_dict(), lambda tree: os.path.relpath(tree, file.parent or ".")))
        try:
            file.write_text(moved.to_json() if file.suffix == ".json" else moved.to_toml(), encoding="utf-8")
        except OSError as error:
            raise MachineError(f"The job could not be saved to {file}: {error.strerror}.") from None


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


def require_job_file(file: Path, force: bool, suffixes: tuple[str, ...] = (".toml", ".json")) -> None:
    """Refuse, before any work is done, to save a job where it would overwrite something or could not be read again."""
    if file.suffix not in suffixes:
        raise RequestError(f"A job is saved as {' or '.join(suffixes)}, not as {file.name!r}.")
    if not file.parent.is_dir():
        raise RequestError(f"There is no folder {file.parent}. Create it first.")
    if os.path.lexists(file) and not force:
        raise RequestError(f"{file} exists. Choose another name, or replace it with force (--force).")


def _nested(base: Any) -> dict[str, Any]:
    """What a job is built from, as a nested dict of its own."""
    if isinstance(base, Job):
        return base.to_dict()
    if isinstance(base, Mapping):
        return _copy(base)
    if base is None:
        return {}
    if isinstance(base, (str, os.PathLike)):
        return _read(Path(base))
    raise RequestError(f"A job cannot be made from a {type(base).__name__}. Give a job, a dict or a file.")


def _not_unicode(nested: Mapping[str, Any], place: str = "") -> list[str]:
    """Settings that no file could hold: bytes of a command line that are no text come as lone surrogates."""
    problems = []
    for name, value in nested.items():
        here = f"{place}{name}"
        if isinstance(value, Mapping):
            problems += _not_unicode(value, f"{here}.")
        for text in (here, *(value if isinstance(value, (list, tuple)) else (value,))):
            if isinstance(text, str) and not text.isascii() and _UNPAIRED.search(text):
                message = _UNPAIRED.sub("?", here)
                problems.append(f"{message} holds bytes that are not text. Write it in Unicode; if it names a file, rename that.")
                break
    return problems


def _copy(nested: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _copy(value) if isinstance(value, Mapping) else value for key, value in nested.items()}


def _read(file: Path) -> dict[str, Any]:
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
    return _relocated(_parse(text, loads, syntax, str(file)), lambda tree: str(file.parent / tree))


def _parse(text: str, loads: Any, syntax: str, name: str = "The job") -> dict[str, Any]:
    try:
        parsed = loads(text)
    except ValueError as error:
        raise RequestError(f"{name} is not proper {syntax}: {error}") from None
    except RecursionError:
        raise RequestError(TOO_DEEP) from None
    if not isinstance(parsed, dict):
        raise RequestError(f"{name} is not a table of settings.")
    return parsed


def _relocated(nested: dict[str, Any], move: Any) -> dict[str, Any]:
    nested = _copy(nested)
    for name in ("hierarchies", "workload"):
        if isinstance(nested.get(name), str):
            nested[name] = move(nested[name])
    columns = nested.get("columns")
    for column in columns.values() if isinstance(columns, dict) else ():
        tree = column.get("hierarchy") if isinstance(column, dict) else None
        if isinstance(tree, str) and tree and not is_short(tree) and not is_misspelt(tree):
            column["hierarchy"] = tree_path(move(tree))
    return nested


def _method_mistakes(nested: Mapping[str, Any]) -> Iterable[str]:
    name, option = nested.get("method", "auto"), nested.get("option", {})
    method = METHODS.get(name) if isinstance(name, str) else None
    if method is None:
        yield f"There is no method {name!r}.{did_you_mean(str(name), METHODS)} Known: {', '.join(METHODS)}."
    elif isinstance(option, Mapping):
        try:
            method.options.model_validate(option)
        except ValidationError as error:
            yield from _sentences(error, method.options, method.name)


def _workload_mistakes(nested: dict[str, Any]) -> Iterable[str]:
    """A workload that stands in the job itself."""
    given = nested.get("workload")
    if isinstance(given, Workload):
        nested["workload"] = given.to_dict()
    elif isinstance(given, Mapping):
        try:
            nested["workload"] = Workload.load(given).to_dict()
        except RequestError as error:
            yield from error.problems


def _search_mistakes(job: Job) -> Iterable[str]:
    """What must not be asked of a search."""
    if job.rounds and job.algorithm.recodes_globally:
        message = "publishes one value alike everywhere, so its groups cannot be improved. Leave effort out, or ask for 0."
        yield f"{job.method} {message}"


def _objective_mistakes(nested: Mapping[str, Any]) -> Iterable[str]:
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


def _sentences(error: ValidationError, model: type[BaseModel], where: str = "setting") -> Iterable[str]:
    """pydantic's findings, each as one sentence that names the place, what is allowed, and the nearest right name."""
    for finding in error.errors(include_url=False):
        *path, last = takewhile(_is_setting, map(str, finding["loc"])) if finding["loc"] else [where]
        place = ".".join([*path, last])
        if finding["type"] == "extra_forbidden":
            elsewhere = " It belongs under [promise]." if not path and last in Promise.model_fields else None
            if model is Job:
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
    if model is Job and path[:1] == ["columns"]:
        return list(Column.model_fields)
    if model is Job and path[:1] == ["promise"]:
        return list(Promise.model_fields)
    return list(model.model_fields)
