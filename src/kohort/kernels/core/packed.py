"""Rows packed into 64-bit words. The codes of a row and the values that promises need are moved together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel


class BitLayout(NamedTuple):
    """Bit positions of each column in a packed row: first the axes, then the sensitive values, the person and the pairs."""

    axes: int  # number of axes
    word: NDArray[np.int64]  # per column: the word that holds it
    shift: NDArray[np.uint64]  # per column: its lowest bit in the word
    mask: NDArray[np.uint64]  # per column: ones for each of its bits, before the shift


@kernel
def pack(codes: NDArray[np.integer], layout: BitLayout, begin: int, words: NDArray[np.uint64]) -> None:
    """Pack (rows, columns) codes into (words, rows), as the columns of the layout from `begin` on.

    The bits of these columns must be zero before the call.
    """
    rows, columns = codes.shape
    for j in range(columns):
        column, shift = words[layout.word[begin + j]], layout.shift[begin + j]
        for i in range(rows):
            column[i] |= np.uint64(codes[i, j]) << shift
