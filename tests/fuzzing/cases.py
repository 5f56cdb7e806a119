"""Requests with their expected result, and valid requests to start from."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from tests.fuzzing.sources import QUASI

Verdict = Literal["right", "unclear", "wrong"]
Rng = random.Random
K = 3
ALL = ("anonymize", "audit", "inspect")
BY_NAME = ("anonymize", "audit")  # inspect needs no column names
FLAGS = tuple(f"--quasi {','.join(QUASI)} --sensitive disease --identifier name --other note --k {K} --seed 7".split())
OUTPUTS = ("out.csv", "out.tsv", "out.csv.gz", "out.txt.zst", "out.parquet", "out.arrow")


@dataclass(frozen=True)
class Case:
    """A request and its expected result."""

    title: str
    arguments: tuple[str, ...]
    verdict: Verdict
    source: str = "in.csv"
    makes: tuple[str, ...] = ()
    """Files that may be new or changed if the request succeeds."""
    encoding: str | None = None
    job: str | None = None
    """The file with the columns and k, if there are no flags for them."""
    machine: bool = False
    """Whether exit code 3 (an error of the machine) is allowed: a name that is too long, a link to itself."""

    @property
    def command(self) -> str:
        return self.arguments[0] if self.arguments else ""

    @property
    def output(self) -> str | None:
        return self.arguments[self.arguments.index("-o") + 1] if "-o" in self.arguments else None


def verdict_on(change: str, *, wrong: bool) -> Verdict:
    return "wrong" if wrong else "right" if change == "unchanged" else "unclear"


def request(rng: Rng, source: str, command: str = "anonymize") -> Case:
    """Return a request that is valid if the source is valid."""
    if command == "inspect":
        more, makes = rng.choice(
            [((), ()), (("-o", "job.toml"), ("job.toml",)), (("--trees", "new"), ("new",)), (("--json",), ())]
        )
        return Case("", ("inspect", source, *more), "right", source, makes)
    if command == "audit":
        return Case("", ("audit", source, "--quasi", "sex", "--k", "2", *rng.choice(((), ("--json",)))), "right", source)
    output = rng.choice(OUTPUTS)
    arguments = ("anonymize", source, "-o", output, *FLAGS, *rng.choice(((), ("--json",))))
    return Case("", arguments, "right", source, (output,))


def any_request(rng: Rng, source: str) -> Case:
    return request(rng, source, rng.choice(["anonymize", "anonymize", "anonymize", "audit", "inspect"]))
