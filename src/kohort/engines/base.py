"""The one small protocol behind every engine: open a source, partition it, prove a release of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort.auditor import Evidence
from kohort.job import Job
from kohort.progress import Progress
from kohort.utility.loss import Loss
from kohort.utility.pairs import Pair
from kohort.utility.queries import Answers


@dataclass(frozen=True, eq=False)
class Result:
    """What a method made of the source, in figures; the rows stay with the engine."""

    labels: NDArray[np.int64]
    loss: Loss
    clusters: int
    blocks: int
    class_sizes: NDArray[np.int64]
    """In rows, or in persons where these have several."""
    suppressed: int
    axes: dict[str, str]
    """What was applied to each quasi-identifier."""
    told: tuple[str, ...] = ()
    """What the method did and why."""
    answers: Answers | None = None
    """What the release answers to the job's workload."""


class Engine(Protocol):
    """One run over one source. The steps are called in the order they stand here."""

    name: str

    def __init__(self, job: Job, progress: Progress) -> None: ...

    def read(self, source: Any) -> None:
        """Take the source in, and bind the job's columns to it."""

    def encode(self) -> None:
        """Quasi-identifiers to codes."""

    def partition(self) -> None:
        """Codes to labels, by the job's method."""

    def publish(self) -> Result:
        """Labels to a release that can be written; how much it loses."""

    def aligned(self) -> Pair:
        """The source and the release row by row, without those left out. For measuring only."""

    def preview(self, rows: NDArray[np.int64]) -> tuple[pa.Table, pa.Table]:
        """These rows of the source, before and after. For the user's own screen only: it shows who is who."""

    def release_table(self) -> tuple[Any, Evidence]:
        """The release as the kind of data frame that the source was, a pyarrow table if it was a file; audited."""

    def release_file(self, target: Path, force: bool) -> Evidence:
        """The release as a file: staged, audited, renamed into place only if the audit passes."""
