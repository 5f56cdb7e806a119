"""Write the graph and the curves of a homogeneity analysis to files.

A file is written completely or not at all. An existing file is replaced only with `force`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kohort.auditor.evidence import Evidence
from kohort.auditor.value_class_graph import ReleaseView
from kohort.errors import RequestError
from kohort.report.graph_chart import graph_figure
from kohort.report.graphml import write_graphml
from kohort.report.homogeneity_chart import curves_figure
from kohort.report.release_charts import Panels
from kohort.tables import staging, tables

SUFFIXES = {"graph": (".svg", ".graphml"), "curves": (".svg",)}


@dataclass(frozen=True)
class Pictures:
    """Paths of the graph and the curves; None if not requested. In messages they are named by their flags."""

    graph: Path | None
    curves: Path | None
    force: bool

    def require(self, sources: Iterable[Any], sensitive: Sequence[str]) -> None:
        """Raise an error before any work is done if a file could not be written at the end."""
        read = list(sources)
        for what, target in (("graph", self.graph), ("curves", self.curves)):
            if target is None:
                continue
            if target.suffix.lower() not in SUFFIXES[what]:
                allowed = " or ".join(SUFFIXES[what])
                raise RequestError(f"kohort cannot write the {what} as {target.name!r}. End the name in {allowed} (--{what}).")
            if not sensitive:
                raise RequestError(f"{what} (--{what}) needs a sensitive column. Name one (--sensitive diagnosis).")
            tables.require_other(target, read)
            staging.require_free(target, self.force)
        if self.graph and self.curves and os.path.realpath(self.graph) == os.path.realpath(self.curves):
            raise RequestError("graph (--graph) and curves (--curves) are the same file. Give each its own name.")

    def write(self, evidence: Evidence, view: ReleaseView) -> None:
        """Draw both pictures, then write them. Drawing comes first, because it may raise an error."""
        as_picture = self.graph is not None and self.graph.suffix.lower() == ".svg"
        graph = graph_figure(evidence) if as_picture else None
        curves = curves_figure(evidence) if self.curves else None
        if self.graph:
            with staging.staged(self.graph, self.force) as path:
                _save(graph, path) if graph is not None else write_graphml(path, evidence.homogeneity, view)
        if self.curves and curves is not None:
            with staging.staged(self.curves, self.force) as path:
                _save(curves, path)


def _save(panels: Panels, path: Path) -> None:
    """Save as SVG without date and random names, so that the same picture gives the same bytes."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "kohort", "svg.fonttype": "path"}):
        panels.flat[0].figure.savefig(path, format="svg", metadata={"Date": None, "Creator": "kohort"})
