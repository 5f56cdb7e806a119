"""Variants: the methods to compare, each with its default settings or with given ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kohort.errors import RequestError, nearest
from kohort.job.job import Job
from kohort.methods import METHODS


@dataclass(frozen=True)
class Variant:
    """A method with settings, named as the user wrote it: `gccg`, `gccg:parts=4`, `mondrian:effort=1`."""

    name: str
    method: str
    settings: dict[str, Any] = field(default_factory=dict)
    """Options of the method, and `effort`."""

    @classmethod
    def read(cls, text: str) -> Variant:
        """Parse a method and its settings, which follow after colons.

        >>> Variant.read("gccg:parts=4")
        Variant(name='gccg:parts=4', method='gccg', settings={'parts': '4'})
        """
        method, *settings = text.split(":")
        if method not in METHODS:
            raise RequestError(f"There is no method {method!r}.{nearest(method, [*METHODS, 'all'])}")
        pairs = [setting.partition("=") for setting in settings]
        if not all(name and value for name, _equals, value in pairs):
            raise RequestError(
                f"{text!r} is not a method with settings. Write a setting as NAME=VALUE after a colon: gccg:parts=4 or "
                "mondrian:effort=1."
            )
        return cls(text, method, {name: value for name, _equals, value in pairs})

    def job(self, job: Job, k: int) -> Job:
        """Return the job with this method and k. The job's own options and effort apply only to the job's own method."""
        if job.method == self.method and not self.settings:
            return Job.build(job, k=k)
        facts = {name: setting for name, setting in job.to_dict().items() if name not in ("method", "option", "effort")}
        option = {name: value for name, value in self.settings.items() if name != "effort"}
        return Job.build(facts, k=k, method=self.method, option=option, effort=self.settings.get("effort"))


def variants_named(requested: str | Sequence[str]) -> list[Variant]:
    """Return the variants with these names, without duplicates. The name `all` means all methods."""
    names = [requested] if isinstance(requested, str) else list(requested)
    return [Variant.read(name) for name in dict.fromkeys(one for name in names for one in (METHODS if name == "all" else [name]))]


def k_values(k: Any) -> list[int]:
    """Return every k to try, each once, in order."""
    given = list(k) if isinstance(k, Iterable) else [k]
    if not all(type(one) is int for one in given):
        raise RequestError("k must be a whole number or a list of whole numbers: k=[5, 10].")
    return sorted(set(given))
