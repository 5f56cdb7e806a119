"""How SE, the number of classes to expect alike, moves with n and with k (paper 003, section 5), for the values of a release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kohort.auditor.evidence import Evidence
from kohort.auditor.homogeneity import expected_alike
from kohort.errors import RequestError
from kohort.report.homogeneity_text import number
from kohort.report.release_charts import WIDTH, Panels, _drawable, _families, _frame, _grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours are told apart by every eye, the dashes on grey paper.
LOOKS: tuple[dict[str, Any], ...] = (
    {"color": "#0072B2", "linestyle": "-"},
    {"color": "#D55E00", "linestyle": "--"},
    {"color": "#009E73", "linestyle": "-."},
    {"color": "#CC79A7", "linestyle": ":"},
    {"color": "#E69F00", "linestyle": (0, (8, 2))},
    {"color": "#56B4E9", "linestyle": (0, (3, 1, 1, 1, 1, 1))},
)
AT_ONCE: dict[str, Any] = {"color": "#666666", "linestyle": "-"}
FAR = 20  # times the least SE: from here on, SE is compared by ratio
NEGLIGIBLE = 1e-6  # where the curves of k end: nobody tells such an SE from 0
FEWEST_K = 10
MOST_PLACES = 60  # of k
LEAST = 1e-300  # what a logarithmic axis can show


class Line(NamedTuple):
    """One column, or all of them at once."""

    name: str
    values: Sequence[int]
    """The K of each of its columns."""
    look: dict[str, Any]

    def se(self, rows: float, k: int) -> float:
        return expected_alike(self.values, rows, k)

    def negligible_from(self, rows: int) -> float:
        """About the k from which on SE is negligible."""
        divided_by = sum(map(math.log, self.values))
        return 1 + math.log(rows / NEGLIGIBLE) / divided_by if divided_by else math.inf


def curves_figure(evidence: Evidence) -> Panels:
    """SE against n for the release's k, and against k for its n, the release itself marked on both."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    if not evidence.homogeneity:
        raise RequestError("There are no curves to draw: no sensitive column is named, or the table has no rows.")
    rows, k = evidence.homogeneity[0].se.rows, evidence.homogeneity[0].se.k
    lines = _lines(evidence)
    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08, wspace=0.06)
    figure = Figure(figsize=(WIDTH, 3.5 + 0.2 * len(lines)), dpi=100, layout=layout)
    left, right = figure.subplots(1, 2)
    against_rows(left, lines, rows, k)
    against_k(right, lines, rows, k)
    handles, names = left.get_legend_handles_labels()
    legend = figure.legend(handles, names, loc="outside lower left", frameon=False, fontsize=9)
    for text in legend.get_texts():  # names are text; a $ or _ in them means nothing
        text.set(parse_math=False, usetex=False, fontfamily=_families())
    panels = np.empty(2, object).view(Panels)
    panels[:] = left, right
    return panels


def _lines(evidence: Evidence) -> list[Line]:
    """The columns with the fewest values, whose SE is largest, and all at once."""
    ranked = sorted(evidence.homogeneity, key=lambda found: found.values)
    names = _drawable([found.column for found in ranked[: len(LOOKS)]], _families())
    lines = [
        Line(f"{name} (K = {found.values:,}): SE {number(found.se.formula)} here", [found.values], look)
        for name, found, look in zip(names, ranked, LOOKS, strict=False)
    ]
    together = evidence.homogeneity_all
    if together is None:
        return lines
    more = f", {len(ranked) - len(names)} of them not drawn" if len(ranked) > len(names) else ""
    name = f"all columns at once{more}: SE {number(together.se.formula)} here"
    return [*lines, Line(name, together.se.values, AT_ONCE)]


def against_rows(axes: Axes, lines: Sequence[Line], rows: int, k: int) -> None:
    """SE against n, a straight line for each."""
    _frame(axes, f"SE against n, for k = {k:,}", "a larger table has more classes alike")
    axes.set_xlabel("n (records of the table)")
    here = [line.se(rows, k) for line in lines]
    by_ratio = _far_apart(here)
    places = list(np.geomspace(rows / 10, rows * 10, 21) if by_ratio else np.linspace(0, 2 * rows, 21))
    _plot(axes, lines, places, [[line.se(place, k) for place in places] for line in lines], by_ratio=by_ratio)
    if by_ratio:
        axes.set_xscale("log")
    else:
        axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(_grouped)
    _mark(axes, lines, rows, here, f"this table: n = {rows:,}, k = {k:,}")


def against_k(axes: Axes, lines: Sequence[Line], rows: int, k: int) -> None:
    """SE against k: each record more in the classes divides it by K."""
    from matplotlib.ticker import MaxNLocator

    last = int(max(FEWEST_K, min(2 * k, max(line.negligible_from(rows) for line in lines))))
    text = "larger classes are less often alike" if k <= last else f"the k = {k:,} of this table is far to the right"
    _frame(axes, f"SE against k, for n = {rows:,}", text)
    axes.set_xlabel("k (records of a class)")
    places = sorted({round(place) for place in np.linspace(min(k, 2), last, MOST_PLACES)})
    curves = [[line.se(rows, place) for place in places] for line in lines]
    _plot(axes, lines, places, curves, by_ratio=_far_apart([se for curve in curves for se in curve]))
    if len(places) < MOST_PLACES:
        for curve in axes.lines:  # k is whole
            curve.set(marker="o", markersize=3.5)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.xaxis.set_major_formatter(_grouped)
    if axes.get_ylim()[0] < NEGLIGIBLE < axes.get_ylim()[1]:
        axes.set_ylim(bottom=NEGLIGIBLE)
    if k <= last:
        _mark(axes, lines, k, [line.se(rows, k) for line in lines])


def _far_apart(figures: Sequence[float]) -> bool:
    there = [figure for figure in figures if figure > LEAST]
    return bool(there) and max(there) > FAR * min(there)


def _plot(
    axes: Axes, lines: Sequence[Line], places: Sequence[float], curves: Sequence[Sequence[float]], *, by_ratio: bool
) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for line, curve in zip(lines, curves, strict=True):
        seen = [se if se > LEAST or not by_ratio else math.nan for se in curve]
        axes.plot(places, seen, label=line.name, **line.look)
    axes.set_ylabel("SE (classes to expect alike)")
    if by_ratio:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(numticks=8))
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda se, _place: number(se)))


def _mark(axes: Axes, lines: Sequence[Line], place: float, found: Sequence[float], name: str | None = None) -> None:
    """Where the release is."""
    axes.axvline(place, color=AT_ONCE["color"], linestyle=":", linewidth=1.2, zorder=0, label=name)
    for line, se in zip(lines, found, strict=True):
        if se > LEAST:
            axes.plot([place], [se], "o", color=line.look["color"], markersize=7)
