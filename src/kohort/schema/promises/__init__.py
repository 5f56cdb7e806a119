"""The promises: one file for each, with its definition, its parameters and its fast check.

The promise k applies to every row. Each other promise applies to one sensitive column, so each column may have its own
(`SensitivePromise`). If a person can have several rows, all promises count people: a value counts once for each person who has
it. Start with `definition`, then read any promise. `kohort.constraints` applies promises to a table.
`kohort.auditor.promise_checks` repeats every check on the published text with separate SQL.
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
