"""Recursive (c,l)-diversity (Machanavajjhala et al. 2007): no sensitive value far more frequent in a group than the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from pydantic import field_validator

from kohort.schema.promises.definition import Definition, Parameters, TableCounts


def _shortfall(promise: RecursiveL, table: TableCounts) -> list[str]:
    if promise.recursive_l is None:
        return []
    many, factor = promise.recursive_l
    ordered = np.sort(table.counts)[::-1]
    tail = int(ordered[many - 1 :].sum())
    if ordered[0] < factor * tail:
        return []
    problem = (
        f"recursive_l={many},{factor:g} {table.cannot_be_kept} in the table the most frequent value is held by {ordered[0]} "
    )
    problem += f"{table.who}, all from number {many} on by {tail}."
    more = f" Ask for a c above {ordered[0] / tail:.4g}, or a smaller l." if tail else f" It holds {table.values}."
    return [problem + more]


DEFINITION = Definition(
    name="recursive_l",
    meaning="in a class the most frequent value is rarer than c times all from the l-th most frequent on",
    paper="Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, l-diversity, 2007",
    parameters="l >= 2, c > 0",
    needs=("counts",),
    column_rules=lambda promise: {"recursive_l": promise.recursive_l.l, "recursive_c": promise.recursive_l.c},
    shortfall=_shortfall,
)


class Recursive(NamedTuple):
    """The parameters of recursive (c,l)-diversity."""

    l: int  # noqa: E741 - its name in every paper
    c: float


class RecursiveL(Parameters):
    """l and c."""

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
            raise ValueError("must be two numbers, l and c: 3,2") from None
        if made.l < 2 or not 0 < made.c < float("inf"):
            raise ValueError("needs an l of at least 2 and a c above 0")
        return made
