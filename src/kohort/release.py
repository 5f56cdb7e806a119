"""A proven release: the table or file, the evidence that it keeps its promises, and what it lost."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort.auditor import Evidence
from kohort.engines.base import Publication
from kohort.errors import RequestError
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.tables.locations import Location, location_of
from kohort.utility.aligned import AlignedTables
from kohort.utility.loss import Loss
from kohort.utility.queries.answers import Answers

if TYPE_CHECKING:
    from kohort.report.release_charts import Panels
    from kohort.utility.models.accuracy import Mined
    from kohort.utility.structure import Structure


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """A proven release and all that is known of it. `evidence` speaks of the table, or of the file if one was asked for."""

    job: Job
    evidence: Evidence
    output: Location | None
    _publication: Publication
    _engine_name: str
    _progress: Progress
    _table: Any = None

    def __repr__(self) -> str:
        found, verdict = self.evidence, "passed" if self.evidence.passed else "FAILED"
        figures = f"{found.rows:,} rows, {found.classes:,} classes, k={found.k}, leaf loss {self.loss.leaf:.4f}"
        return f"Release({figures}, audit {verdict})"

    @cached_property
    def table(self) -> Any:
        """The release as the kind of data frame that the source was, a pyarrow table if it was a file. Audited as it is."""
        return self._table if self._table is not None else self._publication.release_table()[0]

    @property
    def labels(self) -> NDArray[np.int64]:
        """The cluster of each row of the source, in the source's order; -1 = suppressed. Private: never publish it."""
        return self._publication.labels()

    @property
    def loss(self) -> Loss:
        return self._publication.result.loss

    @property
    def axes(self) -> dict[str, str]:
        """What was applied to each quasi-identifier."""
        return self._publication.result.axes

    @property
    def notes(self) -> tuple[str, ...]:
        """What the method did and why, in sentences."""
        return self._publication.result.notes

    @property
    def answers(self) -> Answers | None:
        """What the release answers to the job's workload, beside the truth."""
        return self._publication.result.answers

    @property
    def kept_suppressed(self) -> bool:
        """Whether the suppressed rows stay, as one class of `*`."""
        return self._publication.result.suppressed > 0 and self.evidence.rows == self._publication.result.rows

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> Evidence:
        """Stage the release beside `path`, audit what was staged, rename it into place; the audit's findings."""
        return self._publication.release_file(location_of(path), force)

    def explain(self, *, progress: Progress | None = None) -> dict[str, Any]:
        """Why each group was cut where it was, ready for JSON: columns and published values only, never another cell.

        The cuts of Mondrian and top-down (column, values and sizes of both sides, gain), every group, and what repair and
        improvement changed. Needs the memory engine; the method is run once more.
        """
        explained = self._publication.explain(progress or Progress(self._progress.threads))
        facts = {"release": str(self.output) if self.output else None, "promises": self.job.promise.model_dump(exclude_none=True)}
        return {**facts, "seed": self.job.seed, "notes": list(self.notes), **explained}

    def aligned(self) -> AlignedTables:
        """The rows of the source that were released, and the release, in one order. For measuring only: it shows who is who."""
        return self._publication.aligned()

    def mine(self, target: str, **settings: Any) -> Mined:
        """How well models trained on the release predict a column of original rows; needs the extra `ml`.

        Settings: `kohort.utility.models.accuracy.mine`.
        """
        from kohort.utility.models.accuracy import mine

        return mine(self._publication.aligned(), target, **settings)

    def structure(self, *, propensity: bool = False) -> Structure:
        """How far the distributions that the release tells are from those of its source; a propensity score needs extra `ml`."""
        from kohort.utility.structure import structure

        return structure(self._publication.aligned(), propensity=propensity)

    def preview(self, rows: Sequence[int] | NDArray[np.int64]) -> tuple[pa.Table, pa.Table]:
        """These rows of the source before and after, side by side. For your own screen: it shows who is who."""
        wanted = np.asarray(rows)
        known = wanted.ndim == 1 and (not wanted.size or wanted.dtype.kind in "iu")
        if not known or ((wanted < 0) | (wanted >= self._publication.result.rows)).any():
            raise RequestError(f"Rows to show are numbered from 0 to {self._publication.result.rows - 1}.")
        return self._publication.preview(wanted.astype(np.int64))

    def plot(self) -> Panels:
        """How many persons look alike, and how much of each column is lost: two matplotlib axes, shown by a notebook."""
        from kohort.report.release_charts import release_figure

        counted_in = "people" if self.job.names("unit") else "rows"
        return release_figure(self._publication.result.class_sizes, self.job.promise.k, self.loss.per_column, counted_in)

    def _repr_html_(self) -> str:
        from kohort.report.notebook import release_html

        output = str(self.output) if self.output else None
        return release_html(self.evidence, self.loss, self.axes, output=output, method=self.job.method, k=self.job.promise.k)

    def summary(self) -> dict[str, Any]:
        """The run in one object, as `--json` prints it."""
        return {
            "rows": self.evidence.rows,
            "classes": self.evidence.classes,
            "clusters": self._publication.result.clusters,
            "blocks": self._publication.result.blocks,
            "suppressed": self._publication.result.suppressed,
            "k": self.evidence.k,
            "counted_in": "persons" if self.job.names("unit") else "rows",
            "method": self.job.method,
            "told": list(self.notes),
            "engine": self._engine_name,
            "seed": self.job.seed,
            "loss": self.loss.to_dict(),
            **({} if self.answers is None else {"queries": self.answers.to_dict()}),
            "audit": self.evidence.to_dict(),
            "seconds": {step: round(seconds, 3) for step, seconds in self._progress.seconds.items()},
            "cpu_seconds": {step: round(seconds, 3) for step, seconds in self._progress.cpu_seconds.items()},
            "output": str(self.output) if self.output else None,
        }
