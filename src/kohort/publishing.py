"""Labels to published columns: a cluster's box becomes one text per quasi-identifier, every member gets it.

Whatever is published of a quasi-identifier is a function of the cluster alone; that is what makes the release k-anonymous.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from kohort.algorithms import Partition
from kohort.axes import Axis, Ends, NumericAxis, Points
from kohort.frames import without_dictionaries
from kohort.hierarchies import ROOT
from kohort.schema import Schema

ROWS_AT_ONCE = 1 << 20
MEAN_DIGITS = 9  # of the column's range: digits that do not depend on the order in which a sum was made


@dataclass(frozen=True, eq=False)
class Boxes:
    """The published box of every cluster, in codes; true ends where codes are bins."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    sizes: NDArray[np.int64]
    ends: Mapping[int, Ends]

    def labels(self, number: int, axis: Axis) -> pa.Array:
        return axis.label(self.low[:, number], self.high[:, number], self.ends.get(number))


def boxes_of(points: Points, partition: Partition) -> Boxes:
    """The box around each cluster's members, or the wider one that the method gave."""
    from kohort.kernels.boxes import bound_members

    labels = partition.labels
    sizes = np.bincount(labels[labels >= 0])
    if partition.boxes is not None:
        low, high = partition.boxes
        if partition.star is not None:  # the last group, which the method did not make
            everything = np.array([axis.size - 1 for axis in points.axes], np.int64)
            low, high = np.vstack([low, np.zeros_like(everything)]), np.vstack([high, everything])
        return Boxes(low, high, sizes, {})
    shape = (len(sizes), len(points.axes))
    low = np.full(shape, np.iinfo(points.codes.dtype).max, points.codes.dtype)
    high = np.zeros(shape, points.codes.dtype)
    bound_members(points.codes, labels, low, high)
    if partition.star is not None:  # missing and present at once: everything
        low[partition.star], high[partition.star] = 0, [axis.size - 1 for axis in points.axes]
    ends = {number: _true_ends(values, points.codes[:, number], labels, len(sizes)) for number, values in points.exact.items()}
    return Boxes(low.astype(np.int64), high.astype(np.int64), sizes, ends)


def _true_ends(values: NDArray[np.generic], codes: NDArray[np.generic], labels: NDArray[np.int64], clusters: int) -> Ends:
    inside = (labels >= 0) & (codes != 0)
    order = np.lexsort([values[inside], labels[inside]])
    grouped, ordered = labels[inside][order], values[inside][order]
    first, after = np.searchsorted(grouped, np.arange(clusters)), np.searchsorted(grouped, np.arange(clusters), "right")
    padded = np.append(ordered, ordered[:1])  # a cluster of missing values only has no ends; any will do
    return padded[np.minimum(first, len(ordered))], padded[np.maximum(after - 1, 0)]


