"""An axis: the ordered codes of one quasi-identifier. It computes the width and the published text of a box.

Code 0 is missing. Codes 1, 2, ... are the values in order: numbers by size, the leaves of a tree depth-first. A box is a range
of codes (low, high). A box with both missing and present values has width 1 and is published as `*`.
The axes are in `number_axis`, `date_axis` and `tree_axis`. `points` has rows of codes on several axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kohort.schema.trees import ROOT
from kohort.schema.type_detection import Numbers

Measure = Literal["height", "leaf"]
Codes = NDArray[np.unsignedinteger]
Ends = tuple[Numbers, Numbers]


class Axis(Protocol):
    """What all types of axes have in common. Boxes are given as arrays, one entry per box."""

    @property
    def name(self) -> str: ...

    @property
    def size(self) -> int:
        """Number of codes, including code 0 for missing values."""

    def width(self, low: NDArray[np.int64], high: NDArray[np.int64], measure: Measure, ends: Ends | None) -> NDArray[np.float64]:
        """Return the width of each box as a share of the whole axis, in [0, 1].

        `ends` are the smallest and the largest true value of each box, for an axis whose codes are bins.
        """

    def label(self, low: NDArray[np.int64], high: NDArray[np.int64], ends: Ends | None) -> pa.Array:
        """Return the published text of each box; null if all its values are missing."""

    def describe(self) -> str:
        """Return a short description of the axis."""


def with_missing(texts: pa.Array, low: NDArray[np.int64], high: NDArray[np.int64]) -> pa.Array:
    """Replace texts by `*` where a box has missing and present values, and by null where all its values are missing."""
    texts = pc.if_else(pa.array((low == 0) & (high > 0)), ROOT, texts)
    return pc.if_else(pa.array(high == 0), pa.scalar(None, pa.string()), texts)


def code_dtype(axes: Sequence[Axis]) -> np.dtype[np.unsignedinteger]:
    """Return the smallest unsigned type that can hold every code of every axis."""
    return np.min_scalar_type(max((axis.size for axis in axes), default=1) - 1)
