"""Release: an anonymized table or file, the evidence that it keeps its promises, and the detail lost."""

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
from kohort.wording import percent

if TYPE_CHECKING:
    from kohort.report.release_charts import Panels
    from kohort.utility.models.accuracy import Mined
    from kohort.utility.structure import Structure


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """An anonymized table or file that passed its audit. `kohort.anonymize` returns it.

    Attributes
    ----------
    job : Job
        The settings of the run, with its seed.
    evidence : Evidence
        The audit of the written file, or of the table if no file was requested.
    output : path or None
        The file that was written.

    Examples
    --------
    >>> import kohort as kh
    >>> sample = kh.datasets.hospital(rows=500)
    >>> release = kh.anonymize(sample.table, sample.job, k=5, seed=7)
    >>> release.evidence.passed, release.table.num_rows
    (True, 500)
    >>> print(f"{100 * release.loss.leaf:.1f} % of detail lost")
    12.8 % of detail lost
    """

    job: Job
    evidence: Evidence
    output: Location | None
    _publication: Publication
    _engine_name: str
    _progress: Progress
    _table: Any = None

    def __repr__(self) -> str:
        found, verdict = self.evidence, "passed" if self.evidence.passed else "FAILED"
        figures = f"k={found.k}, {found.rows:,} rows in {found.classes:,} groups, {percent(self.loss.leaf)} of detail lost"
        return f"Release(audit {verdict}, {figures})"

    @cached_property
    def table(self) -> Any:
        """The audited release as a data frame of the source's library; a pyarrow table if the source was a file."""
        return self._table if self._table is not None else self._publication.release_table()[0]

    @property
    def labels(self) -> NDArray[np.int64]:
        """The group number of each row of the source, in the source's order; -1 if suppressed. Private: never publish it."""
        return self._publication.labels()

    @property
    def loss(self) -> Loss:
        """The detail lost, as shares between 0 (none) and 1 (all): of the whole table, and of each column."""
        return self._publication.result.loss

    @property
    def axes(self) -> dict[str, str]:
        """How kohort reads each quasi-identifier: as numbers, dates, a tree, or values that are kept or become `*`."""
        return self._publication.result.axes

    @property
    def notes(self) -> tuple[str, ...]:
        """What the method did and why, in sentences."""
        return self._publication.result.notes

    @property
    def answers(self) -> Answers | None:
        """How well the release answers the queries of the job's workload; None if the job has none."""
        return self._publication.result.answers

    @property
    def kept_suppressed(self) -> bool:
        """Whether the suppressed rows are published, as one group of `*`."""
        return self._publication.result.suppressed > 0 and self.evidence.rows == self._publication.result.rows

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> Evidence:
        """Write the release to a file, and audit it. The file gets its name only if the audit passes.

        Parameters
        ----------
        path : path
            File to write. Its ending names the format: .csv, .tsv, .parquet or .arrow.
        force : bool, default False
            Replace the file if it exists.

        Returns
        -------
        Evidence
            The audit of the written file.
        """
        return self._publication.release_file(location_of(path), force)

    def explain(self, *, progress: Progress | None = None) -> dict[str, Any]:
        """Explain why each group was formed as it was. The method runs once more, so this needs the memory engine.

        Returns
        -------
        dict
            Ready for JSON: the cuts of Mondrian and top-down (column, published values and sizes of both sides, gain), every
            group, and what repair and improvement changed. It holds column names and published values only, no other cell.
        """
        explained = self._publication.explain(progress or Progress(self._progress.threads))
        facts = {"release": str(self.output) if self.output else None, "promises": self.job.promise.model_dump(exclude_none=True)}
        return {**facts, "seed": self.job.seed, "notes": list(self.notes), **explained}

    def aligned(self) -> AlignedTables:
        """Return the released rows of the source and the release in the same order. For measuring only: it identifies people."""
        return self._publication.aligned()

    def mine(self, target: str, **settings: Any) -> Mined:
        """Train models on the release and on the original, and compare how well both predict a column. Needs the extra `ml`.

        Parameters
        ----------
        target : str
            Column to predict.
        **settings
            Settings of `kohort.utility.models.accuracy.mine`.
        """
        from kohort.utility.models.accuracy import mine

        return mine(self._publication.aligned(), target, **settings)

    def structure(self, *, propensity: bool = False) -> Structure:
        """Compare the distributions of the release with those of the source. `propensity=True` needs the extra `ml`."""
        from kohort.utility.structure import structure

        return structure(self._publication.aligned(), propensity=propensity)

    def preview(self, rows: Sequence[int] | NDArray[np.int64]) -> tuple[pa.Table, pa.Table]:
        """Return these rows of the source, before and after. For your own screen only: it identifies people."""
        wanted = np.asarray(rows)
        known = wanted.ndim == 1 and (not wanted.size or wanted.dtype.kind in "iu")
        if not known or ((wanted < 0) | (wanted >= self._publication.result.rows)).any():
            raise RequestError(f"Row numbers must be whole numbers from 0 to {self._publication.result.rows - 1}.")
        return self._publication.preview(wanted.astype(np.int64))

    def plot(self) -> Panels:
        """Draw two charts with matplotlib: people by group size, and detail lost by column."""
        from kohort.report.release_charts import release_figure

        counted_in = "people" if self.job.names("unit") else "rows"
        return release_figure(self._publication.result.class_sizes, self.job.promise.k, self.loss.per_column, counted_in)

    def _repr_html_(self) -> str:
        from kohort.report.notebook import release_html

        output = str(self.output) if self.output else None
        return release_html(self.evidence, self.loss, self.axes, output=output, method=self.job.method, k=self.job.promise.k)

    def summary(self) -> dict[str, Any]:
        """Return the result of the run as a dict, as `kohort anonymize --json` prints it."""
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
