"""Chart of groups on two quasi-identifiers as rectangles. It shows how single-dimensional and multidimensional cuts differ."""

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

DRAWN = ("mondrian-1d", "mondrian", "auto")  # the two methods that Murthy, Srinivas draw, and the default
MOST_ROWS = 100_000  # the default is not drawn for larger tables, because the chart would take too long
MOST_TICKS = 6


def two_columns(table: pa.Table, job: Job, k: int) -> tuple[str, str]:
    """Return the chart of the two quasi-identifiers with most distinct values, as (SVG, caption).

    Both are empty if there are fewer than two quasi-identifiers. Ticks are only at values that at least k rows have.
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
    caption = f"Groups if {names[0]} and {names[1]} are the only quasi-identifiers, at k = {k:,}. Values are evenly spaced."
    return boxes(drawn, names, (ticks[0], ticks[1])), caption


def _widest_two(table: pa.Table, quasi: Sequence[str]) -> tuple[str, str] | None:
    if len(quasi) < 2:
        return None
    distinct = {name: len(table.column(name).unique()) for name in quasi}
    first, second = sorted(sorted(quasi, key=lambda name: -distinct[name])[:2], key=list(quasi).index)
    return first, second


def _partitioned(table: pa.Table, job: Job, names: tuple[str, str], method: str, k: int) -> MemoryPartition:
    """Return the groups of the table with only these two quasi-identifiers and only the promise k."""
    facts = job.to_dict()
    columns = {name: facts["columns"][name] for name in names}
    own = Job.build(
        {"method": method, "seed": job.seed or 0, "missing": list(job.missing), "promise": {"k": k}, "columns": columns},
        hierarchies=job.hierarchies,
    )
    engine = MemoryEngine(own, Progress(1))
    return engine.partition(engine.encode(table.select(names)))


def _ticks(axis: Axis, codes: NDArray[np.unsignedinteger], k: int) -> dict[float, str]:
    """Return positions of ticks on an axis with their texts. A tree axis has none, because its names are too long."""
    frequent = np.flatnonzero(np.bincount(codes, minlength=axis.size)[1:] >= k) + 1
    if not isinstance(axis, NumericAxis) or not len(frequent):
        return {}
    even = np.linspace(frequent[0], frequent[-1], min(MOST_TICKS, len(frequent)))
    chosen = np.unique(frequent[np.abs(frequent - even[:, np.newaxis]).argmin(axis=1)])
    texts = axis.label(chosen, chosen, None).to_pylist()
    return dict(zip(chosen.tolist(), map(str, texts), strict=True))
