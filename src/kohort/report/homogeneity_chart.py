"""Chart of SE, the expected number of groups with a single value, by n and by k (Mohapatra, Patra, section 5)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kohort.auditor.evidence import Evidence
from kohort.auditor.homogeneity import expected_single_valued
from kohort.errors import RequestError
from kohort.report.homogeneity_text import number
from kohort.report.release_charts import WIDTH, Panels, _drawable, _families, _frame, _grouped
from kohort.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The colours of Okabe and Ito can be distinguished with any colour vision. The dashes can be distinguished in black and white.
LOOKS: tuple[dict[str, Any], ...] = (
    {"color": "#0072B2", "linestyle": "-"},
    {"color": "#D55E00", "linestyle": "--"},
    {"color": "#009E73", "linestyle": "-."},
    {"color": "#CC79A7", "linestyle": ":"},
    {"color": "#E69F00", "linestyle": (0, (8, 2))},
    {"color": "#56B4E9", "linestyle": (0, (3, 1, 1, 1, 1, 1))},
)
JOINT_LOOK: dict[str, Any] = {"color": "#666666", "linestyle": "-"}
LARGE_RATIO = 20  # if the largest SE is more than this times the smallest one, the axis is logarithmic
NEGLIGIBLE = 1e-6  # an SE below this counts as 0, and the axis ends here
FEWEST_K = 10
MOST_POINTS = 60  # values of k in a curve
LEAST = 1e-300  # smallest number on a logarithmic axis


class Line(NamedTuple):
    """The curve of one column, or of all columns together."""

    name: str
    values: Sequence[int]
    """Number of distinct values (K) of each column."""
    look: dict[str, Any]

    def se(self, rows: float, k: int) -> float:
        """Return the expected number of groups with a single value."""
        return expected_single_valued(self.values, rows, k)

    def negligible_from(self, rows: int) -> float:
        """Return the approximate k from which on SE is negligible."""
        divided_by = sum(map(math.log, self.values))
        return 1 + math.log(rows / NEGLIGIBLE) / divided_by if divided_by else math.inf


def curves_figure(evidence: Evidence) -> Panels:
    """Draw SE by n for the k of the release, and by k for the n of the release. Both charts mark the release."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    if not evidence.homogeneity:
        raise RequestError(
            "There are no curves to draw. Name a sensitive column (--sensitive diagnosis), and give a table with rows."
        )
    rows, k = evidence.homogeneity[0].se.rows, evidence.homogeneity[0].se.k
    lines = _lines(evidence)
    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08, wspace=0.06)
    figure = Figure(figsize=(WIDTH, 3.5 + 0.2 * len(lines)), dpi=100, layout=layout)
    left, right = figure.subplots(1, 2)
    draw_by_rows(left, lines, rows, k)
    draw_by_k(right, lines, rows, k)
    handles, names = left.get_legend_handles_labels()
    legend = figure.legend(handles, names, loc="outside lower left", frameon=False, fontsize=9)
    for text in legend.get_texts():  # plain text: $ and _ in column names have no special meaning
        text.set(parse_math=False, usetex=False, fontfamily=_families())
    panels = np.empty(2, object).view(Panels)
    panels[:] = left, right
    return panels


def _lines(evidence: Evidence) -> list[Line]:
    """Return the curves of the columns with the fewest values, which have the largest SE, and of all columns together."""
    ranked = sorted(evidence.homogeneity, key=lambda found: found.values)
    names = _drawable([found.column for found in ranked[: len(LOOKS)]], _families())
    lines = [
        Line(f"{name} ({counted(found.values, 'value')}): {number(found.se.formula)} expected here", [found.values], look)
        for name, found, look in zip(names, ranked, LOOKS, strict=False)
    ]
    joint = evidence.homogeneity_all
    if joint is None:
        return lines
    more = f" ({len(ranked) - len(names)} of them not drawn)" if len(ranked) > len(names) else ""
    name = f"all columns together{more}: {number(joint.se.formula)} expected here"
    return [*lines, Line(name, joint.se.values, JOINT_LOOK)]


