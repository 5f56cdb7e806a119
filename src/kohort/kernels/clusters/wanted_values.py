"""Find the sensitive values that bring a group closer to the promises that it does not satisfy yet."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.core.promise_rules import (
    BOUNDED,
    ENTROPY,
    LEAST,
    MOST,
    MOST_OF_SIZE,
    RECURSIVE_L,
    SHARE,
    Rules,
    T,
    Tally,
    distance_to_table,
    has_no_favourite,
    is_mixed,
    is_within_bounds,
)

SIDE = np.int64(0)
NOISE = 1e-11


@kernel
def mark_wanted(rules: Rules, tally: Tally, wanted: NDArray[np.bool_]) -> None:
    """Mark the values of which one more row improves their column, or at least does not harm it.

    Too few different values: values that the group does not have. A share is out of bounds: values whose share may still grow,
    or, if a share is too small, values that are rarer here than in the table. Too uneven: values that are not the most frequent.
    Too far from the table: values that are rarer here than in the table.
    """
    columns = rules.first.size - 1
    for c in range(columns):
        begin, end = rules.first[c], rules.first[c + 1]
        size, total = tally.sums[SIDE, 0], tally.sums[SIDE, 1 + c]
        few = tally.sums[SIDE, 1 + columns + c] < rules.least_distinct[c]
        bounds = rules.of_column[c, BOUNDED] > 0 and not is_within_bounds(rules, tally, SIDE, c)
        uneven = (rules.of_column[c, ENTROPY] >= 0 and not is_mixed(rules, tally, SIDE, c)) or (
            rules.of_column[c, RECURSIVE_L] > 0 and not has_no_favourite(rules, tally, SIDE, c)
        )
        far = rules.of_column[c, T] >= 0 and distance_to_table(rules, tally, SIDE, c) > rules.of_column[c, T] + NOISE
        most, rare = np.int64(0), False
        for value in range(begin, end):
            most = max(most, tally.counts[SIDE, value])
            rare |= tally.counts[SIDE, value] > 0 and tally.counts[SIDE, value] < rules.of_value[value, LEAST] * total
        for value in range(begin, end):
            count, limits = tally.counts[SIDE, value], rules.of_value[value]
            scarce = count < limits[SHARE] * total
            room = count + 1 <= limits[MOST_OF_SIZE] * (size + 1) and count + 1 <= limits[MOST] * (total + 1)
            wanted[value] = (
                (not few or count == 0)
                and (not bounds or (scarce if rare else room))
                and (not uneven or count < most)
                and (not far or scarce)
            )
