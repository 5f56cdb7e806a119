"""The bipartite graph of sensitive values and classes, drawn (paper 003, figure 1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kohort.auditor.evidence import Evidence
from kohort.auditor.homogeneity import Homogeneity
from kohort.auditor.value_class_graph import Matrix
from kohort.errors import RequestError
from kohort.report.homogeneity_text import counted, label, number
from kohort.report.release_charts import RIGHT, WRONG, Panels, _drawable, _families

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

MOST_VALUES = 20  # of all columns together
MOST_CLASSES = 20
MOST_WEIGHTS = 30  # edges that have their weight written on them
ROOMY = 12  # nodes a side that have a second line under their name
QUIET = "#666666"
AWAY = 10  # points from a dot to its name
# Inches. Names take their room from the page, not from the lines.
BETWEEN, HEAD, PAD, TWO_LINES, ONE_LINE = 4.2, 0.8, 0.2, 0.66, 0.32
PLACES = [0.5 + sign * step / 50 for step in range(20) for sign in (-1, 1)]  # along an edge, where its weight may stand

Edge = tuple[float, float, float]
"""Where it begins on the left and ends on the right, and its weight."""


def graph_figure(evidence: Evidence) -> Panels:
    """A panel for each sensitive column: values on the left, classes on the right, lines as wide as their weight."""
    from matplotlib.figure import Figure

    drawn = _readable(evidence)
    heights = [_height(matrix) for _found, matrix in drawn]
    figure = Figure(figsize=(BETWEEN, sum(heights)), dpi=100)
    panels = np.empty(len(drawn), object).view(Panels)
    panels[:] = [figure.add_axes((0, 0, 1, 1), label=found.column) for found, _matrix in drawn]
    for axes, (found, matrix) in zip(panels, drawn, strict=True):
        _draw(axes, found, matrix)
    names = [text for axes in panels for text in axes.texts]
    titles = [text for axes, one in zip(panels, drawn, strict=True) for text in _write_title(axes, *one)]
    _lay_out(panels, heights, names, titles)
    for axes, (_found, matrix) in zip(panels, drawn, strict=True):
        if len(matrix.weights) <= MOST_WEIGHTS:
            _write_weights(axes, _edges(matrix))
    return panels


def _readable(evidence: Evidence) -> list[tuple[Homogeneity, Matrix]]:
    """What is to be drawn, if it can be read."""
    if not evidence.homogeneity:
        raise RequestError("There is no graph to draw: no sensitive column is named, or the table has no rows.")
    drawn = [(found, found.matrix) for found in evidence.homogeneity if found.matrix is not None]
    values = sum(len(found.alphas) for found in evidence.homogeneity)
    if len(drawn) < len(evidence.homogeneity) or values > MOST_VALUES or evidence.classes > MOST_CLASSES:
        raise RequestError(
            f"A graph of {counted(values, 'value')} and {counted(evidence.classes, 'class')} is too large to be read: a picture "
            f"shows up to {MOST_VALUES} values and {MOST_CLASSES} classes. Write it as .graphml (--graph graph.graphml), which "
            "networkx and Gephi read."
        )
    return drawn


def _is_roomy(matrix: Matrix) -> bool:
    return max(len(matrix.values), len(matrix.groups)) <= ROOMY


def _height(matrix: Matrix) -> float:
    return HEAD + (TWO_LINES if _is_roomy(matrix) else ONE_LINE) * max(len(matrix.values), len(matrix.groups))


def _spread(nodes: int) -> list[float]:
    """Both sides fill the height, however many nodes they have."""
    return [(node + 0.5) / nodes for node in range(nodes)]


def _edges(matrix: Matrix) -> list[Edge]:
    """The heaviest last, on top of the others."""
    left, right = _spread(len(matrix.values)), _spread(len(matrix.groups))
    edges = [(left[value], right[group], weight) for (value, group), weight in matrix.weights.items()]
    return sorted(edges, key=lambda edge: edge[2])


def _draw(axes: Axes, found: Homogeneity, matrix: Matrix) -> None:
    axes.axis("off")
    axes.set_xlim(0, 1)
    axes.set_ylim(1, 0)
    for start, end, weight in _edges(matrix):
        look = WRONG if weight == 1 else RIGHT  # a class that is all alike gives its members away
        axes.plot(
            [0, 1], [start, end], lw=0.5 + 6 * weight, alpha=0.15 + 0.75 * weight, color=look["color"], solid_capstyle="butt"
        )
    families = _families()
    values = _drawable(map(label, found.alphas), families)
    alphas = [f"alpha {number(one.alpha)}, {counted(one.rows, 'record')}" for one in found.alphas]
    quasi = _drawable([group.label for group in matrix.groups], families)
    sizes = [f"{counted(group.size, 'record')}: {own}" for group, own in zip(matrix.groups, quasi, strict=True)]
    if _is_roomy(matrix):
        _name(axes, 0, values, alphas)
        _name(axes, 1, [group.name for group in matrix.groups], sizes)
    else:
        _name(axes, 0, [f"{name} ({one.alpha:.2g})" for name, one in zip(values, found.alphas, strict=True)])
        _name(axes, 1, [f"{group.name} ({group.size:,})" for group in matrix.groups])


def _name(axes: Axes, side: int, names: Sequence[str], below: Sequence[str] = ()) -> None:
    """Dots and names on the left (0) or on the right (1), a second line below them where there is one."""
    heights = _spread(len(names))
    axes.plot([side] * len(names), heights, "o", color=QUIET, markersize=6, clip_on=False, zorder=5)
    at: dict[str, Any] = {"ha": ("right", "left")[side], **_as_text()}
    away = (-AWAY, AWAY)[side]
    for height, name in zip(heights, names, strict=True):
        up: dict[str, Any] = {"xytext": (away, 1), "va": "bottom"} if below else {"xytext": (away, 0), "va": "center"}
        axes.annotate(name, (side, height), fontsize=10 if below else 9, **up, **at)
    for height, text in zip(heights, below, strict=False):
        axes.annotate(text, (side, height), xytext=(away, -2), va="top", fontsize=8, color=QUIET, **at)


def _as_text() -> dict[str, Any]:
    """Cells are text; a $ or _ in them means nothing."""
    return {"parse_math": False, "usetex": False, "fontfamily": _families(), "textcoords": "offset points"}


def _write_title(axes: Axes, found: Homogeneity, matrix: Matrix) -> list[Text]:
    """Above the graph, from the left edge of the page."""
    (title,) = _drawable([found.column], _families())
    text = "a line is as wide as the share of the class that holds the value"
    text += "; orange: all of the class" if found.alike_classes else ""
    text += "" if _is_roomy(matrix) else "; in brackets alpha, records"
    at: dict[str, Any] = {"xy": (0, 1), "xycoords": (axes.figure.transFigure, axes.transAxes), **_as_text()}
    return [
        axes.annotate(title, xytext=(72 * PAD, 25), fontweight="bold", fontsize=12, **at),
        axes.annotate(text, xytext=(72 * PAD, 9), fontsize=9, **at),
    ]


def _lay_out(panels: Panels, heights: Sequence[float], names: Sequence[Text], titles: Sequence[Text]) -> None:
    """As wide as the words ask for, one panel below the other."""
    figure = panels[0].figure

    def widest(texts: Iterable[Text]) -> float:
        return float(max(text.get_window_extent().width for text in texts) / figure.dpi)

    before, after = (
        PAD + AWAY / 72 + widest(text for text in names if text.get_horizontalalignment() == side) for side in ("right", "left")
    )
    width, height = max(before + BETWEEN + after, widest(titles) + 2 * PAD), sum(heights)
    figure.set_size_inches(width, height)
    top = height
    for axes, own in zip(panels, heights, strict=True):
        axes.set_position((before / width, (top - own) / height, 1 - (before + after) / width, (own - HEAD) / height))
        top -= own


def _write_weights(axes: Axes, edges: Sequence[Edge]) -> None:
    """Each on its line, where it hides no other weight and as few other lines as can be."""
    page = axes.get_window_extent()
    wide, high = 36 / page.width, 18 / page.height  # pixels of a weight, as shares of the panel
    taken: list[tuple[float, float]] = []

    def at(edge: Edge, along: float) -> float:
        return edge[0] + (edge[1] - edge[0]) * along

    def hides(along: float, height: float, other: Edge) -> bool:
        gaps = [at(other, along + aside * wide / 2) - height for aside in (-1, 0, 1)]
        return min(map(abs, gaps)) < high / 2 or gaps[0] * gaps[2] < 0

    for edge in reversed(edges):
        spots = [(along, at(edge, along)) for along in PLACES]
        free = [(x, y) for x, y in spots if not any(abs(x - one) < wide and abs(y - other) < high for one, other in taken)]
        if not free:
            continue
        along, height = min(free, key=lambda spot: sum(hides(spot[0], spot[1], other) for other in edges))
        taken.append((along, height))
        box = {"boxstyle": "round,pad=0.15", "facecolor": axes.figure.get_facecolor(), "edgecolor": "none", "alpha": 0.9}
        text = f"{edge[2] if edge[2] == 1 else min(edge[2], 0.99):.2g}"  # what is not everything does not look like it
        axes.text(along, height, text, ha="center", va="center", fontsize=9, bbox=box, zorder=6)
