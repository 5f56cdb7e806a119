"""Chart of the bipartite graph of sensitive values and groups (Mohapatra, Patra, figure 1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kohort.auditor.evidence import Evidence
from kohort.auditor.homogeneity import Homogeneity
from kohort.auditor.value_class_graph import Matrix
from kohort.errors import RequestError
from kohort.report.homogeneity_text import label
from kohort.report.release_charts import RIGHT, WRONG, Panels, _drawable, _families
from kohort.wording import counted, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

MOST_VALUES = 20  # in all columns together
MOST_CLASSES = 20  # groups
MOST_WEIGHTS = 30  # edges, up to which each edge is labelled with its weight
MOST_TWO_LINES = 12  # nodes on a side, up to which each label has a second line
LABEL_COLOUR = "#666666"
LABEL_GAP = 10  # points between a dot and its label
# Sizes in inches. The page grows with the labels, so that long labels do not shorten the edges.
BETWEEN, HEAD, PAD, TWO_LINES, ONE_LINE = 4.2, 0.8, 0.2, 0.66, 0.32
WEIGHT_POSITIONS = [0.5 + sign * step / 50 for step in range(20) for sign in (-1, 1)]  # along an edge, from the middle outwards

Edge = tuple[float, float, float]
"""Height of the left end, height of the right end, and weight."""


def graph_figure(evidence: Evidence) -> Panels:
    """Draw a panel for each sensitive column: values on the left, groups on the right, lines as wide as their weight."""
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
    """Return the columns to draw, or raise an error if the picture would be too crowded."""
    if not evidence.homogeneity:
        raise RequestError(
            "There is no graph to draw. Name a sensitive column (--sensitive diagnosis), and give a table with rows."
        )
    drawn = [(found, found.matrix) for found in evidence.homogeneity if found.matrix is not None]
    values = sum(len(found.alphas) for found in evidence.homogeneity)
    if len(drawn) < len(evidence.homogeneity) or values > MOST_VALUES or evidence.classes > MOST_CLASSES:
        raise RequestError(
            f"A graph of {counted(values, 'value')} and {counted(evidence.classes, 'group')} is too large for a picture. "
            f"The limit is {MOST_VALUES} values and {MOST_CLASSES} groups. "
            "Write a .graphml file instead (--graph graph.graphml) and open it with Gephi or networkx."
        )
    return drawn


def _has_two_lines(matrix: Matrix) -> bool:
    return max(len(matrix.values), len(matrix.groups)) <= MOST_TWO_LINES


def _height(matrix: Matrix) -> float:
    return HEAD + (TWO_LINES if _has_two_lines(matrix) else ONE_LINE) * max(len(matrix.values), len(matrix.groups))


def _spread(nodes: int) -> list[float]:
    """Return the heights of the nodes of one side, spread evenly from top to bottom."""
    return [(node + 0.5) / nodes for node in range(nodes)]


def _edges(matrix: Matrix) -> list[Edge]:
    """Return the edges by weight. The heaviest come last, because they are drawn on top."""
    left, right = _spread(len(matrix.values)), _spread(len(matrix.groups))
    edges = [(left[value], right[group], weight) for (value, group), weight in matrix.weights.items()]
    return sorted(edges, key=lambda edge: edge[2])


def _draw(axes: Axes, found: Homogeneity, matrix: Matrix) -> None:
    axes.axis("off")
    axes.set_xlim(0, 1)
    axes.set_ylim(1, 0)
    for start, end, weight in _edges(matrix):
        look = WRONG if weight == 1 else RIGHT  # a group with a single value reveals it
        axes.plot(
            [0, 1], [start, end], lw=0.5 + 6 * weight, alpha=0.15 + 0.75 * weight, color=look["color"], solid_capstyle="butt"
        )
    families = _families()
    values = _drawable(map(label, found.alphas), families)
    alphas = [f"{counted(one.rows, 'row')}, up to {percent(one.alpha)} of a group" for one in found.alphas]
    quasi = _drawable([group.label for group in matrix.groups], families)
    sizes = [f"{counted(group.size, 'row')}: {own}" for group, own in zip(matrix.groups, quasi, strict=True)]
    if _has_two_lines(matrix):
        _name(axes, 0, values, alphas)
        _name(axes, 1, [group.name for group in matrix.groups], sizes)
    else:
        _name(axes, 0, [f"{name} ({percent(one.alpha)})" for name, one in zip(values, found.alphas, strict=True)])
        _name(axes, 1, [f"{group.name} ({group.size:,})" for group in matrix.groups])


def _name(axes: Axes, side: int, names: Sequence[str], below: Sequence[str] = ()) -> None:
    """Draw dots and labels on the left (0) or right (1) side, with a second line below each label if given."""
    heights = _spread(len(names))
    axes.plot([side] * len(names), heights, "o", color=LABEL_COLOUR, markersize=6, clip_on=False, zorder=5)
    at: dict[str, Any] = {"ha": ("right", "left")[side], **_as_text()}
    gap = (-LABEL_GAP, LABEL_GAP)[side]
    for height, name in zip(heights, names, strict=True):
        up: dict[str, Any] = {"xytext": (gap, 1), "va": "bottom"} if below else {"xytext": (gap, 0), "va": "center"}
        axes.annotate(name, (side, height), fontsize=10 if below else 9, **up, **at)
    for height, text in zip(heights, below, strict=False):
        axes.annotate(text, (side, height), xytext=(gap, -2), va="top", fontsize=8, color=LABEL_COLOUR, **at)


def _as_text() -> dict[str, Any]:
    """Return settings that draw cells as plain text: $ and _ have no special meaning."""
    return {"parse_math": False, "usetex": False, "fontfamily": _families(), "textcoords": "offset points"}


def _write_title(axes: Axes, found: Homogeneity, matrix: Matrix) -> list[Text]:
    """Write the title above the graph, from the left edge of the page."""
    (column,) = _drawable([found.column], _families())
    groups = counted(found.se.classes, "group")
    reveal = f"{found.alike_classes} of {groups} reveal" if found.alike_classes > 1 else f"1 of {groups} reveals"
    title = f"{column}: {reveal if found.alike_classes else 'no group reveals'} the value"
    text = "width of a line: share of the group's rows with this value"
    text += "; orange: all rows of the group" if found.alike_classes else ""
    text += "" if _has_two_lines(matrix) else "; in brackets: largest share in a group, rows"
    at: dict[str, Any] = {"xy": (0, 1), "xycoords": (axes.figure.transFigure, axes.transAxes), **_as_text()}
    return [
        axes.annotate(title, xytext=(72 * PAD, 25), fontweight="bold", fontsize=12, **at),
        axes.annotate(text, xytext=(72 * PAD, 9), fontsize=9, **at),
    ]


def _lay_out(panels: Panels, heights: Sequence[float], names: Sequence[Text], titles: Sequence[Text]) -> None:
    """Make the page wide enough for all labels, and place the panels below each other."""
    figure = panels[0].figure

    def widest(texts: Iterable[Text]) -> float:
        return float(max(text.get_window_extent().width for text in texts) / figure.dpi)

    before, after = (
        PAD + LABEL_GAP / 72 + widest(text for text in names if text.get_horizontalalignment() == side)
        for side in ("right", "left")
    )
    width, height = max(before + BETWEEN + after, widest(titles) + 2 * PAD), sum(heights)
    figure.set_size_inches(width, height)
    top = height
    for axes, own in zip(panels, heights, strict=True):
        axes.set_position((before / width, (top - own) / height, 1 - (before + after) / width, (own - HEAD) / height))
        top -= own


def _write_weights(axes: Axes, edges: Sequence[Edge]) -> None:
    """Write each weight on its line, where it hides no other weight and as few other lines as possible."""
    page = axes.get_window_extent()
    wide, high = 48 / page.width, 18 / page.height  # size of a label, as a share of the panel
    taken: list[tuple[float, float]] = []

    def at(edge: Edge, along: float) -> float:
        return edge[0] + (edge[1] - edge[0]) * along

    def hides(along: float, height: float, other: Edge) -> bool:
        gaps = [at(other, along + aside * wide / 2) - height for aside in (-1, 0, 1)]
        return min(map(abs, gaps)) < high / 2 or gaps[0] * gaps[2] < 0

    for edge in reversed(edges):
        spots = [(along, at(edge, along)) for along in WEIGHT_POSITIONS]
        free = [(x, y) for x, y in spots if not any(abs(x - one) < wide and abs(y - other) < high for one, other in taken)]
        if not free:
            continue
        along, height = min(free, key=lambda spot: sum(hides(spot[0], spot[1], other) for other in edges))
        taken.append((along, height))
        box = {"boxstyle": "round,pad=0.15", "facecolor": axes.figure.get_facecolor(), "edgecolor": "none", "alpha": 0.9}
        axes.text(along, height, _whole_percent(edge[2]), ha="center", va="center", fontsize=9, bbox=box, zorder=6)


def _whole_percent(share: float) -> str:
    """Return a share in whole per cent. Only 0 and 1 are written as 0 % and 100 %.

    >>> _whole_percent(0.001), _whole_percent(0.25), _whole_percent(0.999), _whole_percent(1)
    ('< 1 %', '25 %', '> 99 %', '100 %')
    """
    return "< 1 %" if 0 < share < 0.01 else "> 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"