def draw_by_rows(axes: Axes, lines: Sequence[Line], rows: int, k: int) -> None:
    """Draw SE by n, a straight line for each column."""
    _frame(axes, "More rows: more such groups", f"groups with only one value, for k = {k:,}")
    axes.set_xlabel("n (rows of the table)")
    here = [line.se(rows, k) for line in lines]
    by_ratio = _is_wide(here)
    points = list(np.geomspace(rows / 10, rows * 10, 21) if by_ratio else np.linspace(0, 2 * rows, 21))
    _plot(axes, lines, points, [[line.se(point, k) for point in points] for line in lines], by_ratio=by_ratio)
    if by_ratio:
        axes.set_xscale("log")
    else:
        axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(_grouped)
    _mark(axes, lines, rows, here, f"this table: n = {rows:,}, k = {k:,}")


def draw_by_k(axes: Axes, lines: Sequence[Line], rows: int, k: int) -> None:
    """Draw SE by k. Each further row in the groups divides it by about K."""
    from matplotlib.ticker import MaxNLocator

    last = int(max(FEWEST_K, min(2 * k, max(line.negligible_from(rows) for line in lines))))
    text = f"groups with only one value, for n = {rows:,}"
    text = text if k <= last else f"for n = {rows:,}; k = {k:,} is far to the right"
    _frame(axes, "Larger k: fewer such groups", text)
    axes.set_xlabel("k (rows of a group)")
    points = sorted({round(point) for point in np.linspace(min(k, 2), last, MOST_POINTS)})
    curves = [[line.se(rows, point) for point in points] for line in lines]
    _plot(axes, lines, points, curves, by_ratio=_is_wide([se for curve in curves for se in curve]))
    if len(points) < MOST_POINTS:
        for curve in axes.lines:  # dots show that k is a whole number
            curve.set(marker="o", markersize=3.5)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.xaxis.set_major_formatter(_grouped)
    if k <= last:
        _mark(axes, lines, k, [line.se(rows, k) for line in lines])


def _is_wide(figures: Sequence[float]) -> bool:
    positive = [figure for figure in figures if figure > LEAST]
    return bool(positive) and max(positive) > LARGE_RATIO * min(positive)


def _plot(
    axes: Axes, lines: Sequence[Line], points: Sequence[float], curves: Sequence[Sequence[float]], *, by_ratio: bool
) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for line, curve in zip(lines, curves, strict=True):
        visible = [se if se > LEAST or not by_ratio else math.nan for se in curve]
        axes.plot(points, visible, label=line.name, **line.look)
    axes.set_ylabel("expected groups with one value")
    if max(map(max, curves)) <= NEGLIGIBLE:  # practically 0: tiny numbers on an axis would mean nothing to a reader
        axes.set_ylim(0, 1)
    elif by_ratio:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(numticks=8))
        axes.yaxis.set_minor_formatter(NullFormatter())
        if axes.get_ylim()[0] < NEGLIGIBLE:
            axes.set_ylim(bottom=NEGLIGIBLE)
    else:
        axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda se, _position: _tick(se)))


def _tick(se: float) -> str:
    """Return a tick label without an exponent.

    >>> _tick(15000.0), _tick(2.5), _tick(1e-6), _tick(0)
    ('15,000', '2.5', '0.000001', '0')
    """
    return f"{se:,.0f}" if se >= 1000 else f"{se:.6f}".rstrip("0").rstrip(".")


def _mark(axes: Axes, lines: Sequence[Line], position: float, found: Sequence[float], name: str | None = None) -> None:
    """Mark the release with a vertical line and a dot on each curve."""
    axes.axvline(position, color=JOINT_LOOK["color"], linestyle=":", linewidth=1.2, zorder=0, label=name)
    for line, se in zip(lines, found, strict=True):
        if se > LEAST:
            axes.plot([position], [se], "o", color=line.look["color"], markersize=7)
