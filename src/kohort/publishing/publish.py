"""Labels to published columns: a cluster's box becomes one text per quasi-identifier, every member gets it.

Whatever is published of a quasi-identifier is a function of the cluster alone; that is what makes the release k-anonymous.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from kohort.encoding.axes import Axis, Ends
from kohort.encoding.number_axis import NumericAxis
from kohort.encoding.points import Points
from kohort.methods import Partition
from kohort.schema.columns import Schema
from kohort.schema.trees import ROOT
from kohort.tables.frames import without_dictionaries

ROWS_AT_ONCE = 1 << 20
MEAN_DIGITS = 9  # of the column's range: digits that do not depend on the order in which a sum was made


@dataclass(frozen=True, eq=False)
class Boxes:
    """The published box of every cluster, in codes; true ends where codes are bins, means where they are published."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    sizes: NDArray[np.int64]
    ends: Mapping[int, Ends]
    means: Mapping[int, NDArray[np.float64]]
    """Per axis that publishes one: each cluster's mean above the smallest number of the table."""

    def texts(self, number: int, axis: Axis) -> pa.DictionaryArray:
        """What is published of one axis for each cluster. Clusters share few intervals, so each is put into words once."""
        low, high, ends = self.low[:, number], self.high[:, number], self.ends.get(number)
        if ends is not None or not len(low):
            return axis.label(low, high, ends).dictionary_encode()
        first, index = _different(low * axis.size + high, axis.size**2)
        coded = axis.label(low[first], high[first], None).dictionary_encode()
        return pa.DictionaryArray.from_arrays(coded.indices.take(pa.array(index)), coded.dictionary)


