"""Collects the distinct values of a column that is read in batches."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kohort.encoding.encode import Distinct, comparable, is_missing
from kohort.encoding.sensitive import same_zeros
from kohort.errors import RequestError

MOST_VALUES = 1 << 31
"""The index of a value has 32 bits."""


def require_room(dictionaries: Collection[Dictionary], rows: int, most_bytes: int) -> None:
    """Raise an error if the distinct values of all columns together do not fit into memory. It names the largest column."""
    if not dictionaries:
        return
    largest = max(dictionaries, key=lambda dictionary: dictionary.nbytes)
    if sum(dictionary.nbytes for dictionary in dictionaries) > most_bytes or largest.size >= MOST_VALUES:
        raise RequestError(
            f"Column {largest.name!r} has too many different values for the memory limit: {largest.size:,} in the first "
            f"{rows:,} rows. Raise the limit (--memory), round the values of the column, or give it another role."
        )


class Dictionary:
    """The distinct values of a column, added batch by batch. Values are numbered in the order of their first row.

    `finished` gives the final numbers.
    """

    def __init__(self, name: str, *, sensitive: bool) -> None:
        self.name = name
        self._sensitive = sensitive
        self._values: pa.Array | None = None
        self._counts = np.zeros(0, np.int64)
        self._first = np.zeros(0, np.int64)
        self._missing = 0
        self._first_missing = 0
        self._rows = 0

    def add(self, column: pa.Array) -> NDArray[np.int32]:
        """Add a batch and return the index of each row's value; -1 for a missing value."""
        column = comparable(column, self.name)
        packed = (same_zeros(column) if self._sensitive else column).dictionary_encode()
        local = packed.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        if self._values is None:
            self._values = packed.dictionary.slice(0, 0)  # sets the type, even if the column has no values at all
        index_of = self._known(packed.dictionary)
        new = np.flatnonzero(index_of < 0)
        first = np.full(len(index_of) + 1, -1, np.int64)
        if len(new) or not self._missing:
            first[local[::-1]] = np.arange(len(local))[::-1]  # in reverse, so that the first row of a value is written last
        if len(new):
            index_of[new] = np.arange(len(self._counts), len(self._counts) + len(new))
            self._add_values(packed.dictionary.take(pa.array(new)), self._rows + first[:-1][new])
        counts = np.bincount(local + 1, minlength=len(index_of) + 1)
        self._counts[index_of] += counts[1:]
        if counts[0] and not self._missing:
            self._first_missing = self._rows + int(first[-1])
        self._missing += int(counts[0])
        self._rows += len(column)
        indices: NDArray[np.int32] = np.append(index_of, -1).astype(np.int32)[local]
        return indices

    def _known(self, values: pa.Array) -> NDArray[np.int64]:
        """Return the index of each of these values; -1 for a new value."""
        found = pc.index_in(values, value_set=self._values)
        indices: NDArray[np.int64] = found.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        return indices.copy()

    def _add_values(self, values: pa.Array, first: NDArray[np.int64]) -> None:
        self._values = pa.concat_arrays([self._values, values])
        self._counts = np.concatenate([self._counts, np.zeros(len(values), np.int64)])
        self._first = np.concatenate([self._first, first])

    @property
    def size(self) -> int:
        """Number of distinct values so far."""
        return len(self._counts)

    @property
    def nbytes(self) -> int:
        return 0 if self._values is None else int(self._values.nbytes) + self._counts.nbytes + self._first.nbytes

    def finished(self, missing: Sequence[str]) -> tuple[Distinct, NDArray[np.int64]]:
        """Return the distinct values without those that mean missing, and the new index of each old one.

        The new index is -1 for a value that means missing. The last entry is -1 too: it is for the old index -1.
        """
        values = self._values if self._values is not None else pa.nulls(0, pa.string())
        gone = is_missing(values, self.name, missing)
        renumbered = np.full(len(values) + 1, -1, np.int64)
        renumbered[:-1][~gone] = np.arange(np.count_nonzero(~gone))
        counts = np.append(self._counts[~gone], self._missing + int(self._counts[gone].sum()))
        first = np.append(self._first[~gone], min([self._first_missing, *self._first[gone]]) if counts[-1] else 0)
        return Distinct(self.name, values.filter(pa.array(~gone)), counts, lambda: first), renumbered
