"""alpha of (alpha,k)-anonymity (Wong, Li, Fu, Wang 2006; Mohapatra, Patra): a maximum share for each sensitive value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic import field_validator

from kohort.schema.promises.definition import NO_WAY_OUT, Definition, Parameters, TableCounts

DEFAULT = "default"
"""The key in `alpha = {default = 0.5, HIV = 0.2}` for all values without their own limit."""


def _shortfall(promise: AlphaAnonymity, table: TableCounts) -> list[str]:
    default, named = promise.limits
    problems = []
    for limit in dict.fromkeys([default, *named.values()]):
        share = float(np.max(table.counts[table.limits == limit], initial=0)) / table.size
        if share > limit * (1 + 1e-12):
            least = math.ceil(share * 10_000) / 10_000
            problem = (
                f"alpha={limit:g} {table.cannot_be_kept} in the whole table, one value has {100 * share:.2f} % of the "
                f"{table.counted}. In any grouping, at least one group has this share or more."
            )
            problems.append(problem + (f" Set alpha to {least:g} or more." if least < 1 else NO_WAY_OUT))
    return problems


DEFINITION = Definition(
    name="alpha",
    paper="Wong, Li, Fu, Wang, (alpha,k)-anonymity, 2006; Mohapatra, Patra",
    parameters="0 < alpha < 1, one for all values or one for each value",
    needs=("size", "counts"),
    column_rules=lambda _promise: {"bounded": 1.0},
    shortfall=_shortfall,
)


class AlphaAnonymity(Parameters):
    """The parameter alpha."""

    alpha: float | dict[str, float] | None = None

    @field_validator("alpha", mode="before")
    @classmethod
    def _shares(cls, given: Any) -> Any:
        if given is None:
            return None
        if isinstance(given, Mapping):  # values are compared as text, also in a column of numbers
            given = {str(value): limit for value, limit in given.items()}
        limits = given if isinstance(given, dict) else {DEFAULT: given}
        if not limits or not all(isinstance(limit, (int, float)) and not isinstance(limit, bool) for limit in limits.values()):
            raise ValueError("must be a number, or a number for each value")
        if not all(0 < limit < 1 for limit in limits.values()):
            raise ValueError("must be greater than 0 and less than 1 (no release can keep 0, and 1 promises nothing)")
        return given

    @property
    def limits(self) -> tuple[float, dict[str, float]]:
        """The default alpha, and the alpha of each value with its own limit; 1 means no limit."""
        if isinstance(self.alpha, dict):
            named = dict(self.alpha)
            return named.pop(DEFAULT, 1.0), named
        return (1.0 if self.alpha is None else self.alpha), {}
