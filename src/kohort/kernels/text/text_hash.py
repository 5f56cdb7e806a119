"""Texts as 64-bit numbers, eight bytes at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.core.randomness import mixed


@kernel
def hash_texts(
    indices: NDArray[np.int64],  # IN (texts + 1): where each text begins in the bytes
    data: NDArray[np.uint8],  # IN
    hashes: NDArray[np.uint64],  # OUT
) -> None:
    """Bytes enter low end first whatever the machine, then the length: the empty text is not the missing one."""
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
