"""Sums of squared distances to the centroids of groups, one axis at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel


@kernel
def numeric(
    codes: NDArray[np.unsignedinteger],  # IN (rows), group by group; 0 = missing
    of_code: NDArray[np.float64],  # IN: position of each code from 1 on the axis, in [0, 1]
    of_row: NDArray[np.float64],  # IN (rows): position of each row, if codes are bins; otherwise empty
    first: NDArray[np.int64],  # IN (groups + 1): where each group begins
) -> float:
    """Return the squared error on a numeric axis.

    The centroid is the mean of the present values, or missing if most values are. The distance between missing and present is 1.
    """
    total = 0.0
    binned = of_row.size > 0
    for cluster in range(first.size - 1):
        present, mean, spread = 0, 0.0, 0.0
        for row in range(first[cluster], first[cluster + 1]):
            if codes[row] != 0:
                position = of_row[row] if binned else of_code[codes[row] - 1]
                present += 1
                step = position - mean
                mean += step / present
                spread += step * (position - mean)  # Welford: mean and squared error in one pass, without cancellation
        missing = first[cluster + 1] - first[cluster] - present
        total += present if missing > present else missing + spread
    return total


@kernel
def tree(
    codes: NDArray[np.unsignedinteger],  # IN (rows), group by group; 0 = missing
    ancestors: NDArray[np.int32],  # IN (levels + 1, leaves): the node above each leaf
    heights: NDArray[np.int64],  # IN (nodes): edges from each node down to its deepest leaf
    first: NDArray[np.int64],  # IN (groups + 1): where each group begins
    below: NDArray[np.int64],  # scratch (nodes), zeros: members of the current group below each node
) -> float:
    """Return the squared error on an axis with a tree.

    The centroid is the value with the lowest total distance to the members; in a tie the most frequent, then the lowest code.
    The distance of two leaves is the height of their common ancestor, which is the sum of a leaf's steps up while the ancestors
    differ. So the total distance of a value follows from the number of members below each of its ancestors. No value outside
    the group has a lower total distance than all values in it.
    """
    levels = ancestors.shape[0] - 1
    height = heights[ancestors[levels, 0]] if ancestors.shape[1] > 0 else np.int64(1)
    total = 0.0
    for cluster in range(first.size - 1):
        size, missing = first[cluster + 1] - first[cluster], 0
        for row in range(first[cluster], first[cluster + 1]):
            code = np.int64(codes[row])
            if code == 0:
                missing += 1
            else:
                for level in range(levels):
                    if level == 0 or ancestors[level, code - 1] != ancestors[level - 1, code - 1]:
                        below[ancestors[level, code - 1]] += 1
        present = size - missing
        best, best_distance, best_count = np.int64(0), present * height, missing
        for row in range(first[cluster], first[cluster + 1]):
            code = np.int64(codes[row])
            if code == 0:
                continue
            distance = missing * height
            for level in range(levels):
                step = heights[ancestors[level + 1, code - 1]] - heights[ancestors[level, code - 1]]
                distance += step * (present - below[ancestors[level, code - 1]])
            count = below[ancestors[0, code - 1]]
            if distance < best_distance or (
                distance == best_distance and (count > best_count or (count == best_count and code < best))
            ):
                best, best_distance, best_count = code, distance, count
        for row in range(first[cluster], first[cluster + 1]):
            code = np.int64(codes[row])
            if code != 0:
                for level in range(levels):
                    below[ancestors[level, code - 1]] = 0
            if code == best:
                continue
            if code == 0 or best == 0:
                total += 1.0
                continue
            level = 0
            while ancestors[level, code - 1] != ancestors[level, best - 1]:
                level += 1
            total += (heights[ancestors[level, code - 1]] / height) ** 2
    return total
