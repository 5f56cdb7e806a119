"""The classes of two quasi-identifiers as rectangles: what single-dimensional and multidimensional cuts make of one table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from kohort.axes import Axis, NumericAxis
from kohort.engines.memory import MemoryEngine
from kohort.errors import KohortError
from kohort.job import Job
from kohort.progress import Progress
from kohort.publishing import boxes_of
from kohort.report.comparison_charts import Box, boxes

DRAWN = ("mondrian-1d", "mondrian", "auto")  # as paper 002 draws them, and the default
MOST_TICKS = 6


def two_columns(table: pa.Table, job: Job, k: int) -> tuple[str, str]:
    """(SVG, caption) of the first two quasi-identifiers with more than a few values; empty if there are no two.

    Ticks stand at ends of classes, so they are values that at least k records are published with.
    """
    names = _widest_two(table, job.names("quasi"))
    if names is None:
        return "", ""
    drawn: dict[str, list[Box]] = {}
    axes: Sequence[Axis] = ()
    for method in DRAWN:
        try:
            engine = _engine(table, job, names, method, k)
        except KohortError:
            continue
        axes = engine._points.axes  # noqa: SLF001 - one house
        found = boxes_of(engine._points, engine._partition)  # noqa: SLF001
        drawn[method] = sorted(
            {
                (float(low[0]), float(high[0]), float(low[1]), float(high[1]))
                for low, high in zip(found.low, found.high, strict=True)
            }
        )
    if not drawn:
        return "", ""
    told = f"Classes on {names[0]} and {names[1]} alone at k={k:,}, in the order of their values"
    ends = [sorted({box[place] for found in drawn.values() for box in found}) for place in (0, 2)]
    ticks = tuple(_ticks(axis, places) for axis, places in zip(axes, ends, strict=True))
    return boxes(drawn, names, (ticks[0], ticks[1])), told


def _widest_two(table: pa.Table, quasi: Sequence[str]) -> tuple[str, str] | None:
    if len(quasi) < 2:
        return None
    distinct = {name: len(table.column(name).unique()) for name in quasi}
    first, second = sorted(sorted(quasi, key=lambda name: -distinct[name])[:2], key=list(quasi).index)
    return first, second


def _engine(table: pa.Table, job: Job, names: tuple[str, str], method: str, k: int) -> MemoryEngine:
    """The table with these two quasi-identifiers and nothing promised but k."""
    told = job.to_dict()
    columns = {name: told["columns"][name] for name in names}
    own = Job.build(
        {"method": method, "seed": job.seed or 0, "missing": list(job.missing), "promise": {"k": k}, "columns": columns},
        hierarchies=job.hierarchies,
    )
    engine = MemoryEngine(own, Progress(1))
    engine.read(table.select(names))
    engine.encode()
    engine.partition()
    return engine


def _ticks(axis: Axis, places: Sequence[float]) -> dict[float, str]:
    """A few of the places where classes begin, with what is published there; leaves of a tree have no room for their names."""
    if not isinstance(axis, NumericAxis) or not places:
        return {}
    chosen = sorted({places[round(at)] for at in np.linspace(0, len(places) - 1, min(MOST_TICKS, len(places)))})
    codes = np.maximum(np.array(chosen, np.int64), 1)
    texts = axis.label(codes, codes, None).to_pylist()
    return dict(zip(chosen, map(str, texts), strict=True))
