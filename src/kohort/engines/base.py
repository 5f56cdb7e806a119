"""The one small protocol behind every engine: a source is encoded, partitioned, published, and proven.

A run is a chain of frozen objects, `Source -> Encoded -> Partitioned -> Publication -> Evidence`: each step takes the object
that the step before returned. What the objects hold differs from engine to engine, because rows live elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort.auditor import Evidence
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.tables import staging, tables
from kohort.tables.locations import Location, local
from kohort.utility.aligned import AlignedTables
from kohort.utility.loss import Loss
from kohort.utility.queries.answers import Answers

Encoded = TypeVar("Encoded")
"""The quasi-identifiers of a source as codes, and what its groups must satisfy."""
Partitioned = TypeVar("Partitioned")
"""The encoded source with a group for each row."""


@dataclass(frozen=True, eq=False)
class Result:
    """What a method made of the source, in figures; the rows stay with the engine."""

    rows: int
    """Of the source."""
    loss: Loss
    clusters: int
    blocks: int
    sizes: Counted
    """Of the classes: in rows, or in persons where these have several."""
    suppressed: int
    axes: dict[str, str]
    """What was applied to each quasi-identifier."""
    notes: tuple[str, ...] = ()
    """What the method did and why."""
    answers: Answers | None = None
    """What the release answers to the job's workload."""

    @property
    def class_sizes(self) -> NDArray[np.int64]:
        """The size of every class, ascending."""
        return np.repeat(*self.sizes)


Counted = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Different sizes, and how many there are of each."""


def counted(sizes: NDArray[np.generic]) -> Counted:
    """How many there are of each size."""
    different, many = np.unique(sizes, return_counts=True)
    return different.astype(np.int64), many.astype(np.int64)


class Publication(Protocol):
    """A release that can be written, as a table or as a file, and what is known of it."""

    @property
    def result(self) -> Result: ...

    def labels(self) -> NDArray[np.int64]:
        """The cluster of each row of the source; -1 = suppressed."""

    def aligned(self) -> AlignedTables:
        """The source and the release row by row, without those left out. For measuring only."""

    def preview(self, rows: NDArray[np.int64]) -> tuple[pa.Table, pa.Table]:
        """These rows of the source, before and after. For the user's own screen only: it shows who is who."""

    def explain(self, progress: Progress) -> dict[str, Any]:
        """Why the groups are as they are: columns and published values only, ready for JSON."""

    def release_table(self) -> tuple[Any, Evidence]:
        """The release as the kind of data frame that the source was, a pyarrow table if it was a file; audited."""

    def release_file(self, target: Location, force: bool) -> Evidence:
        """The release as a file: staged, audited, renamed into place only if the audit passes."""


class Engine(Protocol[Encoded, Partitioned]):
    """Where the rows of one run live. An engine keeps nothing of a run: what a step made is what it returns."""

    name: str
    writes_folders: bool
    """Whether a release is a folder of files whose rows have no order."""

    def __init__(self, job: Job, progress: Progress, rows_at_once: int | None = None) -> None:
        """`rows_at_once`: work on parts of no more rows, where an engine does so at all. The release is the same."""

    def require_target(self, target: Location, force: bool, sources: Sequence[Any]) -> None:
        """Refuse a target that cannot be written, or that the run reads from, before any work is done. If a file is wanted."""

    def encode(self, source: Any) -> Encoded:
        """Read the source (a `Source`, or what one is opened from), bind the job's columns to it, make codes of it."""

    def partition(self, encoded: Encoded) -> Partitioned:
        """A group for each row, by the job's method."""

    def publish(self, partitioned: Partitioned) -> Publication:
        """The groups as a release that can be written, and how much it loses."""


AnyEngine = Engine[Any, Any]


def run(engine: AnyEngine, source: Any) -> Publication:
    """Every step of a run up to a release that can be written."""
    return engine.publish(engine.partition(engine.encode(source)))


def require_file(target: Location, force: bool, sources: Sequence[Any]) -> None:
    """See `Engine.require_target`, for those that write one file on this machine."""
    path = local(target)
    tables.format_of(path)
    staging.require_free(path, force)
    tables.require_other(path, sources)
