"""Check the quotes and line ends of a CSV file.

CSV readers do not report errors in them. After a stray quote they read the following text as one long cell, and they disagree
on the meaning of a carriage return without a newline.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel

FIELD_START, UNQUOTED, QUOTED, AFTER_QUOTE, LINE_END = 0, 1, 2, 3, 4
QUOTE, NEWLINE, RETURN = 34, 10, 13


@kernel
def check_marks(
    data: NDArray[np.uint8],  # IN: the next bytes of the file
    delimiter: int,
    state: NDArray[np.int64],  # IN OUT: position in a cell (FIELD_START, ...), lines ended, line of the last opening quote
) -> bool:
    """Scan the next bytes of a file. Return False at the first misplaced mark, and leave the state at that byte in `state`."""
    here, line, opened = state[0], state[1], state[2]
    for i in range(data.size):
        byte = data[i]
        if here == LINE_END and byte != NEWLINE:
            state[0], state[1], state[2] = here, line, opened
            return False
        if here == QUOTED:
            if byte == QUOTE:
                here = AFTER_QUOTE
        elif byte == QUOTE and here != UNQUOTED:
            if here == FIELD_START:
                opened = line
            here = QUOTED
        elif byte == RETURN:
            here = LINE_END
        elif byte in (delimiter, NEWLINE):
            here = FIELD_START
        elif here == AFTER_QUOTE:
            state[0], state[1], state[2] = here, line, opened
            return False
        else:
            here = UNQUOTED
        line += byte == NEWLINE
    state[0], state[1], state[2] = here, line, opened
    return True
