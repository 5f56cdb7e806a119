"""Entropy l-diversity (Machanavajjhala et al. 2007): the entropy of each group is at least that of l equally frequent values."""

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
    problem = f"entropy_l={promise.entropy_l:g} {table.cannot_be_kept} in the whole table,"
    if most <= 1:
        return [f"{problem} all or almost all {table.counted} have the same value.{NO_WAY_OUT}"]
    mixed = f"its values are only as mixed as {most:g} equally frequent values, and not every group can be more mixed."
    return [f"{problem} {mixed} Set entropy_l to {most:g} or less."]


DEFINITION = Definition(
    name="entropy_l",
    paper="Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, l-diversity, 2007",
    parameters="l > 1",
    needs=("counts",),
    column_rules=lambda promise: {"entropy": math.log(promise.entropy_l)},
    shortfall=_shortfall,
)


class EntropyL(Parameters):
    """The parameter entropy_l."""

    entropy_l: float | None = Field(default=None, gt=1, allow_inf_nan=False)
