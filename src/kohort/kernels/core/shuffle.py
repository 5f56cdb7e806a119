"""Put rows into a random order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel


@kernel
def shuffle(
    rows: NDArray[np.int64],  # IN OUT
    words: NDArray[np.uint64],  # IN: one random word per row; must stay secret, because the order can be computed from them
) -> None:
    """Shuffle rows (Fisher, Yates). All orders are equally likely, except for rounding: 53 bits of each word are used."""
    for i in range(rows.size - 1, 0, -1):
        fraction = np.float64(words[i] >> np.uint64(11)) * 2.0**-53
        j = np.int64(fraction * (i + 1))
        rows[i], rows[j] = rows[j], rows[i]
