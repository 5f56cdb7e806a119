"""beta-likeness (Cao, Karras 2012): no sensitive value is much more frequent in a group than in the table."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from kohort.schema.promises.definition import Definition, Parameters, Shares

ROUNDING = 1e-12  # relative tolerance for rounding errors in a limit

BetaKind = Literal["enhanced", "basic"]


def _bounds(promise: BetaLikeness, share: Shares) -> tuple[Shares, Shares]:
    gain = np.full(len(share), promise.beta)
    if promise.beta_kind != "basic":
        gain = np.minimum(gain, -np.log(np.maximum(share, np.finfo(float).tiny)))
    return share * (1 + gain) * (1 + ROUNDING), np.zeros(len(share))


DEFINITION = Definition(
    name="beta",
    paper="Cao, Karras, publishing microdata with a robust privacy guarantee, 2012",
    parameters="beta > 0; beta_kind enhanced (beta is also at most -ln of the value's share in the table) or basic",
    needs=("counts", "shares"),
    bounds=_bounds,
)


class BetaLikeness(Parameters):
    """The parameters beta and beta_kind (enhanced or basic)."""

    beta: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    beta_kind: BetaKind | None = None
