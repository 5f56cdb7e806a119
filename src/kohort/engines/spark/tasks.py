"""The tasks of the executors: pack rows, assign them to parts, count them, and group a part. Input and output are Arrow tables.

Every task gives the same result for the same rows, because Spark runs a task again on another executor if its executor fails.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kohort.encoding import row_order as ordering
from kohort.encoding.encode import comparable, is_missing
from kohort.encoding.sensitive import same_zeros
from kohort.engines.shared.counted_part import OneCluster
from kohort.engines.shared.cut_tree import CutTree
from kohort.engines.shared.method_run import partition_part, partition_whole
from kohort.engines.shared.packed_table import PackedTable
from kohort.engines.shared.persons import whole_persons
from kohort.engines.spark.session import Batches, carry_errors
from kohort.errors import KohortError, MachineError
from kohort.job.job import Job
from kohort.methods import Partition
from kohort.methods.run import RunSummary
from kohort.progress import Progress
from kohort.publishing.boxes import Boxes, boxes_of
from kohort.publishing.published_rows import PublishedRows
from kohort.publishing.texts import Texts, texts_of
from kohort.schema.columns import Schema
from kohort.tables.tables import as_text
from kohort.utility.loss import Sums, sums_of
from kohort.verification.verify import Proof

PART, KEY, SUPPRESSED_GROUP, REPORT = "kohort_part", "kohort_key", "kohort_suppressed", "kohort_report"
DENSE = 1 << 22
"""The most counts that a task sums over all its batches. If there are more, it returns the counts of each batch."""


@dataclass(frozen=True)
class Head:
    """The information about a table that every task needs: settings, dictionaries and bit layout, without rows."""

    job: Job
    schema: Schema
    packed: PackedTable
    proof: Proof
    names: tuple[str, ...]
    """The columns of the source that are used. Tasks get them in this order, named c0, c1, ..."""
    arrow_schema: pa.Schema

    def cells(self, rows: pa.Table | pa.RecordBatch) -> pa.Table:
        """Return the columns of the source under their own names and with their own types."""
        columns = [rows.column(f"c{number}").cast(self.arrow_schema.field(name).type) for number, name in enumerate(self.names)]
        return pa.table(dict(zip(self.names, columns, strict=True)))

    @property
    def word_names(self) -> list[str]:
        return [f"w{number}" for number in range(self.packed.words)]

    def words(self, rows: pa.Table | pa.RecordBatch) -> NDArray[np.uint64]:
        """Return the packed rows that an earlier task has stored in the columns w0, w1, ..."""
        columns = [rows.column(name).to_numpy(zero_copy_only=False) for name in self._words_in(rows)]
        return np.ascontiguousarray(np.column_stack(columns)).view(np.uint64)

    def _words_in(self, rows: pa.Table | pa.RecordBatch) -> list[str]:
        return [name for name in self.word_names if name in rows.schema.names]

    def pack(self, cells: pa.Table) -> NDArray[np.uint64]:
        """Pack rows of the source."""
        packed, bound = self.packed, self.schema
        indices = {name: _indices(cells.column(name), name, packed, bound.missing) for name in packed.held}
        units = bound.named("unit")
        persons = ordering.text_hashes(cells.column(units[0])) if units else None
        ties = ordering.ties_of(cells, bound, self.job.seed or 0) if packed.ordered else None
        return packed.pack(indices, persons, ties)


def _indices(column: pa.ChunkedArray, name: str, packed: PackedTable, missing: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the index of each row's value among the distinct values that were collected before; -1 = missing."""
    values = packed.held[name].values
    column = same_zeros(comparable(column, name)).cast(values.type)
    found = pc.index_in(column, value_set=values).combine_chunks()
    indices: NDArray[np.int64] = found.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    if found.null_count:
        unknown = column.filter(pa.array(indices < 0)).combine_chunks()
        if not is_missing(unknown, name, missing).all():
            raise MachineError(
                f"Column {name!r} has new values: the source changed during the run. Nothing was published. "
                "Run again when nothing writes to the source."
            )
    return indices


# --- counting