def _different(keys: NDArray[np.int64], most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """An entry for each different key, and for each key the place of its own; keys are below `most`."""
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
    """The box around each cluster's members, or the wider one that the method gave."""
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
        if partition.suppressed_group is not None:  # the last group, which the method did not make
            low, high = np.vstack([low, np.zeros(len(points.axes), np.int64)]), np.vstack([high, everything(points.axes)])
        return Boxes(low, high, sizes, {}, means)
    shape = (len(sizes), len(points.axes))
    low = np.full(shape, np.iinfo(points.codes.dtype).max, points.codes.dtype)
    high = np.zeros(shape, points.codes.dtype)
    bound_members(points.codes, labels, low, high)
    if partition.suppressed_group is not None:
        low[partition.suppressed_group], high[partition.suppressed_group] = 0, everything(points.axes)
    ends = {number: _true_ends(values, points.codes[:, number], labels, len(sizes)) for number, values in points.exact.items()}
    return Boxes(low.astype(np.int64), high.astype(np.int64), sizes, ends, means)


def everything(axes: Sequence[Axis]) -> NDArray[np.int64]:
    """The high end of a box that holds everything, missing and present: it begins at 0 and publishes `*`."""
    return np.array([axis.size - 1 for axis in axes], np.int64)


def _true_ends(values: NDArray[np.generic], codes: NDArray[np.generic], labels: NDArray[np.int64], clusters: int) -> Ends:
    inside = (labels >= 0) & (codes != 0)
    order = np.lexsort([values[inside], labels[inside]])
    grouped, ordered = labels[inside][order], values[inside][order]
    first, after = np.searchsorted(grouped, np.arange(clusters)), np.searchsorted(grouped, np.arange(clusters), "right")
    padded = np.append(ordered, values[:1])  # a cluster of missing values only has no ends; any will do
    return padded[np.minimum(first, len(ordered))], padded[np.maximum(after - 1, 0)]


def _means(points: Points, number: int, labels: NDArray[np.int64], clusters: int) -> NDArray[np.float64]:
    axis = points.axes[number]
    assert isinstance(axis, NumericAxis)  # encoding refuses means of anything else
    codes = points.codes[:, number]
    inside = (labels >= 0) & (codes != 0)
    values = points.exact[number] if number in points.exact else np.append(axis.first, 0)[codes.astype(np.int64) - 1]
    sums = np.zeros((3, clusters), np.int64)
    for total, part in zip(sums, parts_of_sum(axis, values[inside]), strict=True):
        np.add.at(total, labels[inside], part)
    return mean_of_parts(axis, *sums)


def parts_of_sum(
    axis: NumericAxis, values: NDArray[np.generic]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Numbers as ones, and as whole numbers of two parts: sums of these are exact, whatever the order, and add up."""
    scaled = np.rint(axis.offset(values) / (axis.range or 1.0) * 2.0**52).astype(np.int64)
    return np.ones_like(scaled), scaled >> 26, scaled & ((1 << 26) - 1)


def mean_of_parts(axis: Axis, many: NDArray[np.int64], high: NDArray[np.int64], low: NDArray[np.int64]) -> NDArray[np.float64]:
    """The mean above the smallest number of the axis."""
    assert isinstance(axis, NumericAxis)  # encoding refuses means of anything else
    counts = np.maximum(many, 1)
    return np.asarray((high / counts * 2.0**-26 + low / counts * 2.0**-52) * axis.range)


# --- words


Texts = dict[str, pa.DictionaryArray]
"""By published column: the text of each cluster."""


def texts_of(schema: Schema, axes: Sequence[Axis], boxes: Boxes) -> Texts:
    """What is published of each cluster."""
    number_of = {axis.name: number for number, axis in enumerate(axes)}
    texts: Texts = {}
    for name, source, statistic in schema.published():
        if statistic == "value":
            continue
        number = number_of[source]
        texts[name] = boxes.texts(number, axes[number])
        if statistic == "mean":
            texts[name] = _mean_texts(axes[number], boxes.means[number], texts[name])
    return texts


def classes_of(texts: Texts) -> NDArray[np.int64]:
    """Per cluster: the number of its class, that is of its published combination. Clusters may share one."""
    keys = np.zeros(len(next(iter(texts.values()))), np.int64)
    keys_used = 1
    for column in texts.values():
        choices = len(column.dictionary) + 1
        if keys_used * choices >= 2**63:  # squeeze the gaps out before the keys overflow
            keys = np.unique(keys, return_inverse=True)[1]
            keys_used = len(keys)
        keys = keys * choices + (_indices(column) + 1)
        keys_used *= choices
    return np.unique(keys, return_inverse=True)[1]


def _mean_texts(axis: Axis, offsets: NDArray[np.float64], ranges: pa.DictionaryArray) -> pa.DictionaryArray:
    """Means as text; where the range tells nothing, neither does the mean."""
    assert isinstance(axis, NumericAxis)
    if not axis.range:  # a constant, or all missing: the range says it
        return ranges
    ranges_text = ranges.dictionary_decode()
    decimals = max(0, MEAN_DIGITS - math.ceil(math.log10(axis.range)))
    smallest = Decimal(axis.first[0].item())
    means = pa.array([_decimal_text(smallest + Decimal(offset), decimals) for offset in offsets.tolist()], pa.string())
    means = pc.replace_substring(means, ".", ",") if axis.comma else means
    return pc.if_else(
        pc.is_null(ranges_text), ranges_text, pc.if_else(pc.equal(ranges_text, ROOT), ranges_text, means)
    ).dictionary_encode()


# --- rows


class Publication:
    """A release that can be made in any order of rows, batch by batch; nothing of the source is in its schema."""

    def __init__(self, table: pa.Table, schema: Schema, texts: Texts, labels: NDArray[np.int64]) -> None:
        self._table = table
        self._labels = labels
        self._by_cluster = texts
        self._sources = {name: source for name, source, statistic in schema.published() if statistic == "value"}
        self.schema = release_schema(schema, table.schema)

    def batches(self, order: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
        """The rows named by `order`, published."""
        sources = {name: _one_chunk(self._table.column(source), order) for name, source in self._sources.items()}
        for start in range(0, len(order), ROWS_AT_ONCE):
            rows = order[start : start + ROWS_AT_ONCE]
            labels = self._labels[rows]
            yield pa.record_batch(
                [
                    _gather(self._by_cluster[name], labels) if name in self._by_cluster else _carry(sources[name], rows)
                    for name in self.schema.names
                ],
                schema=self.schema,
            )


def release_schema(schema: Schema, source: pa.Schema) -> pa.Schema:
    """The columns of a release: texts of clusters, and what is carried in its type."""
    texts = pa.dictionary(pa.int32(), pa.string())
    return pa.schema(
        [(name, source.field(of).type if statistic == "value" else texts) for name, of, statistic in schema.published()]
    )


def _indices(texts: pa.DictionaryArray) -> NDArray[np.int32]:
    return texts.indices.fill_null(-1).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def _gather(texts: pa.DictionaryArray, labels: NDArray[np.int64]) -> pa.DictionaryArray:
    """Each row's text, by its cluster."""
    indices = _indices(texts)[labels]
    indices = pa.array(indices, mask=indices < 0 if texts.null_count else None)
    return pa.DictionaryArray.from_arrays(indices, texts.dictionary)


def _one_chunk(column: pa.ChunkedArray, rows: NDArray[np.int64]) -> pa.Array | pa.ChunkedArray:
    """One contiguous array where it fits, for quick look-ups; values of a dictionary that none of these rows holds are left
    behind: they would tell of rows that are withheld.
    """
    if pa.types.is_dictionary(column.type):
        return _held_only(column, rows)
    combined = column.combine_chunks()
    return combined.chunk(0) if isinstance(combined, pa.ChunkedArray) and combined.num_chunks == 1 else combined


def _held_only(column: pa.ChunkedArray, rows: NDArray[np.int64]) -> pa.DictionaryArray:
    """The same cells with one dictionary: what is held, in the order it had; chunks may each bring their own."""
    arrow_type, chunks = column.type, column.chunks or [pa.array([], column.type)]
    # One from outside may hold a value twice, or a missing one: Arrow unifies no such dictionaries.
    distinct = pa.concat_arrays([chunk.dictionary for chunk in chunks]).dictionary_encode()
    starts = np.cumsum([0, *(len(chunk.dictionary) for chunk in chunks)])
    indices = pa.concat_arrays(
        [distinct.indices.slice(start).take(chunk.indices) for start, chunk in zip(starts[:-1], chunks, strict=True)]
    )
    held = pc.unique(indices.take(pa.array(rows))).drop_null().sort()
    indices = pc.index_in(indices, held).cast(arrow_type.index_type)
    return pa.DictionaryArray.from_arrays(indices, distinct.dictionary.take(held), ordered=arrow_type.ordered)


def _carry(column: pa.Array | pa.ChunkedArray, rows: NDArray[np.int64]) -> pa.Array:
    taken = column.take(pa.array(rows))
    taken = taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken
    return _nothing_hidden(taken) if pa.types.is_nested(taken.type) else taken


def _nothing_hidden(cells: pa.Array) -> pa.Array:
    """Nested cells without what nobody sees of them: taking rows leaves dictionaries whole, with values that only other rows
    hold, and keeps what lies under a missing struct. Parquet has a place for neither.
    """
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"cells": cells.cast(without_dictionaries(cells.type))}), sink, compression="none")
    seen = pq.ParquetFile(pa.BufferReader(sink.getvalue())).read().column(0).combine_chunks()
    return seen.cast(cells.type)


def _decimal_text(number: Decimal, decimals: int) -> str:
    """Rounded to so many places, without trailing zeros.

    >>> _decimal_text(Decimal("35.50000000000001"), 7), _decimal_text(Decimal(36), 7)
    ('35.5', '36')
    """
    text = f"{number:.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text
