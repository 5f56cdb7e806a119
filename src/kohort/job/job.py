"""Job: what the user asks for. The Python API, the command line and (later) the web page all build one of these.

A keyword argument, a command-line flag and a key of the TOML file have the same name and meaning. Per-column settings can
be given flat (`weight={"age": 2}`) or under their column (`[columns.age] weight = 2`): flat ones are folded into columns.
"""

from __future__ import annotations

import json
import os
import secrets
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from kohort.encoding.points import Objective
from kohort.errors import MachineError, RequestError
from kohort.job.files import TOO_DEEP, copied, parsed, read_job_file, relocated
from kohort.job.settings import apply_preset, fold
from kohort.job.validation import (
    column_mistakes,
    memory_size,
    method_mistakes,
    not_unicode,
    objective_mistakes,
    promise_mistakes,
    sentences,
    workload_mistakes,
)
from kohort.methods import METHODS, Method, Options
from kohort.schema.columns import ROLES, Column, Ranges, Role
from kohort.schema.promises import Promise, SensitivePromise

EngineName = Literal["auto", "memory", "disk", "spark"]
PresetName = Literal["internal", "trusted", "public", "high-risk"]
RowOrder = Literal["canonical", "given"]
Suppressed = Literal["leave", "star"]


class Job(BaseModel):
    """A frozen, validated request. Build it with `Job.build`, which reports every mistake at once."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    method: str = "auto"
    effort: int | None = Field(default=None, ge=0, le=1000)
    objective: Objective = "leaf"
    label: str | None = None
    workload: str | dict[str, Any] | None = None
    option: dict[str, bool | int | float | str] = Field(default_factory=dict)
    seed: int | None = Field(default=None, ge=0, lt=2**63)
    missing: tuple[str, ...] = ()
    encoding: str | None = None
    hierarchies: str | None = None
    keep_order: bool = False
    row_order: RowOrder = "canonical"
    preset: PresetName | None = None
    block: int = Field(default=20_000, ge=0)
    ranges: Ranges = "tight"
    suppress: float = Field(default=0, ge=0, le=1)
    suppressed: Suppressed = "leave"
    engine: EngineName = "auto"
    memory: str = "2GiB"
    master: str | None = None
    threads: int | None = Field(default=None, ge=1, le=1024)
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
                *not_unicode(nested),
                *method_mistakes(nested),
                *objective_mistakes(nested),
                *workload_mistakes(nested),
            ]
            problems += [*column_mistakes(nested), *promise_mistakes(nested), *apply_preset(nested)]
            job = cls.model_validate(nested)
            problems += [] if problems else _search_mistakes(job)
        except ValidationError as error:
            raise RequestError([*problems, *sentences(error, cls)]) from None
        except RecursionError:
            raise RequestError(TOO_DEEP) from None
        if problems:
            raise RequestError(problems)
        option = METHODS[job.method].options.model_validate(job.option).model_dump(exclude_unset=True)
        return job.model_copy(update={"option": option})  # saved by type: `--option relaxed=true` as a truth value

    # --- asking

    def __repr__(self) -> str:
        """Short, and without the values of trees."""
        names = {role: [name for name, column in self.columns.items() if column.role == role] for role in ROLES}
        roles = "".join(f"{role}={named}, " for role, named in names.items() if named)
        promises = [f"k={self.promise.k}", *(f"{name}={getattr(self.promise, name)}" for name in self.promise.requested)]
        return f"Job({roles}{', '.join(promises)}, method={self.method!r})"

    __str__ = __repr__

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
        """What binding the columns to a table needs to know beside them: the settings of `kohort.schema.columns.bind`."""
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
        return cls.build(parsed(text, tomllib.loads, "TOML"))

    @classmethod
    def from_json(cls, text: str) -> Job:
        return cls.build(parsed(text, json.loads, "JSON"))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a .toml or .json file; tree files are named relative to it, so that the folder can be moved."""
        file = Path(path)
        moved = Job.build(relocated(self.to_dict(), lambda tree: os.path.relpath(tree, file.parent or ".")))
        try:
            file.write_text(moved.to_json() if file.suffix == ".json" else moved.to_toml(), encoding="utf-8")
        except OSError as error:
            raise MachineError(f"The job could not be saved to {file}: {error.strerror}.") from None


def _nested(base: Any) -> dict[str, Any]:
    """What a job is built from, as a nested dict of its own."""
    if isinstance(base, Job):
        return base.to_dict()
    if isinstance(base, Mapping):
        return copied(base)
    if base is None:
        return {}
    if isinstance(base, (str, os.PathLike)):
        return read_job_file(Path(base))
    raise RequestError(f"A job cannot be made from a {type(base).__name__}. Give a job, a dict or a file.")


def _search_mistakes(job: Job) -> Iterable[str]:
    """What must not be asked of a search."""
    if job.rounds and job.algorithm.recodes_globally:
        message = "publishes one value alike everywhere, so its groups cannot be improved. Leave effort out, or ask for 0."
        yield f"{job.method} {message}"
