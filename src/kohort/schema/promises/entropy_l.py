"""Entropy l-diversity (Machanavajjhala et al. 2007): sensitive values of a group as mixed as l equally frequent ones."""

from __future__ import annotations

import math

import numpy as np
from pydantic import Field

from kohort.schema.promises.definition import NO_WAY_OUT, Definition, Parameters, TableCounts


def _shortfall(promise: EntropyL, table: TableCounts) -> list[str]:
    counts, total = table.counts, table.counts.sum()
    effective = math.exp(-float(np.sum(counts / total * np.log(np.maximum(counts, 1) / total))))
    if promise.entropy_l is None or effective >= promise.entropy_l * (1 - 1e-12):
        return []
    most = math.floor(effective * 1_000) / 1_000
    mixed = f"in the table its values are as mixed as {most:g} equally frequent ones."
    more = f" Ask for {most:g} or less." if most > 1 else NO_WAY_OUT
    return [f"entropy_l={promise.entropy_l:g} {table.cannot_be_kept} {mixed}{more}"]


DEFINITION = Definition(
    name="entropy_l",
    meaning="the entropy of a class's sensitive values is at least log(l), that of l equally frequent ones",
    paper="Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, l-diversity, 2007",
    parameters="l > 1",
    needs=("counts",),
    column_rules=lambda promise: {"entropy": math.log(promise.entropy_l)},
    shortfall=_shortfall,
)


class EntropyL(Parameters):
    """l by entropy."""

    entropy_l: float | None = Field(default=None, gt=1, allow_inf_nan=False)
