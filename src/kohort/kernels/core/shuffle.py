"""A random order of rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel


@kernel
def shuffle(
    rows: NDArray[np.int64],  # IN OUT
    words: NDArray[np.uint64],  # IN: one random word per row; who knows them knows the order
) -> None:
    """Fisher and Yates: every order equally likely, up to the 2^-53 of a random word's fraction."""
    for i in range(rows.size - 1, 0, -1):
        fraction = np.float64(words[i] >> np.uint64(11)) * 2.0**-53
        j = np.int64(fraction * (i + 1))
        rows[i], rows[j] = rows[j], rows[i]
