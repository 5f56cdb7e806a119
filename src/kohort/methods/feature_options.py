"""Option of the k-means methods: which columns they compare (El-Rashidy et al. 2011)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from kohort.encoding.points import Points
from kohort.methods.method import Options


class FeatureOptions(Options):
    """Options of the k-means methods."""

    features: Literal["quasi", "all"] = Field(
        default="quasi",
        description=(
            "columns to compare: only the quasi-identifiers, or the sensitive columns too, as in El-Rashidy et al. 2011. "
            "With `all`, the sensitive values in a group become more similar"
        ),
        examples=["all"],
    )


def uses_sensitive(options: FeatureOptions) -> bool:
    return options.features == "all"


def compared(points: Points, options: FeatureOptions) -> Points:
    """Return the points to compare. With `features=all` the sensitive columns are additional axes."""
    extra = points.extra
    if options.features == "quasi" or extra is None or not extra.axes:
        return points
    own = len(points.axes)
    exact = {**points.exact, **{own + axis: values for axis, values in extra.exact.items()}}
    codes = np.column_stack([points.codes, extra.codes])
    return Points(codes, points.axes + extra.axes, points.weights + extra.weights, exact)