class Publication:
    """A release that can be made in any order of rows, batch by batch; nothing of the source is in its schema."""

    def __init__(self, table: pa.Table, schema: Schema, points: Points, partition: Partition, boxes: Boxes) -> None:
        self._table = table
        self._labels = partition.labels
        self._by_cluster: dict[str, pa.DictionaryArray] = {}
        self._sources: dict[str, str] = {}
        number_of = {axis.name: number for number, axis in enumerate(points.axes)}
        for name, source, statistic in schema.published():
            if statistic == "value":
                self._sources[name] = source
                continue
            number = number_of[source]
            texts = boxes.labels(number, points.axes[number])
            if statistic == "mean":
                texts = _means(points, number, partition.labels, texts)
            self._by_cluster[name] = texts.dictionary_encode()
        self.columns = [name for name, _source, _statistic in schema.published()]

    @cached_property
    def schema(self) -> pa.Schema:
        published = pa.dictionary(pa.int32(), pa.string())
        kinds = (
            published if name in self._by_cluster else self._table.schema.field(self._sources[name]).type for name in self.columns
        )
        return pa.schema(list(zip(self.columns, kinds, strict=True)))

    def classes(self) -> NDArray[np.int64]:
        """Per cluster: the number of its class, that is of its published combination. Clusters may share one."""
        keys = np.zeros(len(next(iter(self._by_cluster.values()))), np.int64)
        keys_used = 1
        for texts in self._by_cluster.values():
            choices = len(texts.dictionary) + 1
            if keys_used * choices >= 2**63:  # squeeze the gaps out before the keys overflow
                keys = np.unique(keys, return_inverse=True)[1]
                keys_used = len(keys)
            keys = keys * choices + (_places(texts) + 1)
            keys_used *= choices
        return np.unique(keys, return_inverse=True)[1]

    def batches(self, order: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
        """The rows named by `order`, published."""
        sources = {name: _one_chunk(self._table.column(source), order) for name, source in self._sources.items()}
        for start in range(0, len(order), ROWS_AT_ONCE):
            rows = order[start : start + ROWS_AT_ONCE]
            labels = self._labels[rows]
            yield pa.record_batch(
                [
                    _gather(self._by_cluster[name], labels) if name in self._by_cluster else _carry(sources[name], rows)
                    for name in self.columns
                ],
                schema=self.schema,
            )


def _places(texts: pa.DictionaryArray) -> NDArray[np.int32]:
    return texts.indices.fill_null(-1).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def _gather(texts: pa.DictionaryArray, labels: NDArray[np.int64]) -> pa.DictionaryArray:
    """Each row's text, by its cluster."""
    places = _places(texts)[labels]
    indices = pa.array(places, mask=places < 0 if texts.null_count else None)
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
    kind, chunks = column.type, column.chunks or [pa.array([], column.type)]
    # One from outside may hold a value twice, or a missing one: Arrow unifies no such dictionaries.
    distinct = pa.concat_arrays([chunk.dictionary for chunk in chunks]).dictionary_encode()
    starts = np.cumsum([0, *(len(chunk.dictionary) for chunk in chunks)])
    places = pa.concat_arrays(
        [distinct.indices.slice(start).take(chunk.indices) for start, chunk in zip(starts[:-1], chunks, strict=True)]
    )
    held = pc.unique(places.take(pa.array(rows))).drop_null().sort()
    indices = pc.index_in(places, held).cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(indices, distinct.dictionary.take(held), ordered=kind.ordered)


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


def _means(points: Points, number: int, labels: NDArray[np.int64], ranges: pa.Array) -> pa.Array:
    """The mean of each cluster's numbers as text; where the range tells nothing, neither does the mean."""
    axis = points.axes[number]
    assert isinstance(axis, NumericAxis)  # encoding refuses means of anything else
    if not axis.range:  # a constant, or all missing: the range says it
        return ranges
    codes = points.codes[:, number]
    inside = (labels >= 0) & (codes != 0)
    values = points.exact[number] if number in points.exact else np.append(axis.first, 0)[codes.astype(np.int64) - 1]
    counts = np.bincount(labels[inside], minlength=len(ranges))
    offsets = np.bincount(labels[inside], axis.offset(values[inside]), minlength=len(ranges)) / np.maximum(counts, 1)
    places = max(0, MEAN_DIGITS - math.ceil(math.log10(axis.range)))
    smallest = Decimal(axis.first[0].item())
    means = pa.array([_decimal_text(smallest + Decimal(offset), places) for offset in offsets.tolist()], pa.string())
    means = pc.replace_substring(means, ".", ",") if axis.comma else means
    return pc.if_else(pc.is_null(ranges), ranges, pc.if_else(pc.equal(ranges, ROOT), ranges, means))


def _decimal_text(number: Decimal, places: int) -> str:
    """Rounded to so many places, without trailing zeros.

    >>> _decimal_text(Decimal("35.50000000000001"), 7), _decimal_text(Decimal(36), 7)
    ('35.5', '36')
    """
    text = f"{number:.{places}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text
