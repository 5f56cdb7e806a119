"""Square distances to the centroids of clusters, one axis at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kohort.kernels import kernel


@kernel
def numeric(
    codes: NDArray[np.unsignedinteger],  # IN (rows), cluster by cluster; 0 = missing
    of_code: NDArray[np.float64],  # IN: where each code from 1 lies on the axis, in [0, 1]
    of_row: NDArray[np.float64],  # IN (rows), or empty: where each row lies, if codes are bins
    first: NDArray[np.int64],  # IN (clusters + 1): where each cluster begins
) -> float:
    """Centroid = the mean of the present; missing, if most are. A missing and a present value are 1 apart."""
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
                spread += step * (position - mean)  # Welford: mean and spread in one sweep, without cancellation
        missing = first[cluster + 1] - first[cluster] - present
        total += present if missing > present else missing + spread
    return total


@kernel
def tree(
    codes: NDArray[np.unsignedinteger],  # IN (rows), cluster by cluster; 0 = missing
    ancestors: NDArray[np.int32],  # IN (height + 1, leaves)
    first: NDArray[np.int64],  # IN (clusters + 1): where each cluster begins
    below: NDArray[np.int64],  # scratch, zeros (nodes): members below each node of the cluster at hand
) -> float:
    """Centroid = the value with the least total distance to the members; ties: most frequent, then lowest code.

    Two leaves are as many levels apart as there are levels on which their ancestors differ, so a value's total distance
    follows from how many members share each of its ancestors. No value outside the cluster can be nearer than all inside.
    """
    height = ancestors.shape[0] - 1
    total = 0.0
    for cluster in range(first.size - 1):
        size, missing = first[cluster + 1] - first[cluster], 0
        for row in range(first[cluster], first[cluster + 1]):
            code = np.int64(codes[row])
            if code == 0:
                missing += 1
            else:
                for level in range(height):
                    below[ancestors[level, code - 1]] += 1
        present = size - missing
        best, best_distance, best_count = np.int64(0), present * height, missing
        for row in range(first[cluster], first[cluster + 1]):
            code = np.int64(codes[row])
            if code == 0:
                continue
            distance = missing * height
            for level in range(height):
                distance += present - below[ancestors[level, code - 1]]
            count = below[ancestors[0, code - 1]]
            if distance < best_distance or (
                distance == best_distance and (count > best_count or (count == best_count and code < best))
            ):
                best, best_distance, best_count = code, distance, count
        for row in range(first[cluster], first[cluster + 1]):
            code = np.int64(codes[row])
            if code != 0:
                for level in range(height):
                    below[ancestors[level, code - 1]] = 0
            if code == best:
                continue
            if code == 0 or best == 0:
                total += 1.0
                continue
            apart = 0
            while ancestors[apart, code - 1] != ancestors[apart, best - 1]:
                apart += 1
            total += (apart / height) ** 2
    return total
