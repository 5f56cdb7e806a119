"""Check which groups of a partition satisfy the promises."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.core.promise_rules import Rules, Tally, Whole, clear, enter, side_is_valid, sort_present

ONE_SIDE = np.int64(0)  # a tally has two sides for cuts; here nothing is cut


@kernel
def group_is_valid(rules: Rules, tally: Tally, sensitive: NDArray[np.int64], begin: Whole, end: Whole) -> bool:
    """Return whether the rows begin..end as one group satisfy the promises. The tally must be empty and is empty again after."""
    enter(rules, tally, sensitive, begin, end, ONE_SIDE)
    sort_present(rules, tally)
    valid = side_is_valid(rules, tally, ONE_SIDE)
    clear(rules, tally, sensitive, begin, end)
    return valid


@kernel
def check_groups(
    rules: Rules,
    tally: Tally,
    sensitive: NDArray[np.int64],  # IN (rows, sensitive), group by group
    first: NDArray[np.int64],  # IN (groups + 1): where each group begins
    valid: NDArray[np.bool_],  # OUT (groups)
) -> None:
    """Check every group."""
    for group in range(first.size - 1):
        valid[group] = group_is_valid(rules, tally, sensitive, first[group], first[group + 1])
