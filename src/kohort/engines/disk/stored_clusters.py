"""The clusters of a release on disk, in the order in which they were made: their boxes, sizes and published groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kohort.encoding.axes import Axis, code_dtype
from kohort.encoding.row_order import splitmix64, text_hashes
from kohort.engines.base import Counted, counted
from kohort.engines.shared.spool import Spool
from kohort.publishing.boxes import Boxes
from kohort.publishing.texts import Texts, texts_of
from kohort.schema.columns import Schema

CLUSTERS_AT_ONCE = 1 << 20


def class_keys(texts: Texts) -> NDArray[np.uint64]:
    """Return, per cluster, a hash of its published values. Use it for figures only: the audit compares the values themselves."""
    keys = np.zeros(len(next(iter(texts.values()))), np.uint64)
    for column in texts.values():
        hashes = np.append(text_hashes(column.dictionary), np.uint64(0))
        indices = column.indices.fill_null(len(hashes) - 1).to_numpy(zero_copy_only=False)
        keys = splitmix64(keys ^ hashes[indices])
    return keys


class StoredClusters:
    """Clusters that are appended part by part and read by number."""

    def __init__(self, folder: Path, schema: Schema, axes: tuple[Axis, ...]) -> None:
        self._folder, self._schema, self._axes = folder, schema, axes
        self._codes = Spool(folder / "boxes", code_dtype(axes).type, 2 * len(axes))
        self._sizes = Spool(folder / "sizes", np.int64)
        self._keys = Spool(folder / "classes", np.uint64)
        self._ends: dict[int, Spool[Any]] = {}
        self._means: dict[int, Spool[np.float64]] = {}

    def __len__(self) -> int:
        return self._sizes.rows

    def append(self, boxes: Boxes) -> NDArray[np.uint64]:
        """Add clusters and return the key of the published group of each."""
        keys = class_keys(texts_of(self._schema, self._axes, boxes))
        self._codes.append(np.hstack([boxes.low, boxes.high]).astype(code_dtype(self._axes)))
        self._sizes.append(boxes.sizes)
        self._keys.append(keys)
        for number, ends in boxes.ends.items():
            if number not in self._ends:
                self._ends[number] = Spool(self._folder / f"ends-{number}", ends[0].dtype.type, 2)
            self._ends[number].append(np.column_stack(ends))
        for number, means in boxes.means.items():
            if number not in self._means:
                self._means[number] = Spool(self._folder / f"means-{number}", np.float64)
            self._means[number].append(means)
        return keys

    def boxes(self, numbers: NDArray[np.int64]) -> Boxes:
        """Return the boxes of these clusters. The numbers must be ascending."""
        codes, axes = _taken(self._codes, numbers).astype(np.int64), len(self._axes)
        ends = {number: tuple(_taken(spool, numbers).T) for number, spool in self._ends.items()}
        means = {number: _taken(spool, numbers) for number, spool in self._means.items()}
        return Boxes(codes[:, :axes], codes[:, axes:], _taken(self._sizes, numbers), ends, means)

    def class_sizes(self) -> Counted:
        """Return the sizes of the published groups in rows."""
        _keys, index = np.unique(self._keys.read(), return_inverse=True)
        return counted(np.bincount(index, self._sizes.read()).astype(np.int64))


def _taken(spool: Spool[Any], numbers: NDArray[np.int64]) -> NDArray[Any]:
    """Return the rows of a spool with these ascending numbers. Read it in long pieces, because most of its rows are needed."""
    parts = [spool.read(0, 0)]
    for start in range(0, spool.rows, CLUSTERS_AT_ONCE):
        first, last = np.searchsorted(numbers, (start, start + CLUSTERS_AT_ONCE))
        if first < last:
            parts.append(spool.read(start, start + CLUSTERS_AT_ONCE)[numbers[first:last] - start])
    return np.concatenate(parts)
