"""Form clusters of a row and its nearest rows, in the order of the pool."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel
from kohort.kernels.clusters.free_records import FREE, OUT, TAKEN, FreeRecords, compact, give_back, look_up_all, set_box
from kohort.kernels.clusters.grow_group import GrowingGroup, admit, cheapest_wanted, dismiss, is_valid
from kohort.kernels.core.promise_rules import Rules
from kohort.kernels.core.widths import AxisTables


@kernel
def distances(axes: AxisTables, pool: FreeRecords, record: int | np.int64) -> None:
    """Compute the distance of every row of the pool to one of them, as a cost."""
    set_box(axes, pool, record)
    look_up_all(axes, pool)


@kernel
def nearest(pool: FreeRecords, found: NDArray[np.int64], many: int) -> int:
    """Find at most `many` free rows with the lowest cost, the cheapest first; in a tie the earlier one. Return their number."""
    costs, count = pool.costs, 0
    limit = TAKEN // 2
    for i in range(pool.counts[FREE]):
        if costs[i] >= limit:
            continue
        at = count if count < many else many - 1
        while at > 0 and costs[found[at - 1]] > costs[i]:
            found[at] = found[at - 1]
            at -= 1
        found[at] = i
        count = min(count + 1, many)
        if count == many:
            limit = costs[found[many - 1]]
    return count


@kernel
def centre_and_cluster(
    axes: AxisTables,
    rules: Rules,
    pool: FreeRecords,
    group: GrowingGroup,
    sensitive: NDArray[np.int64],  # IN (rows, sensitive)
    beyond_k: bool,
    found: NDArray[np.int64],  # scratch (k)
    labels: NDArray[np.int64],  # OUT (rows)
    state: NDArray[np.int64],  # IN state[1] = stop now; OUT state[0] = rows done
) -> int:
    """Form clusters of the first free row and its k-1 nearest rows, while 2k rows are free. Return the number of clusters.

    The remaining rows are the last cluster. If further promises were made, a cluster grows until it is valid.
    """
    clusters = 0
    while pool.counts[FREE] - pool.counts[OUT] >= 2 * rules.k and state[1] == 0:
        centre = 0
        while pool.taken[centre]:
            centre += 1
        distances(axes, pool, centre)
        admit(rules, group, pool, sensitive, centre)
        for i in range(nearest(pool, found, rules.k - 1)):
            admit(rules, group, pool, sensitive, found[i])
        record = 0
        while beyond_k and record >= 0 and not is_valid(rules, group):
            record = cheapest_wanted(rules, group, pool, sensitive)
            if record >= 0:
                admit(rules, group, pool, sensitive, record)
        if record < 0:  # no free row makes it valid
            give_back(pool, group.size[0])
            dismiss(rules, group)
            break
        for i in range(group.size[0]):
            labels[pool.rows[group.records[i]]] = clusters
        clusters += 1
        state[0] += group.size[0]
        dismiss(rules, group)
        compact(pool)
    rest = 0
    for record in range(pool.counts[FREE]):
        if not pool.taken[record]:
            labels[pool.rows[record]] = clusters
            rest += 1
    return clusters + (rest > 0)
