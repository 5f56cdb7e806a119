"""Job: the settings of one run. The Python functions and the command line both build one.

A keyword argument, a command-line flag and a key of the TOML file have the same name and meaning
(`kohort.schema.setting_texts` says what each means). Settings of a column can be given flat (`weight={"age": 2}`) or under their
column (`[columns.age] weight = 2`). `Job.build` moves flat ones to their columns.
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
    """The validated settings of one run. A job cannot be changed; `Job.build` makes one from another.

    The fields are the settings that `help(kohort.anonymize)` explains. Promises are in `promise`, columns with their roles in
    `columns`.

    Examples
    --------
    >>> import kohort as kh
    >>> job = kh.Job.build(quasi=["age", "zip"], sensitive="disease", k=10)
    >>> job
    Job(quasi=['age', 'zip'], sensitive=['disease'], k=10, method='auto')
    >>> print(kh.Job.build(job, l=3).to_toml())
    version = 1
    method = "auto"
    <BLANKLINE>
    [promise]
    l = 3
    k = 10
    <BLANKLINE>
    [columns.age]
    role = "quasi"
    <BLANKLINE>
    [columns.zip]
    role = "quasi"
    <BLANKLINE>
    [columns.disease]
    role = "sensitive"
    <BLANKLINE>
    """

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
        """Build a job from a job, a nested dict or a TOML or JSON file, and change it by settings.

        Parameters
        ----------
        base : Job, dict or path, optional
            Settings to start from.
        **settings
            Settings to change or add, as in `kohort.anonymize`.

        Returns
        -------
        Job
            The complete job.

        Raises
        ------
        RequestError
            A setting is wrong. The message lists every mistake.

        Examples
        --------
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
        return job.model_copy(update={"option": option})  # with its type: `--option relaxed=true` becomes a truth value

    # --- what the settings mean

    def __repr__(self) -> str:
        """Return roles, promises and method in one line, without the values of trees."""
        names = {role: [name for name, column in self.columns.items() if column.role == role] for role in ROLES}
        roles = "".join(f"{role}={named}, " for role, named in names.items() if named)
        promises = [f"k={self.promise.k}", *(f"{name}={getattr(self.promise, name)}" for name in self.promise.requested)]
        return f"Job({roles}{', '.join(promises)}, method={self.method!r})"

    __str__ = __repr__

    @property
    def memory_bytes(self) -> int:
        """The memory limit in bytes."""
        return memory_size(self.memory)

    @property
    def algorithm(self) -> Method:
        """The method object that `method` names."""
        return METHODS[self.method]

    @property
    def rounds(self) -> int:
        """Number of rounds of improvement: `effort`, or the default of the method."""
        return self.algorithm.effort if self.effort is None else self.effort

    def method_options(self) -> Options:
        """Return the options of the method, those not given at their defaults."""
        return self.algorithm.options.model_validate(self.option)

    def names(self, role: Role) -> list[str]:
        """Return the names of the columns with this role."""
        return [name for name, column in self.columns.items() if column.role == role]

    def sensitive_promises(self) -> dict[str, SensitivePromise]:
        """Return the promises about each sensitive column."""
        return {name: self.columns[name].over(self.promise) for name in self.names("sensitive")}

    def measured(self) -> list[str]:
        """Return the sensitive columns for which t measures distances by an order or a tree."""
        return [
            name
            for name, requested in self.sensitive_promises().items()
            if requested.t is not None and requested.distance != "equal"
        ]

    def compared(self) -> list[str]:
        """Return the sensitive columns that the method itself reads."""
        return self.names("sensitive") if self.algorithm.uses_sensitive(self.method_options()) else []

    def binding(self) -> dict[str, Any]:
        """Return the arguments of `kohort.schema.columns.bind` that come from the job."""
        measured = {*self.measured(), *self.compared()}
        return {"folder": self.hierarchies, "missing": self.missing, "ranges": self.ranges, "measured": measured}

    def tree_files(self) -> list[Path]:
        """Return every tree file that a run of this job may read."""
        named = [Path(column.hierarchy) for column in self.columns.values() if isinstance(column.hierarchy, str)]
        with suppress(OSError, ValueError):  # the code that reads the folder reports the error
            return [*named, *(file for file in Path(self.hierarchies).iterdir() if file.is_file())] if self.hierarchies else named
        return named

    def files(self) -> list[Path]:
        """Return every file that a run of this job may read, except its source."""
        return [*self.tree_files(), *([Path(self.workload)] if isinstance(self.workload, str) else [])]

    def with_seed(self) -> Job:
        """Return this job with a seed: its own, or a random one from the operating system."""
        return self if self.seed is not None else self.model_copy(update={"seed": secrets.randbits(63)})

    # --- reading and writing

    def to_dict(self) -> dict[str, Any]:
        """Return the job as a nested dict. Settings at their default are left out, except version, method, k and roles."""
        given = self.model_dump(mode="json", exclude_defaults=True, exclude={"columns", "promise"})
        columns = {
            name: {"role": column.role, **column.model_dump(mode="json", exclude_defaults=True, exclude_none=True)}
            for name, column in self.columns.items()
        }
        head = {"version": self.version, "method": self.method}
        return {**head, **given, "promise": self.promise.model_dump(mode="json", exclude_none=True), "columns": columns}

    def to_toml(self) -> str:
        """Return the job as TOML, the format of job files."""
        return tomli_w.dumps(self.to_dict())

    def to_json(self) -> str:
        """Return the job as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    @classmethod
    def from_toml(cls, text: str) -> Job:
        """Build a job from TOML text."""
        return cls.build(parsed(text, tomllib.loads, "TOML"))

    @classmethod
    def from_json(cls, text: str) -> Job:
        """Build a job from JSON text."""
        return cls.build(parsed(text, json.loads, "JSON"))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the job to a .toml or .json file. Paths in it are relative to that file, so that the folder can be moved."""
        file = Path(path)
        moved = Job.build(relocated(self.to_dict(), lambda tree: os.path.relpath(tree, file.parent or ".")))
        try:
            file.write_text(moved.to_json() if file.suffix == ".json" else moved.to_toml(), encoding="utf-8")
        except OSError as error:
            raise MachineError(f"kohort could not save the job to {file}: {error.strerror}.") from None


def _nested(base: Any) -> dict[str, Any]:
    """Return a copy of what a job is built from, as a nested dict."""
    if isinstance(base, Job):
        return base.to_dict()
    if isinstance(base, Mapping):
        return copied(base)
    if base is None:
        return {}
    if isinstance(base, (str, os.PathLike)):
        return read_job_file(Path(base))
    raise RequestError(
        f"kohort cannot read a job from a {type(base).__name__}. Give a Job, a dict, or the path of a TOML or JSON file."
    )


def _search_mistakes(job: Job) -> Iterable[str]:
    """Return settings of the search that exclude each other."""
    if job.rounds and job.algorithm.recodes_globally:
        yield (
            f"effort={job.rounds} does not work with the method {job.method}: it generalises equal values in the same way "
            "everywhere. Leave effort out, or set it to 0."
        )
