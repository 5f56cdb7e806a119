"""Distinct l-diversity (Machanavajjhala et al. 2007): at least l different sensitive values in every group."""

from __future__ import annotations

from pydantic import Field

from kohort.schema.promises.definition import NO_WAY_OUT, Definition, Parameters, TableCounts


def _shortfall(promise: DistinctL, table: TableCounts) -> list[str]:
    found = len(table.counts)
    if promise.l is None or found >= promise.l:
        return []
    advice = NO_WAY_OUT if found == 1 else f" Set l to {found} or less."
    return [f"l={promise.l} {table.cannot_be_kept} it has {table.values} in the whole table.{advice}"]


DEFINITION = Definition(
    name="l",
    paper="Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, l-diversity, 2007",
    parameters="l >= 2",
    needs=("counts",),
    growing_keeps=True,
    distinct=lambda promise, _values: promise.l,
    shortfall=_shortfall,
)


class DistinctL(Parameters):
    """The parameter l."""

    l: int | None = Field(default=None, ge=2)  # noqa: E741 - the papers call it l