def packing(head: Head, words: int) -> Callable[[Batches], Batches]:
    """Return a task that packs rows and returns the first `words` words."""

    @carry_errors
    def run(batches: Batches) -> Batches:
        for batch in batches:
            packed = head.pack(head.cells(batch)).view(np.int64)
            yield pa.record_batch([pa.array(packed[:, number]) for number in range(words)], names=head.word_names[:words])

    return run


def routed(head: Head, tree: CutTree, words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the node of each row."""
    from kohort.kernels.cuts.routing import route

    node_of = np.empty(len(words), np.int64)
    route(words, head.packed.layout, tree.axis, tree.cut, tree.left, node_of)
    return node_of


Count = Callable[[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]], None]
"""Takes packed rows, the node of each row, and an array of counts, and adds the rows to the counts."""


def counting(head: Head, tree: CutTree, size: int, count: Count, *, persons: bool) -> Callable[[Batches], Batches]:
    """Return a task that counts packed rows in an array of this size and returns pairs (index, count), only counts above 0.

    A large array is returned batch by batch. With `persons`, the rows are sorted by person, and all rows of a person are counted
    together.
    """

    def report(counts: NDArray[np.int64]) -> pa.RecordBatch:
        at = np.flatnonzero(counts)
        return pa.record_batch([pa.array(at), pa.array(counts[at])], names=["at", "n"])

    @carry_errors
    def run(batches: Batches) -> Batches:
        counts = np.zeros(size, np.int64)
        pieces = map(head.words, batches)
        for words in whole_persons(pieces, head.packed.person_word) if persons else pieces:
            count(words, routed(head, tree, words), counts)
            if size > DENSE:
                yield report(counts)
                counts[:] = 0
        yield report(counts)

    return run


# --- assigning rows to parts


def parting(head: Head, tree: CutTree, salted: Mapping[int, int]) -> Callable[[Batches], Batches]:
    """Return a task that adds to the rows of the source their packed words and the number of their part.

    A node in `salted` is already one cluster, with any number of rows. `salted` gives the number of parts over which its rows are
    distributed; these parts have negative numbers. The part of a row must not depend on the order of the rows: a task that runs
    again may get them in another order, and rows would be lost.
    """

    @carry_errors
    def run(batches: Batches) -> Batches:
        copies = _Copies()
        for batch in batches:
            cells = head.cells(batch)
            words = head.pack(cells)
            part = routed(head, tree, words)
            for number, (node, many) in enumerate(salted.items()):
                inside = np.flatnonzero(part == node)
                if len(inside):
                    salt = copies.numbered(_row_hashes(head, cells.take(pa.array(inside)), words[inside])) % np.uint64(many)
                    part[inside] = -1 - (salt.astype(np.int64) * len(salted) + number)
            columns = [*batch.columns, *(pa.array(column) for column in words.view(np.int64).T), pa.array(part)]
            yield pa.record_batch(columns, names=[*batch.schema.names, *head.word_names, PART])

    return run


def _row_hashes(head: Head, cells: pa.Table, words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return, per row, a hash of all its cells that are published or that published values are made from."""
    state = ordering.ties_of(cells, head.schema, head.job.seed or 0)
    for word in words.T:
        state = ordering.splitmix64(state ^ word)
    return state


class _Copies:
    """Counts how often each hash of a row has occurred so far."""

    def __init__(self) -> None:
        self._known = np.empty(0, np.uint64)
        self._times = np.empty(0, np.uint64)

    def numbered(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the hash of each row plus the number of equal rows before it. Any order of the rows gives the same numbers."""
        different, index, many = np.unique(hashes, return_inverse=True, return_counts=True)
        by_hash = np.argsort(index, kind="stable")
        rank = np.empty(len(hashes), np.uint64)
        rank[by_hash] = np.arange(len(hashes)) - np.repeat(np.cumsum(many) - many, many)
        new = ~np.isin(different, self._known, assume_unique=True)
        at = np.searchsorted(self._known, different[new])
        self._known, self._times = np.insert(self._known, at, different[new]), np.insert(self._times, at, 0)
        held = np.searchsorted(self._known, different)
        before = self._times[held]
        self._times[held] += many.astype(np.uint64)
        return hashes + before[index] + rank


def clustering(head: Head, tree: CutTree, nodes: tuple[int, ...]) -> Callable[[Batches], Batches]:
    """Return a task that collects the counts of nodes that are one cluster each."""

    @carry_errors
    def run(batches: Batches) -> Batches:
        clusters = {node: OneCluster(head.packed, head.schema) for node in nodes}
        for batch in batches:
            words = head.pack(head.cells(batch))
            node_of = routed(head, tree, words)
            for node in np.intersect1d(node_of, nodes).tolist():
                clusters[node].add(head.packed, words[node_of == node])
        yield pa.record_batch([pa.array([pickle.dumps(clusters)])], names=[REPORT])

    return run


# --- grouping and publishing a part


@dataclass(frozen=True)
class PartReport:
    """The figures of a part, which its task returns in addition to the rows."""

    rows: int
    error: KohortError | None = None
    sums: Sums | None = None
    summary: RunSummary = field(default_factory=RunSummary)
    suppressed_rows: OneCluster | None = None
    """The suppressed rows, as counts."""
    whole: Partition | None = None
    """The partition, without its labels, if the part is the whole table."""


def finishing(head: Head, secret: bytes, boxes: Mapping[int, Boxes], *, whole: bool) -> Callable[[Any, pa.Table], pa.Table]:
    """Return a task that groups a part and returns its published rows, their original cells and one more row with the report.

    `boxes` are the boxes of nodes that are one cluster each. The parts of these nodes have negative numbers.
    """

    def run(key: tuple[Any, ...], rows: pa.Table) -> pa.Table:
        part = int(key[0].as_py() if hasattr(key[0], "as_py") else key[0])
        finish = _Finish(head, rows)
        try:
            if part < 0:
                node = list(boxes)[(-1 - part) % len(boxes)]
                published, report = finish.one_cluster(boxes[node]), PartReport(rows.num_rows)
            else:
                published, report = finish.whole() if whole else finish.part()
        except KohortError as error:
            published, report = finish.nothing(), PartReport(rows.num_rows, error)
        # The order is not drawn anew from the system's random bytes: a task that runs again must give its rows the same keys.
        stream = hashlib.shake_256(secret + part.to_bytes(8, "big", signed=True)).digest(8 * published.num_rows)
        published = published.append_column(KEY, pa.array(np.frombuffer(stream, np.int64)))
        return pa.concat_tables([published, _report_row(published.schema, report)])

    return run


def _report_row(schema: pa.Schema, report: PartReport) -> pa.Table:
    """Return one row that holds only the report. It is not part of the release."""
    cells = [pickle.dumps(report) if name == REPORT else 0 if name == KEY else None for name in schema.names]
    return pa.table([pa.array([cell], field.type) for cell, field in zip(cells, schema, strict=True)], schema=schema)


class _Finish:
    """Groups and publishes the rows of one part."""

    def __init__(self, head: Head, rows: pa.Table) -> None:
        self._head = head
        # A shuffle delivers rows in no fixed order, so they are sorted in a way that depends only on the rows.
        words, cells = head.words(rows), head.cells(rows)
        order = np.lexsort([ordering.ties_of(cells, head.schema, head.job.seed or 0), *words.T])
        self._words, self._cells = words[order], cells.take(pa.array(order))
        self._points, self._constraints = head.packed.points(self._words), head.packed.constraints(self._words)

    def whole(self) -> tuple[pa.Table, PartReport]:
        """Group and publish a part that is the whole table."""
        head, points, constraints = self._head, self._points, self._constraints
        constraints.require_whole_table()
        made = partition_whole(head.job, head.schema, points, constraints, self._ties, Progress(1))
        boxes = boxes_of(points, made, head.schema)
        texts = texts_of(head.schema, points.axes, boxes)
        is_suppressed_group = np.equal(made.labels, -1 if made.suppressed_group is None else made.suppressed_group)
        summary = RunSummary(points.rows, made.blocks, int(np.count_nonzero((made.labels < 0) | is_suppressed_group)))
        sums, without_labels = sums_of(points, made.labels, boxes), replace(made, labels=made.labels[:0])
        report = PartReport(points.rows, None, sums, summary, None, without_labels)
        return self._published(texts, made.labels, np.flatnonzero(made.labels >= 0), suppressed_group=False), report

    def part(self) -> tuple[pa.Table, PartReport]:
        """Group and publish one of several parts. Suppressed rows are included as `*` if the job may publish them so."""
        head, points = self._head, self._points
        labels, summary = partition_part(head.job, points, self._constraints, self._ties, Progress(1))
        boxes = boxes_of(points, Partition(labels), head.schema)
        rows = self._published(
            texts_of(head.schema, points.axes, boxes), labels, np.flatnonzero(labels >= 0), suppressed_group=False
        )
        suppressed_rows = None
        if summary.suppressed:
            out = np.flatnonzero(labels < 0)
            suppressed_rows = OneCluster(head.packed, head.schema)
            suppressed_rows.add(head.packed, self._words[out])
            if head.job.suppressed == "star":
                texts = texts_of(head.schema, points.axes, suppressed_rows.finished(head.packed, suppressed_group=True)[0])
                rows = pa.concat_tables([rows, self._published(texts, np.zeros_like(labels), out, suppressed_group=True)])
        return rows, PartReport(points.rows, None, sums_of(points, labels, boxes), summary, suppressed_rows)

    def one_cluster(self, boxes: Boxes) -> pa.Table:
        """Publish the rows of a part that belong to one cluster with a known box."""
        texts = texts_of(self._head.schema, self._points.axes, boxes)
        zeros = np.zeros(self._points.rows, np.int64)
        return self._published(texts, zeros, np.arange(len(zeros)), suppressed_group=False)

    def nothing(self) -> pa.Table:
        """Return a table without rows that has the columns of a published part."""
        none = np.empty(0, np.int64)
        points = self._points.take(none)
        boxes = boxes_of(points, Partition(none), self._head.schema)
        texts = texts_of(self._head.schema, points.axes, boxes)
        return self._published(texts, np.zeros(self._points.rows, np.int64), none, suppressed_group=False)

    def _ties(self) -> NDArray[np.uint64]:
        return self._head.packed.ties(self._words)

    def _published(
        self, texts: Texts, labels: NDArray[np.int64], order: NDArray[np.int64], *, suppressed_group: bool
    ) -> pa.Table:
        head = self._head
        publication = PublishedRows(self._cells, head.schema, texts, labels)
        release = pa.Table.from_batches(publication.batches(order), publication.schema)
        taken = self._cells.take(pa.array(order))
        originals = head.proof.originals(taken.column, None)
        columns = {f"r{number}": _for_spark(column) for number, column in enumerate(release.columns)}
        columns |= {f"{alias}_original": _for_spark(column) for alias, column in originals.items()}
        columns[SUPPRESSED_GROUP] = pa.array(np.full(len(order), suppressed_group))
        columns[REPORT] = pa.nulls(len(order), pa.binary())
        return pa.table(columns)


def _for_spark(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Return a column with the type that Spark accepts from a task: times with a zone in UTC, dictionaries as their values."""
    arrow_type = column.type
    if pa.types.is_timestamp(arrow_type) and arrow_type.tz is not None:
        return column.cast(pa.timestamp("us", "UTC"))
    return column.cast(arrow_type.value_type) if pa.types.is_dictionary(arrow_type) else column


def columns_of(head: Head, nothing: pa.Table) -> pa.Schema:
    """Return the schema of a published part; `nothing` is a table with the columns of the source and no rows."""
    for name in head.word_names:
        nothing = nothing.append_column(name, pa.array([], pa.int64()))
    published = _Finish(head, nothing).nothing()
    return published.append_column(KEY, pa.array([], pa.int64())).schema


def to_text(arrow_schema: Sequence[pa.DataType]) -> Callable[[Batches], Batches]:
    """Return a task that turns columns into the texts of a CSV file. Times use the zone of their column, not of the session."""

    def text(column: pa.Array, arrow_type: pa.DataType) -> pa.Array:
        return as_text(column.cast(arrow_type) if pa.types.is_timestamp(arrow_type) else column)

    def run(batches: Batches) -> Batches:
        for batch in batches:
            texts = [text(column, arrow_type) for column, arrow_type in zip(batch.columns, arrow_schema, strict=True)]
            yield pa.record_batch(texts, names=batch.schema.names)

    return run
