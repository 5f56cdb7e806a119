"""Recursive (c,l)-diversity (Machanavajjhala et al. 2007): no value is much more frequent in a group than the rarer ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from pydantic import field_validator

from kohort.schema.promises.definition import NO_WAY_OUT, Definition, Parameters, TableCounts


def _shortfall(promise: RecursiveL, table: TableCounts) -> list[str]:
    if promise.recursive_l is None:
        return []
    l, factor = promise.recursive_l  # noqa: E741 - the papers call it l
    ordered = np.sort(table.counts)[::-1]
    tail = int(ordered[l - 1 :].sum())
    if ordered[0] < factor * tail:
        return []
    rarer = "another value" if l == 2 else f"a value other than the {l - 1} most frequent"
    problem = (
        f"recursive_l={l},{factor:g} {table.cannot_be_kept} in the whole table, {ordered[0]:,} {table.counted} have the most "
        f"frequent value. {tail:,} {table.counted} have {rarer}."
    )
    if tail:
        example = f"{l},{ordered[0] // tail + 1}"
        advice = f" Set the second number, c, to more than {ordered[0] / tail:.4g}, for example --recursive-l {example}."
        advice += " Or set a smaller first number, l." if l > 2 else ""
    elif len(ordered) == 1:
        advice = NO_WAY_OUT
    else:
        advice = f" It has {table.values}. Set the first number, l, to {len(ordered)} or less."
    return [problem + advice]


DEFINITION = Definition(
    name="recursive_l",
    paper="Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, l-diversity, 2007",
    parameters="l >= 2, c > 0",
    needs=("counts",),
    column_rules=lambda promise: {"recursive_l": promise.recursive_l.l, "recursive_c": promise.recursive_l.c},
    shortfall=_shortfall,
)


class Recursive(NamedTuple):
    """The parameters of recursive (c,l)-diversity."""

    l: int  # noqa: E741 - the papers call it l
    c: float


class RecursiveL(Parameters):
    """The parameter recursive_l, which consists of l and c."""

    recursive_l: Recursive | None = None

    @field_validator("recursive_l", mode="before")
    @classmethod
    def _two_numbers(cls, given: Any) -> Any:
        if given is None:
            return None
        if isinstance(given, Mapping) and set(given) == {"l", "c"}:
            given = given["l"], given["c"]
        if isinstance(given, str):
            given = given.split(",")
        try:
            whole, factor = given
            made = Recursive(int(str(whole)), float(factor))
        except (OverflowError, TypeError, ValueError):
            raise ValueError("must be two numbers, l and c, such as 3,2") from None
        if made.l < 2 or not 0 < made.c < float("inf"):
            raise ValueError("needs l of at least 2 and c greater than 0")
        return made
