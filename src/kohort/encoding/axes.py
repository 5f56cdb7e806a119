"""One axis = the ordered codes of one quasi-identifier. What a box costs and what it publishes are asked of the axis.

Code 0 is missing; 1, 2, ... are the values in order: numbers by size, leaves depth-first. A box is (low, high) in codes.
A box that mixes missing and present values has width 1 and publishes `*`. The axes themselves: `number_axis`, `date_axis`,
`tree_axis`; rows of codes on several axes: `points`.
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
    """The part of an axis that does not depend on its kind. Boxes come as arrays, one entry per box."""

    @property
    def name(self) -> str: ...

    @property
    def size(self) -> int:
        """Number of codes, missing included."""

    def width(self, low: NDArray[np.int64], high: NDArray[np.int64], measure: Measure, ends: Ends | None) -> NDArray[np.float64]:
        """Share of the axis that is published for each box, in [0, 1]."""

    def label(self, low: NDArray[np.int64], high: NDArray[np.int64], ends: Ends | None) -> pa.Array:
        """Published text of each box; null where all is missing."""

    def describe(self) -> str:
        """What was applied, in a few words."""


def with_missing(texts: pa.Array, low: NDArray[np.int64], high: NDArray[np.int64]) -> pa.Array:
    """`*` where a box mixes missing and present values, null where all is missing."""
    texts = pc.if_else(pa.array((low == 0) & (high > 0)), ROOT, texts)
    return pc.if_else(pa.array(high == 0), pa.scalar(None, pa.string()), texts)


def code_dtype(axes: Sequence[Axis]) -> np.dtype[np.unsignedinteger]:
    """The smallest unsigned type that holds every code of every axis."""
    return np.min_scalar_type(max((axis.size for axis in axes), default=1) - 1)
