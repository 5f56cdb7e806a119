"""delta-disclosure privacy (Brickell, Shmatikov 2008): every value is about as frequent in each group as in the table."""

from __future__ import annotations

from pydantic import Field

from kohort.schema.promises.definition import Definition, Parameters, Shares

STRICT = 1e-12  # a share must be strictly less than its limit, by more than a rounding error


def _bounds(promise: DeltaDisclosure, share: Shares) -> tuple[Shares, Shares]:
    delta = promise.delta or 0.0
    return share * 2**delta * (1 - STRICT), share * 2**-delta * (1 + STRICT)


DEFINITION = Definition(
    name="delta",
    paper="Brickell, Shmatikov, the cost of privacy, 2008",
    parameters="delta > 0",
    needs=("counts", "shares"),
    bounds=_bounds,
    distinct=lambda _promise, values: values,
)


class DeltaDisclosure(Parameters):
    """The parameter delta."""

    delta: float | None = Field(default=None, gt=0, allow_inf_nan=False)
