"""Which columns the methods of paper 004 compare."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from kohort.encoding.points import Points
from kohort.methods.method import Options


class FeatureOptions(Options):
    """Options of the methods that cluster by features."""

    features: Literal["quasi", "all"] = Field(
        default="quasi",
        description="what is compared: quasi-identifiers, or the sensitive columns too (paper 004), which makes classes alike",
        examples=["all"],
    )


def uses_sensitive(options: FeatureOptions) -> bool:
    return options.features == "all"


def compared(points: Points, options: FeatureOptions) -> Points:
    """The points, with the sensitive columns as further axes if they are asked for."""
    extra = points.extra
    if options.features == "quasi" or extra is None or not extra.axes:
        return points
    own = len(points.axes)
    exact = {**points.exact, **{own + axis: values for axis, values in extra.exact.items()}}
    codes = np.column_stack([points.codes, extra.codes])
    return Points(codes, points.axes + extra.axes, points.weights + extra.weights, exact)
