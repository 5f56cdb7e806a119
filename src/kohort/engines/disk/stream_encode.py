"""Encodes a stream of rows as packed codes on disk: one pass over the source, and one over the temporary files of the first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort.encoding import row_order as ordering
from kohort.encoding.encode import is_missing
from kohort.encoding.sensitive import missing_person_error
from kohort.engines.disk.dictionaries import Dictionary, require_room
from kohort.engines.disk.memory_limits import Limits
from kohort.engines.disk.personal_columns import PersonalColumnCheck
from kohort.engines.shared.encode_columns import coded_columns, coded_table
from kohort.engines.shared.method_run import needs_order
from kohort.engines.shared.packed_table import PackedTable
from kohort.engines.shared.spool import Spool
from kohort.errors import RequestError, gathered
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.schema import columns as schema
from kohort.schema.columns import Schema
from kohort.tables.streams import Stream
from kohort.tables.tables import Source

VALUES_SHARE = 12
"""While distinct values are collected, they may use 1/12 of the free memory. Sorting and coding them needs the rest."""


@dataclass(frozen=True, eq=False)
class DiskEncoded:
    """A source whose rows are packed in a private folder. The folder is removed with this object."""

    source: Source
    stream: Stream
    schema: Schema
    folder: Path
    limits: Limits
    packed: PackedTable
    words: Spool[np.uint64]
    """The packed rows."""

    @property
    def cluster_column(self) -> str:
        """A name for the column of cluster numbers that no column of the source has."""
        return f"cluster {max(self.stream.schema.names, key=len)}"


class StreamEncoder:
    """Encodes a source. Until all distinct values are known, it stores per row their indices, its person and its tie breaker."""

    def __init__(self, job: Job, bound: Schema, folder: Path, limits: Limits) -> None:
        self._job, self._schema, self._folder = job, bound, folder
        self._names = coded_columns(job)
        sensitive = bound.named("sensitive")
        self._most_bytes = limits.room() // VALUES_SHARE
        self._dictionaries = {name: Dictionary(name, sensitive=name in sensitive) for name in self._names}
        self._personal_checks = {
            name: PersonalColumnCheck(folder / f"personal-{number}") for number, name in enumerate(schema.unproven(bound))
        }
        self._units, self._ordered = bound.named("unit"), needs_order(job)
        self._indices = Spool(folder / "indices", np.int32, len(self._names))
        self._extras: Spool[np.uint64] | None = None
        self._without_person, self._first_without_person = 0, 0
        if self._units or self._ordered:
            self._extras = Spool(folder / "extras", np.uint64, len(self._units) + self._ordered)

    def encode(self, stream: Stream, progress: Progress) -> tuple[PackedTable, Spool[np.uint64]]:
        """Return the layout of the packed table, and its packed rows."""
        used = [*self._names, *self._personal_checks, *self._units, *(ordering.carried(self._schema) if self._ordered else ())]
        done = progress.slot()
        for batch in stream.batches(list(dict.fromkeys(used))):
            progress.check()
            self._add(batch)
            done[0] = self._indices.rows
        schema.require_rows(self._schema, self._indices.rows, lambda name: self._personal_checks[name].reason())
        for check in self._personal_checks.values():
            check.remove()
        if self._without_person:
            raise missing_person_error(self._units[0], self._without_person, self._first_without_person)
        found = {name: dictionary.finished(self._schema.missing) for name, dictionary in self._dictionaries.items()}
        held = {name: values for name, (values, _renumbered) in found.items()}
        packed = coded_table(self._job, self._schema, held, self._indices.rows)
        words = self._packed(packed, {name: renumbered for name, (_values, renumbered) in found.items()}, progress)
        self._indices.remove()
        if self._extras is not None:
            self._extras.remove()
        return packed, words

    def _add(self, batch: pa.RecordBatch) -> None:
        problems: list[str] = []
        indices = np.empty((batch.num_rows, len(self._names)), np.int32)
        for number, (name, dictionary) in enumerate(self._dictionaries.items()):
            with gathered(problems):
                indices[:, number] = dictionary.add(batch.column(name))
        if problems:
            raise RequestError(problems)
        require_room(self._dictionaries.values(), self._indices.rows + batch.num_rows, self._most_bytes)
        for name, check in self._personal_checks.items():
            check.add(batch.column(name))
        if self._extras is not None:
            self._extras.append(np.column_stack(self._extra_columns(batch)))
        self._indices.append(indices)

    def _extra_columns(self, batch: pa.RecordBatch) -> list[NDArray[Any]]:
        """Return the hashes of the people and the tie breakers, if the job needs them. Count rows without a person."""
        columns: list[NDArray[Any]] = []
        for name in self._units:
            column = batch.column(name)
            gone = is_missing(column, name, self._schema.missing)
            if gone.any() and not self._without_person:
                self._first_without_person = self._indices.rows + int(np.argmax(gone))
            self._without_person += int(np.count_nonzero(gone))
            columns.append(ordering.text_hashes(column))
        if self._ordered:
            columns.append(ordering.ties_of(batch, self._schema, self._job.seed or 0))
        return columns

    def _packed(self, packed: PackedTable, renumbered: dict[str, NDArray[np.int64]], progress: Progress) -> Spool[np.uint64]:
        words = Spool(self._folder / "words", np.uint64, packed.words)
        done = progress.slot()
        extras = self._extras.chunks() if self._extras is not None else None
        for chunk in self._indices.chunks():
            progress.check()
            rows = chunk.reshape(len(chunk), -1)
            indices = {name: renumbered[name][rows[:, number]] for number, name in enumerate(self._names)}
            more = next(extras).reshape(len(chunk), -1) if extras is not None else None
            persons = more[:, 0] if more is not None and self._units else None
            ties = more[:, -1] if more is not None and self._ordered else None
            words.append(packed.pack(indices, persons, ties))
            done[0] = words.rows
        return words
