"""The box of every group: the lowest and the highest code of its rows on each axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort.encoding.axes import Axis, Ends
from kohort.encoding.number_axis import NumericAxis
from kohort.encoding.points import Points
from kohort.methods import Partition
from kohort.schema.columns import Schema


@dataclass(frozen=True, eq=False)
class Boxes:
    """The published box of every group, in codes. Axes whose codes are bins also have exact ends, some axes have means."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    sizes: NDArray[np.int64]
    ends: Mapping[int, Ends]
    means: Mapping[int, NDArray[np.float64]]
    """By the number of an axis that publishes means: the mean of each group minus the smallest number of the table."""

    def texts(self, number: int, axis: Axis) -> pa.DictionaryArray:
        """Return the published text of one axis for each group. Many groups share an interval, so each text is made once."""
        low, high, ends = self.low[:, number], self.high[:, number], self.ends.get(number)
        if ends is not None or not len(low):
            return axis.label(low, high, ends).dictionary_encode()
        first, index = _distinct(low * axis.size + high, axis.size**2)
        coded = axis.label(low[first], high[first], None).dictionary_encode()
        return pa.DictionaryArray.from_arrays(coded.indices.take(pa.array(index)), coded.dictionary)


def _distinct(keys: NDArray[np.int64], most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the index of one entry for each distinct key, and for each key the number of its distinct key.

    Keys are below `most`.
    """
    if most > 4 * len(keys) + 1_000_000:
        _keys, first, index = np.unique(keys, return_index=True, return_inverse=True)
        return first, index
    some = np.full(most, -1, np.int64)
    some[keys] = np.arange(len(keys))
    held = np.flatnonzero(some >= 0)
    first = some[held]
    some[held] = np.arange(len(held))
    return first, some[keys]


def boxes_of(points: Points, partition: Partition, schema: Schema) -> Boxes:
    """Return the box around the rows of each group, or the wider box that the method returned."""
    from kohort.kernels.core.group_boxes import bound_members

    labels = partition.labels
    sizes = np.bincount(labels[labels >= 0])
    means = {
        number: _means(points, number, labels, len(sizes))
        for number, axis in enumerate(points.axes)
        if schema.columns[axis.name].statistic != "range"
    }
    if partition.boxes is not None:
        low, high = partition.boxes
        if partition.suppressed_group is not None:  # the last group, which was not made by the method
            low, high = np.vstack([low, np.zeros(len(points.axes), np.int64)]), np.vstack([high, everything(points.axes)])
        return Boxes(low, high, sizes, {}, means)
    shape = (len(sizes), len(points.axes))
    low = np.full(shape, np.iinfo(points.codes.dtype).max, points.codes.dtype)
    high = np.zeros(shape, points.codes.dtype)
    bound_members(points.codes, labels, low, high)
    if partition.suppressed_group is not None:
        low[partition.suppressed_group], high[partition.suppressed_group] = 0, everything(points.axes)
    ends = {number: _exact_ends(values, points.codes[:, number], labels, len(sizes)) for number, values in points.exact.items()}
    return Boxes(low.astype(np.int64), high.astype(np.int64), sizes, ends, means)


def everything(axes: Sequence[Axis]) -> NDArray[np.int64]:
    """Return the high end of a box that contains every code, also that of missing values. It starts at 0. Its text is `*`."""
    return np.array([axis.size - 1 for axis in axes], np.int64)


def _exact_ends(values: NDArray[np.generic], codes: NDArray[np.generic], labels: NDArray[np.int64], groups: int) -> Ends:
    inside = (labels >= 0) & (codes != 0)
    order = np.lexsort([values[inside], labels[inside]])
    grouped, ordered = labels[inside][order], values[inside][order]
    first, after = np.searchsorted(grouped, np.arange(groups)), np.searchsorted(grouped, np.arange(groups), "right")
    padded = np.append(ordered, values[:1])  # a group with only missing values has no ends, so any value is correct
    return padded[np.minimum(first, len(ordered))], padded[np.maximum(after - 1, 0)]


def _means(points: Points, number: int, labels: NDArray[np.int64], groups: int) -> NDArray[np.float64]:
    axis = points.axes[number]
    assert isinstance(axis, NumericAxis)  # encoding rejects means of other columns
    codes = points.codes[:, number]
    inside = (labels >= 0) & (codes != 0)
    values = points.exact[number] if number in points.exact else np.append(axis.first, 0)[codes.astype(np.int64) - 1]
    sums = np.zeros((3, groups), np.int64)
    for total, part in zip(sums, parts_of_sum(axis, values[inside]), strict=True):
        np.add.at(total, labels[inside], part)
    return mean_of_parts(axis, *sums)


def parts_of_sum(
    axis: NumericAxis, values: NDArray[np.generic]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return ones (to count) and each number as two integers. Sums of integers are exact, whatever the order of rows."""
    scaled = np.rint(axis.offset(values) / (axis.range or 1.0) * 2.0**52).astype(np.int64)
    return np.ones_like(scaled), scaled >> 26, scaled & ((1 << 26) - 1)


def mean_of_parts(axis: Axis, many: NDArray[np.int64], high: NDArray[np.int64], low: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean minus the smallest number of the axis."""
    assert isinstance(axis, NumericAxis)  # encoding rejects means of other columns
    counts = np.maximum(many, 1)
    return np.asarray((high / counts * 2.0**-26 + low / counts * 2.0**-52) * axis.range)
