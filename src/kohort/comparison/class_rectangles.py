"""The classes of two quasi-identifiers as rectangles: what single-dimensional and multidimensional cuts make of one table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kohort.encoding.axes import Axis
from kohort.encoding.number_axis import NumericAxis
from kohort.engines.memory import MemoryEngine, MemoryPartition
from kohort.errors import KohortError
from kohort.job.job import Job
from kohort.progress import Progress
from kohort.publishing.boxes import boxes_of
from kohort.report.comparison_charts import Box, boxes

DRAWN = ("mondrian-1d", "mondrian", "auto")  # as paper 002 draws them, and the default
MOST_ROWS = 100_000  # for which the default is drawn too: a picture should not take longer than what it shows
MOST_TICKS = 6


def two_columns(table: pa.Table, job: Job, k: int) -> tuple[str, str]:
    """(SVG, caption) of the two quasi-identifiers with most values; empty if there are no two.

    Ticks stand at values that at least k records hold.
    """
    names = _widest_two(table, job.names("quasi"))
    if names is None:
        return "", ""
    drawn: dict[str, list[Box]] = {}
    ticks: tuple[dict[float, str], ...] = ()
    for method in DRAWN if table.num_rows <= MOST_ROWS else DRAWN[:-1]:
        try:
            made = _partitioned(table, job, names, method, k)
        except KohortError:
            continue
        points = made.encoded.points
        ticks = tuple(_ticks(axis, points.codes[:, number], k) for number, axis in enumerate(points.axes))
        found = boxes_of(points, made.partition, made.encoded.schema)
        drawn[method] = sorted(
            {
                (float(low[0]), float(high[0]), float(low[1]), float(high[1]))
                for low, high in zip(found.low, found.high, strict=True)
            }
        )
    if not drawn:
        return "", ""
    facts = f"Classes on {names[0]} and {names[1]} alone at k={k:,}, in the order of their values"
    return boxes(drawn, names, (ticks[0], ticks[1])), facts


def _widest_two(table: pa.Table, quasi: Sequence[str]) -> tuple[str, str] | None:
    if len(quasi) < 2:
        return None
    distinct = {name: len(table.column(name).unique()) for name in quasi}
    first, second = sorted(sorted(quasi, key=lambda name: -distinct[name])[:2], key=list(quasi).index)
    return first, second


def _partitioned(table: pa.Table, job: Job, names: tuple[str, str], method: str, k: int) -> MemoryPartition:
    """The groups of the table with these two quasi-identifiers and nothing promised but k."""
    facts = job.to_dict()
    columns = {name: facts["columns"][name] for name in names}
    own = Job.build(
        {"method": method, "seed": job.seed or 0, "missing": list(job.missing), "promise": {"k": k}, "columns": columns},
        hierarchies=job.hierarchies,
    )
    engine = MemoryEngine(own, Progress(1))
    return engine.partition(engine.encode(table.select(names)))


def _ticks(axis: Axis, codes: NDArray[np.unsignedinteger], k: int) -> dict[float, str]:
    """A few places along the axis, with what is published there; leaves of a tree have no room for their names."""
    often = np.flatnonzero(np.bincount(codes, minlength=axis.size)[1:] >= k) + 1
    if not isinstance(axis, NumericAxis) or not len(often):
        return {}
    wanted = np.linspace(often[0], often[-1], min(MOST_TICKS, len(often)))
    chosen = np.unique(often[np.abs(often - wanted[:, np.newaxis]).argmin(axis=1)])
    texts = axis.label(chosen, chosen, None).to_pylist()
    return dict(zip(chosen.tolist(), map(str, texts), strict=True))
