"""Distinct l-diversity (Machanavajjhala et al. 2007): different sensitive values in every group."""

from __future__ import annotations

from pydantic import Field

from kohort.schema.promises.definition import NO_WAY_OUT, Definition, Parameters, TableCounts


def _shortfall(promise: DistinctL, table: TableCounts) -> list[str]:
    held = len(table.counts)
    if promise.l is None or held >= promise.l:
        return []
    more = NO_WAY_OUT if held == 1 else f" Ask for l={held} or less."
    return [f"l={promise.l} {table.cannot_be_kept} the table holds {table.values}.{more}"]


DEFINITION = Definition(
    name="l",
    meaning="every class holds at least l different sensitive values",
    paper="Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, l-diversity, 2007",
    parameters="l >= 2",
    needs=("counts",),
    growing_keeps=True,
    distinct=lambda promise, _values: promise.l,
    shortfall=_shortfall,
)


class DistinctL(Parameters):
    """l."""

    l: int | None = Field(default=None, ge=2)  # noqa: E741 - its name in every paper
