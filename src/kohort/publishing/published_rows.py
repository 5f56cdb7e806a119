"""The rows of a release: each row has the texts of its group, and the other columns are unchanged."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from kohort.publishing.texts import Texts, indices_of
from kohort.schema.columns import Schema
from kohort.tables.frames import without_dictionaries

ROWS_AT_ONCE = 1 << 20


class PublishedRows:
    """A release that can be made batch by batch and in any order of rows. Its schema has no metadata of the source."""

    def __init__(self, table: pa.Table, schema: Schema, texts: Texts, labels: NDArray[np.int64]) -> None:
        self._table = table
        self._labels = labels
        self._by_group = texts
        self._sources = {name: source for name, source, statistic in schema.published() if statistic == "value"}
        self.schema = release_schema(schema, table.schema)

    def batches(self, order: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
        """Yield the published rows with these row numbers, in this order."""
        sources = {name: _one_chunk(self._table.column(source), order) for name, source in self._sources.items()}
        for start in range(0, len(order), ROWS_AT_ONCE):
            rows = order[start : start + ROWS_AT_ONCE]
            labels = self._labels[rows]
            yield pa.record_batch(
                [
                    _gather(self._by_group[name], labels) if name in self._by_group else _carry(sources[name], rows)
                    for name in self.schema.names
                ],
                schema=self.schema,
            )


def release_schema(schema: Schema, source: pa.Schema) -> pa.Schema:
    """Return the columns of a release: texts of groups, and unchanged columns with their type."""
    texts = pa.dictionary(pa.int32(), pa.string())
    return pa.schema(
        [(name, source.field(of).type if statistic == "value" else texts) for name, of, statistic in schema.published()]
    )


def _gather(texts: pa.DictionaryArray, labels: NDArray[np.int64]) -> pa.DictionaryArray:
    """Return the text of each row, by its group."""
    indices = indices_of(texts)[labels]
    indices = pa.array(indices, mask=indices < 0 if texts.null_count else None)
    return pa.DictionaryArray.from_arrays(indices, texts.dictionary)


def _one_chunk(column: pa.ChunkedArray, rows: NDArray[np.int64]) -> pa.Array | pa.ChunkedArray:
    """Return one contiguous array if possible, so that rows are selected faster.

    Values of a dictionary that occur in none of these rows are dropped, because they would reveal suppressed rows.
    """
    if pa.types.is_dictionary(column.type):
        return _with_used_values(column, rows)
    combined = column.combine_chunks()
    return combined.chunk(0) if isinstance(combined, pa.ChunkedArray) and combined.num_chunks == 1 else combined


def _with_used_values(column: pa.ChunkedArray, rows: NDArray[np.int64]) -> pa.DictionaryArray:
    """Return the same cells with one dictionary of the values that occur, in the same order. Chunks may have different ones."""
    arrow_type, chunks = column.type, column.chunks or [pa.array([], column.type)]
    # A dictionary of a user may contain a value twice, or a missing value. Arrow cannot unify such dictionaries.
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
    return _without_hidden_values(taken) if pa.types.is_nested(taken.type) else taken


def _without_hidden_values(cells: pa.Array) -> pa.Array:
    """Remove hidden values from nested cells by writing them to Parquet and reading them again.

    Selecting rows keeps dictionaries complete, with values that only occur in other rows, and keeps values under a missing
    struct. Parquet stores neither.
    """
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"cells": cells.cast(without_dictionaries(cells.type))}), sink, compression="none")
    seen = pq.ParquetFile(pa.BufferReader(sink.getvalue())).read().column(0).combine_chunks()
    return seen.cast(cells.type)
