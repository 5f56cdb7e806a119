"""Assigns packed rows on disk to the nodes of a cut tree: counts them level by level, then writes each part to its own file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kohort.engines.shared.cut_tree import CutTree
from kohort.engines.shared.packed_table import PackedTable
from kohort.engines.shared.persons import whole_persons
from kohort.engines.shared.spool import Reader, Spool
from kohort.errors import RequestError
from kohort.progress import Progress

MOST_PARTS = 1 << 16
READ_AHEAD = 1 << 14  # rows to read at once of each part; few, because there may be many parts


class SpoolCounting:
    """See `cut_tree.Counting`. One scan over the rows counts all parts of a level, if the counts fit into memory."""

    def __init__(
        self, packed: PackedTable, words: Spool[np.uint64], people: Spool[np.uint64] | None, most_bytes: int, progress: Progress
    ) -> None:
        """`people` holds the same rows sorted by person; None without a unit column."""
        self._packed, self._words, self._people, self._most, self._progress = packed, words, people, most_bytes, progress
        self._sizes = np.array([coding.axis.size for coding in packed.quasi.codings], np.int64)
        self._first = np.cumsum([0, *(sensitive_column.values for sensitive_column in packed.sensitive)]).astype(np.int64)

    def codes(self, tree: CutTree, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        from kohort.kernels.cuts.routing import count_codes

        start = np.cumsum([0, *self._sizes[:-1]]).astype(np.int64)
        counts = np.zeros((len(nodes), int(self._sizes.sum())), np.int64)
        at_once = max(1, self._most // (8 * counts.shape[1]))
        for first in range(0, len(nodes), at_once):
            some = counts[first : first + at_once]
            slots = tree.slots(nodes[first : first + at_once])
            for chunk, node_of in self._routed(tree, self._words.chunks()):
                count_codes(chunk, self._packed.layout, node_of, slots, start, some)
        return counts

    def pairs(self, tree: CutTree, nodes: NDArray[np.int64], axes: NDArray[np.int64]) -> Sequence[NDArray[np.int64]]:
        from kohort.kernels.cuts.routing import count_pairs

        values = int(self._first[-1])
        ends = np.cumsum(self._sizes[axes] * values)
        if 8 * int((self._sizes[axes] * values).max()) > self._most:
            raise RequestError(
                f"The sensitive columns have {values:,} different values and a quasi-identifier has "
                f"{int(self._sizes[axes].max()):,}. The table of their combinations does not fit into the memory limit. "
                "Raise the limit (--memory), or combine sensitive values into fewer ones."
            )
        counts = np.zeros(int(ends[-1]), np.int64)
        start = np.append(0, ends[:-1])
        slots = tree.slots(nodes)
        for chunk, node_of in self._routed(tree, self._words.chunks()):
            count_pairs(chunk, self._packed.layout, node_of, slots, axes, start, self._first, counts)
        return [part.reshape(-1, values) for part in np.split(counts, ends[:-1])]

    def persons(self, tree: CutTree, nodes: NDArray[np.int64], axes: NDArray[np.int64]) -> Sequence[NDArray[np.int64]]:
        from kohort.kernels.cuts.routing import count_persons

        if self._people is None:
            return [np.empty((2, 0), np.int64)] * len(nodes)
        ends, person = np.cumsum(self._sizes[axes]), self._packed.person_word
        counts = np.zeros((2, int(ends[-1])), np.int64)
        start, slots, reach = np.append(0, ends[:-1]), tree.slots(nodes), np.full((3, len(nodes)), -1, np.int64)
        for chunk, node_of in self._routed(tree, whole_persons(self._people.chunks(), person)):
            count_persons(chunk, person, self._packed.layout, node_of, slots, axes, start, reach, counts)
        return np.split(counts, ends[:-1], axis=1)

    def _routed(
        self, tree: CutTree, chunks: Iterable[NDArray[np.uint64]]
    ) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.int64]]]:
        from kohort.kernels.cuts.routing import route

        for chunk in chunks:
            self._progress.check()
            rows = chunk.reshape(len(chunk), -1)
            node_of = np.empty(len(rows), np.int64)
            route(rows, self._packed.layout, tree.axis, tree.cut, tree.left, node_of)
            yield rows, node_of


@dataclass(frozen=True)
class Scattered:
    """The rows of each part in the order of the source, and the part of each row of the source."""

    parts: Sequence[Spool[np.uint64]]
    part_of: Spool[np.uint16]

    def in_table_order(self, cells: Sequence[Spool[np.int32]]) -> Iterator[NDArray[np.int32]]:
        """Yield cells that were stored per part, one for each row, in chunks in the order of the source."""
        readers = [Reader(spool.chunks(READ_AHEAD)) for spool in cells]
        for parts in self.part_of.chunks():
            order = np.argsort(parts, kind="stable")
            whole = np.empty(len(parts), np.int32)
            first = 0
            for part, rows in enumerate(np.bincount(parts, minlength=len(cells)).tolist()):
                if rows:
                    whole[order[first : first + rows]] = readers[part].take(rows)
                first += rows
            yield whole


def scatter(packed: PackedTable, words: Spool[np.uint64], tree: CutTree, folder: Path, progress: Progress) -> Scattered:
    """Write each row to the file of its part."""
    from kohort.kernels.cuts.routing import route

    nodes = tree.parts
    if len(nodes) > MOST_PARTS:
        raise RequestError(
            f"With this memory limit the table must be cut into {len(nodes):,} parts. At most {MOST_PARTS:,} are possible. "
            "Raise the limit (--memory)."
        )
    number_of = tree.slots(nodes)
    parts = [Spool(folder / f"part-{number}", np.uint64, packed.words) for number in range(len(nodes))]
    part_of = Spool(folder / "parts", np.uint16)
    for chunk in words.chunks():
        progress.check()
        rows = chunk.reshape(len(chunk), -1)
        node_of = np.empty(len(rows), np.int64)
        route(rows, packed.layout, tree.axis, tree.cut, tree.left, node_of)
        numbers = number_of[node_of].astype(np.uint16)
        order = np.argsort(numbers, kind="stable")
        sorted_rows = rows[order]
        first = 0
        for part, many in enumerate(np.bincount(numbers, minlength=len(nodes)).tolist()):
            if many:
                parts[part].append(sorted_rows[first : first + many])
            first += many
        part_of.append(numbers)
    return Scattered(parts, part_of)
