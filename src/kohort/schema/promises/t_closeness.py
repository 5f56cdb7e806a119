"""t-closeness (Li, Li, Venkatasubramanian 2007): the sensitive values of each group are distributed as in the table."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kohort.schema.promises.definition import Definition, Parameters

Distance = Literal["equal", "ordered", "tree"]

DEFINITION = Definition(
    name="t",
    paper="Li, Li, Venkatasubramanian, t-closeness, 2007",
    parameters="0 < t < 1; distance equal, ordered or tree",
    needs=("counts", "shares"),
    column_rules=lambda promise: {"t": promise.t},
)


class TCloseness(Parameters):
    """The parameters t and t_distance (how the distance of two values is measured)."""

    t: Annotated[float, Field(gt=0, lt=1)] | None = None
    t_distance: Distance | None = None

    @property
    def distance(self) -> Distance:
        """How the distance of two values is measured."""
        return self.t_distance or "equal"
