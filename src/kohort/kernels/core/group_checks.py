"""Which groups of a partition keep a promise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.core.promise_rules import Rules, Tally, Whole, clear, enter, may_stand, sort_present

ONE_SIDE = np.int64(0)  # of the tally: nothing is cut


@kernel
def group_stands(rules: Rules, tally: Tally, secrets: NDArray[np.int64], begin: Whole, end: Whole) -> bool:
    """Whether the rows begin..end as one group keep the promise; the tally comes and goes empty."""
    enter(rules, tally, secrets, begin, end, ONE_SIDE)
    sort_present(rules, tally)
    stands = may_stand(rules, tally, ONE_SIDE)
    clear(rules, tally, secrets, begin, end)
    return stands


@kernel
def standing(
    rules: Rules,
    tally: Tally,
    secrets: NDArray[np.int64],  # IN (rows, secrets), group by group
    first: NDArray[np.int64],  # IN (groups + 1): where each group begins
    stands: NDArray[np.bool_],  # OUT (groups)
) -> None:
    """Ask every group."""
    for group in range(first.size - 1):
        stands[group] = group_stands(rules, tally, secrets, first[group], first[group + 1])
