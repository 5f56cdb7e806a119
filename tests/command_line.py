"""Types and constants for tests that run `kohort ARGUMENTS` inside the test's process."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

RARE = "Xanthippe-4711"
RUN = "anonymize patients.csv -o out.csv"
ROLE_FLAGS = "--quasi age,sex --sensitive disease --identifier name --drop zip"


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Kohort = Callable[[str], Ran]
