"""Counts people who may have several rows, in parts of a table and in published groups, if the rows do not fit into memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kohort.engines.base import Counted, counted
from kohort.engines.shared.packed_table import PackedTable
from kohort.engines.shared.spool import Spool
from kohort.progress import Progress


def whole_persons(chunks: Iterable[NDArray[np.uint64]], person: int) -> Iterator[NDArray[np.uint64]]:
    """Yield packed rows, which are sorted by person, in chunks that hold all rows of each of their people."""
    held: list[NDArray[np.uint64]] = []
    for chunk in chunks:
        if not len(chunk):
            continue
        last = 0  # the first row of the last person of the chunk
        changes = np.flatnonzero(chunk[1:, person] != chunk[:-1, person])
        if len(changes):
            last = int(changes[-1]) + 1
        if last or (held and chunk[0, person] != held[-1][0, person]):
            yield np.concatenate([*held, chunk[:last]])
            held = []
        held.append(chunk[last:])
    if held:
        yield np.concatenate(held)


def sorted_by_person(
    packed: PackedTable, words: Spool[np.uint64], folder: Path, most_bytes: int, progress: Progress
) -> Spool[np.uint64]:
    """Return a copy of packed rows in which the rows of each person follow one another."""
    person = packed.person_word
    files = _HashedFiles(folder, "people", packed.words, 8 * packed.words * words.rows // most_bytes + 1)
    for chunk in words.chunks():
        progress.check()
        rows = chunk.reshape(len(chunk), -1)
        files.add(rows, rows[:, person])
    copy = Spool(folder / "people", np.uint64, packed.words)
    for rows in files.read_and_remove():
        progress.check()
        copy.append(rows[np.argsort(rows[:, person], kind="stable")])
    return copy


class ClassPersons:
    """Counts the people of each published group from rows that are added part by part."""

    def __init__(self, folder: Path, rows: int, most_bytes: int) -> None:
        self._files = _HashedFiles(folder, "class persons", 2, 16 * rows // most_bytes + 1)

    def add(self, classes: NDArray[np.uint64], persons: NDArray[np.uint64]) -> None:
        """Add rows, given the key of the published group of each row and the hash of its person."""
        pairs = _different(np.column_stack([classes, persons]))
        self._files.add(pairs, pairs[:, 0])

    def sizes(self) -> Counted:
        """Return the sizes of the published groups in people."""
        sizes = [np.unique(_different(pairs)[:, 0], return_counts=True)[1] for pairs in self._files.read_and_remove()]
        return counted(np.concatenate(sizes))


def _different(pairs: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the distinct pairs."""
    ordered = pairs[np.lexsort(pairs.T[::-1])]
    first = np.ones(len(ordered), np.bool_)
    first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return ordered[first]


class _HashedFiles:
    """Rows distributed over files by a hash key. Rows with the same key are in the same file, and each file fits into memory."""

    def __init__(self, folder: Path, name: str, width: int, files: int) -> None:
        self._files = [Spool(folder / f"{name} {number}", np.uint64, width) for number in range(files)]

    def add(self, rows: NDArray[np.uint64], keys: NDArray[np.uint64]) -> None:
        number = (keys >> np.uint64(32)) % np.uint64(len(self._files))
        order = np.argsort(number, kind="stable")
        ends = np.cumsum(np.bincount(number.astype(np.int64), minlength=len(self._files)))
        for file, some in zip(self._files, np.split(order, ends[:-1]), strict=True):
            if len(some):
                file.append(rows[some])

    def read_and_remove(self) -> Iterator[NDArray[np.uint64]]:
        """Yield the rows of one file after the other. Remove each file after reading it."""
        for file in self._files:
            rows = file.read()
            file.remove()
            yield rows.reshape(len(rows), -1)
