"""The canonical order of rows, and the hash that generates all random numbers. Both are the same on every engine and machine.

Rows are sorted by their codes. Rows with equal codes are sorted by a hash of the seed and of the texts of the other published
columns. The hash depends on the row only, so rows may be stored anywhere. Rows that are still equal cannot be distinguished in
the release.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort.encoding.points import Points
from kohort.schema.columns import Schema
from kohort.tables.tables import as_text


def canonical_order(points: Points, ties: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the rows sorted by their codes (by true values where codes are bins), and rows with equal codes sorted by `ties`."""
    keys: list[NDArray[np.generic]] = [ties]
    for axis in reversed(range(len(points.axes))):
        keys += [points.exact[axis]] if axis in points.exact else []
        keys.append(np.ascontiguousarray(points.codes[:, axis]))
    return np.lexsort(keys)


def ties_of(cells: pa.Table | pa.RecordBatch, schema: Schema, seed: int) -> NDArray[np.uint64]:
    """Return, per row, a hash of the seed and of the columns listed by `carried`."""
    state = np.full(cells.num_rows, seed, np.uint64)
    for name in carried(schema):
        state = splitmix64(np.bitwise_xor(state, text_hashes(cells.column(name))))
    return state


def carried(schema: Schema) -> Sequence[str]:
    """Return the columns that distinguish rows with equal codes. They are sorted by name: column order is not part of the job."""
    return sorted(schema.named("sensitive", "other", "unit"))


def text_hashes(column: pa.Array | pa.ChunkedArray) -> NDArray[np.uint64]:
    """Return a 64-bit hash of the text of each cell; 0 for missing values."""
    from kohort.kernels.text.text_hash import hash_texts

    if isinstance(column, pa.ChunkedArray):
        parts = [text_hashes(chunk) for chunk in column.chunks]
        return np.concatenate([np.empty(0, np.uint64), *parts])
    texts = _texts(column).cast(pa.large_string())
    hashes = np.zeros(len(texts), np.uint64)
    if len(texts):
        _valid, offsets, data = texts.buffers()
        indices = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
        hash_texts(indices, np.frombuffer(data or b"", np.uint8), hashes)
    if texts.null_count:
        hashes[texts.is_null().to_numpy(zero_copy_only=False)] = 0
    return hashes


def _texts(column: pa.Array) -> pa.Array:
    """Return the text of each cell, for any type."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())  # an unknown time zone cannot be converted to text
    try:
        return as_text(column)
    except pa.ArrowException:  # for example lists and bytes
        return pa.array([None if cell is None else repr(cell) for cell in column.to_pylist()], pa.string())


def own_seed(seed: int, number: int) -> int:
    """Return the seed, 63 bits, of one part of a run, for example a block or a sweep."""
    mixed = splitmix64(splitmix64(np.array([seed], np.uint64)) ^ np.uint64(number))
    return int(mixed[0] >> np.uint64(1))


def block_number(points: Points) -> int:
    """Return the number from which the seed of a block is derived: a hash of its box and its size.

    It does not depend on the number of blocks before it.
    """
    state = np.array([points.rows], np.uint64)
    for column in points.codes.T:
        for end in (column.min(), column.max()):
            state = splitmix64(state ^ np.uint64(end))
    return int(state[0])


def splitmix64(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return one step of splitmix64 (Steele, Lea, Flood 2014), used as a hash. The result is the same on every machine."""
    with np.errstate(over="ignore"):
        z = state + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
