"""The promises: one file each, with its definition, its parameters and its fast check.

k is about every row; the others are about one sensitive column each, so each column may have its own (`SensitivePromise`).
Where a person has several rows, all of them count persons: a value is counted once for each person who holds it. Start with
`definition`, then any promise. `kohort.constraints` binds promises to a table; `kohort.auditor.promise_checks` repeats every
check on the published text by SQL of its own.
"""

from __future__ import annotations

from kohort.schema.promises.alpha import DEFAULT
from kohort.schema.promises.beta_likeness import BetaKind
from kohort.schema.promises.definition import Definition, TableCounts
from kohort.schema.promises.promise import DEFINITIONS, SENSITIVE_PROMISES, SETTINGS, Promise, SensitivePromise
from kohort.schema.promises.recursive_l import Recursive
from kohort.schema.promises.t_closeness import Distance

__all__ = [
    "DEFAULT",
    "DEFINITIONS",
    "SENSITIVE_PROMISES",
    "SETTINGS",
    "BetaKind",
    "Definition",
    "Distance",
    "Promise",
    "Recursive",
    "SensitivePromise",
    "TableCounts",
]
