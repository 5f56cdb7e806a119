"""Rows packed into 64-bit words: the codes of the axes, and what a promise must know of each row, move together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel


class BitLayout(NamedTuple):
    """Where each code lies in a packed row: the axes first, then the sensitive values, the person and the pairs."""

    axes: int
    word: NDArray[np.int64]
    shift: NDArray[np.uint64]
    mask: NDArray[np.uint64]


@kernel
def pack(codes: NDArray[np.integer], layout: BitLayout, begin: int, words: NDArray[np.uint64]) -> None:
    """Pack (rows, columns) codes into (words, rows) as the layout's columns from `begin` on; the bits come in as zeros."""
    rows, columns = codes.shape
    for j in range(columns):
        column, shift = words[layout.word[begin + j]], layout.shift[begin + j]
        for i in range(rows):
            column[i] |= np.uint64(codes[i, j]) << shift
