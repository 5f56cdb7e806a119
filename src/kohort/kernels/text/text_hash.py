"""Hashes of texts as 64-bit numbers, computed from eight bytes at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.core.randomness import mixed


@kernel
def hash_texts(
    indices: NDArray[np.int64],  # IN (texts + 1): where each text begins in `data`, and the end of the last one
    data: NDArray[np.uint8],  # IN: UTF-8 bytes of all texts
    hashes: NDArray[np.uint64],  # OUT (texts)
) -> None:
    """Hash each text. The result is the same on machines of any byte order.

    The length is part of the hash, so that the hash of the empty text differs from 0, which stands for a missing value.
    """
    for text in range(indices.size - 1):
        begin, end = indices[text], indices[text + 1]
        state, word, filled = np.uint64(0), np.uint64(0), np.uint64(0)
        for at in range(begin, end):
            word |= np.uint64(data[at]) << filled
            filled += np.uint64(8)
            if filled == np.uint64(64):
                state = mixed(state ^ word)
                word, filled = np.uint64(0), np.uint64(0)
        state = mixed(state ^ word)
        hashes[text] = mixed(state ^ np.uint64(end - begin + 1))
