"""Which groups of a partition keep a promise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.promises import Rules, Tally, clear, enter, forget, may_stand, sort_present


@kernel
def count_group(rules: Rules, tally: Tally, secrets: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
    """Take these rows into an empty tally, on side 0."""
    for i in range(rows.size):
        enter(rules, tally, secrets[rows[i]], 0)
    sort_present(rules, tally)


@kernel
def forget_group(rules: Rules, tally: Tally, secrets: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
    """Leave the tally empty."""
    clear(rules, tally)
    if rules.persons:
        for i in range(rows.size):
            forget(rules, tally, secrets[rows[i]])


@kernel
def group_stands(rules: Rules, tally: Tally, secrets: NDArray[np.int64], rows: NDArray[np.int64]) -> bool:
    """Whether these rows as one group keep the promise; the tally comes and goes empty."""
    count_group(rules, tally, secrets, rows)
    stands = may_stand(rules, tally, 0)
    forget_group(rules, tally, secrets, rows)
    return stands


@kernel
def standing(
    rules: Rules,
    tally: Tally,
    secrets: NDArray[np.int64],  # IN (rows, secrets)
    order: NDArray[np.int64],  # IN the rows, group by group
    first: NDArray[np.int64],  # IN (groups + 1): where each group begins in `order`
    stands: NDArray[np.bool_],  # OUT (groups)
) -> None:
    """Ask every group."""
    for group in range(first.size - 1):
        stands[group] = group_stands(rules, tally, secrets, order[first[group] : first[group + 1]])
