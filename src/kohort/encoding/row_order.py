"""The canonical order of rows, and the counter hash behind every random number: the same on every engine and machine.

Rows stand by their codes; equal ones by a hash of the seed and the texts of all that is carried with them. It is made of each
row alone, so that rows may lie anywhere. What is still equal then cannot be told apart in the release either.
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
    """Rows by their codes (true values where binned), equal ones by `ties`."""
    keys: list[NDArray[np.generic]] = [ties]
    for axis in reversed(range(len(points.axes))):
        keys += [points.exact[axis]] if axis in points.exact else []
        keys.append(np.ascontiguousarray(points.codes[:, axis]))
    return np.lexsort(keys)


def ties_of(cells: pa.Table | pa.RecordBatch, schema: Schema, seed: int) -> NDArray[np.uint64]:
    """Per row: a hash of the seed and of all that is carried with it."""
    state = np.full(cells.num_rows, seed, np.uint64)
    for name in carried(schema):
        state = splitmix64(np.bitwise_xor(state, text_hashes(cells.column(name))))
    return state


def carried(schema: Schema) -> Sequence[str]:
    """The columns that tell equal points apart; not in the file's order: that is not part of the job."""
    return sorted(schema.named("sensitive", "other", "unit"))


def text_hashes(column: pa.Array | pa.ChunkedArray) -> NDArray[np.uint64]:
    """Each cell's text as 64 bits; 0 for missing."""
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
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())  # a time zone that nobody knows has no text
    try:
        return as_text(column)
    except pa.ArrowException:  # lists, bytes and the like
        return pa.array([None if cell is None else repr(cell) for cell in column.to_pylist()], pa.string())


def own_seed(seed: int, number: int) -> int:
    """The seed of one block, sweep, ... of a run: 63 bits."""
    mixed = splitmix64(splitmix64(np.array([seed], np.uint64)) ^ np.uint64(number))
    return int(mixed[0] >> np.uint64(1))


def block_number(points: Points) -> int:
    """What a block's random numbers are drawn by: its box and its size. Nobody needs to know how many blocks lie before it."""
    state = np.array([points.rows], np.uint64)
    for column in points.codes.T:
        for end in (column.min(), column.max()):
            state = splitmix64(state ^ np.uint64(end))
    return int(state[0])


def splitmix64(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Steele, Lea, Flood 2014: one step of a 64-bit mixing generator, as a hash. The same on every machine."""
    with np.errstate(over="ignore"):
        z = state + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
