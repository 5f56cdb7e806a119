"""The protocol that every engine implements: encode a source, partition it into groups, publish the groups, audit the release.

A run is a chain of frozen objects: `Source -> Encoded -> Partitioned -> Publication -> Evidence`. Each step takes the object
that the previous step returned. The contents of the objects differ between engines, because the rows are stored differently.
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
"""The quasi-identifiers of a source as codes, and the constraints on its groups."""
Partitioned = TypeVar("Partitioned")
"""The encoded source and the group of each row."""


@dataclass(frozen=True, eq=False)
class Result:
    """The figures of a run. The rows stay with the engine."""

    rows: int
    """Number of rows of the source."""
    loss: Loss
    clusters: int
    blocks: int
    sizes: Counted
    """Sizes of the groups of the release (equivalence classes): in rows, or in people if the job has a unit column."""
    suppressed: int
    """Number of suppressed rows, including rows that are published as `*`."""
    axes: dict[str, str]
    """By quasi-identifier: a description of how it was generalised."""
    notes: tuple[str, ...] = ()
    """What the method did and why."""
    answers: Answers | None = None
    """The answers of the release to the queries of the job's workload."""

    @property
    def class_sizes(self) -> NDArray[np.int64]:
        """The size of every group of the release, in ascending order."""
        return np.repeat(*self.sizes)


Counted = tuple[NDArray[np.int64], NDArray[np.int64]]
"""The different sizes, and how often each size occurs."""


def counted(sizes: NDArray[np.generic]) -> Counted:
    """Count how often each size occurs."""
    different, many = np.unique(sizes, return_counts=True)
    return different.astype(np.int64), many.astype(np.int64)


class Publication(Protocol):
    """A release that can be written as a table or as a file, together with its figures."""

    @property
    def result(self) -> Result: ...

    def labels(self) -> NDArray[np.int64]:
        """Return the cluster of each row of the source; -1 = suppressed."""

    def aligned(self) -> AlignedTables:
        """Return the source and the release row by row, without the rows that were left out. Use it for measurements only."""

    def preview(self, rows: NDArray[np.int64]) -> tuple[pa.Table, pa.Table]:
        """Return these rows before and after. Show it to the user only: it links published rows to rows of the source."""

    def explain(self, progress: Progress) -> dict[str, Any]:
        """Return why the groups are as they are, ready for JSON. It holds only column names and published values."""

    def release_table(self) -> tuple[Any, Evidence]:
        """Audit the release and return it as the same type of data frame as the source; as a pyarrow table for a file."""

    def release_file(self, target: Location, force: bool) -> Evidence:
        """Write the release to a temporary file, audit it, and rename it to `target` only if the audit passes."""


class Engine(Protocol[Encoded, Partitioned]):
    """Runs one job. An engine stores nothing about a run: each step returns everything that it made."""

    name: str
    writes_folders: bool
    """Whether a release is a folder of files whose rows have no order."""

    def __init__(self, job: Job, progress: Progress, rows_at_once: int | None = None) -> None:
        """`rows_at_once` limits the rows of a part, for engines that work in parts. It does not change the release."""

    def require_target(self, target: Location, force: bool, sources: Sequence[Any]) -> None:
        """Raise an error, before any work is done, if the target cannot be written or is one of the run's input files."""

    def encode(self, source: Any) -> Encoded:
        """Read the source (a `Source`, or an object that one can be opened from), bind the job's columns to it and encode it."""

    def partition(self, encoded: Encoded) -> Partitioned:
        """Assign each row to a group with the job's method."""

    def publish(self, partitioned: Partitioned) -> Publication:
        """Turn the groups into a release that can be written, and measure its information loss."""


AnyEngine = Engine[Any, Any]


def run(engine: AnyEngine, source: Any) -> Publication:
    """Run every step up to a release that can be written."""
    return engine.publish(engine.partition(engine.encode(source)))


def require_file(target: Location, force: bool, sources: Sequence[Any]) -> None:
    """Implement `Engine.require_target` for engines that write one file on this machine."""
    path = local(target)
    tables.format_of(path)
    staging.require_free(path, force)
    tables.require_other(path, sources)
