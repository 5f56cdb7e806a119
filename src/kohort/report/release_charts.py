"""Two charts of a release: the sizes of the groups, and the detail lost in each column.

They show counts, shares and column names, never a cell of the table.
"""

from __future__ import annotations

import io
import math
import unicodedata
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kohort.wording import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The colours of Okabe and Ito can be distinguished with any colour vision. The hatch marks errors in black and white.
RIGHT: dict[str, Any] = {"color": "#0072B2"}
WRONG: dict[str, Any] = {"color": "#D55E00", "hatch": "////"}

WIDTH = 8.4  # width of a figure in inches, without the names of the columns
MOST_COLUMNS = 30  # columns named in one chart or table
MOST_LETTERS = 30  # length of a name in a chart
MOST_SINGLE_BARS = 40  # up to this many group sizes, each size has its own bar
MOST_SHARED_BARS = 24  # approximate number of bars if a bar covers several sizes
WIDE = 20  # if the largest size is at least this times the smallest one, the axis is logarithmic
FEWEST_SLOTS = 4  # minimum number of slots, so that a single bar does not fill the chart
# Matplotlib searches a letter only in the font families it is given, not in all installed fonts.
FAMILIES_OF_OTHER_SCRIPTS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "WenQuanYi Zen Hei",
    "Hiragino Sans",
    "Apple SD Gothic Neo",
    "Arial Unicode MS",
    "Yu Gothic",
    "Microsoft YaHei",
    "Malgun Gothic",
    "Nirmala UI",
    "Segoe UI Symbol",
)


class Panels(np.ndarray[Any, np.dtype[Any]]):
    """An array of matplotlib axes. A notebook shows it as a picture if it is the result of a cell.

    The figure does not belong to pyplot. So figures do not accumulate in a loop, and none is shown twice. In a script, write
    `axes[0].figure.savefig("release.png")`.
    """

    def _repr_png_(self) -> tuple[bytes, dict[str, int]] | None:
        if not self.size:
            return None
        figure = self.flat[0].figure
        picture = io.BytesIO()
        # Twice the resolution, shown at the normal size: sharp on high-resolution screens.
        figure.savefig(picture, format="png", dpi=2 * figure.dpi, bbox_inches=figure.bbox_inches)
        width, height = figure.get_size_inches() * figure.dpi
        return picture.getvalue(), {"width": round(width), "height": round(height)}


def release_figure(sizes: NDArray[np.int64], k: int, per_column: Mapping[str, float], counted_in: str = "rows") -> Panels:
    """Draw both charts side by side. `counted_in` says what the group sizes count: "rows" or "people"."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    shown, rest = largest_first(per_column)
    height = max(3.4, 1.3 + 0.22 * (len(shown) + bool(rest)))
    figure = Figure(figsize=(WIDTH, height), dpi=100, layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08, wspace=0.04))
    left, right = figure.subplots(1, 2)
    group_sizes(left, sizes, k, counted_in)
    loss_per_column(right, per_column)
    names = (label.get_window_extent().width for label in right.get_yticklabels())
    figure.set_figwidth(WIDTH + max(names, default=0) / figure.dpi)  # the page grows with the names, not the bars shrink
    if height > 4:  # with many columns the right chart is tall; the left chart keeps its shape
        left.set_box_aspect(0.7)
        left.set_anchor("N")
    panels = np.empty(2, object).view(Panels)
    panels[:] = left, right
    return panels


def group_sizes(axes: Axes, sizes: NDArray[np.int64], k: int, counted_in: str = "rows") -> None:
    """Draw how many rows (or people) are in groups of each size. It does not draw the number of groups."""
    from matplotlib.ticker import MaxNLocator

    _frame(axes, _finding(sizes, k), _in_words(sizes, counted_in))
    axes.set_xlabel(f"size of the group ({counted_in})")
    axes.set_ylabel(f"{counted_in} in groups of this size")
    firsts, by_ratio = _first_sizes(sizes, k)
    edges = firsts - 0.5  # bars meet in the middle between two sizes
    persons, _ = np.histogram(sizes, edges, weights=sizes)
    for which, look in ((firsts[:-1] >= k, RIGHT), (firsts[:-1] < k, WRONG)):
        bars = axes.bar(edges[:-1][which], persons[which], np.diff(edges)[which], align="edge", **look)
        for bar in bars:
            bar.set_edgecolor(axes.get_facecolor())  # gives a thin gap between bars, and the colour of the hatch
    axes.set_ylim(0, 1.18 * max(persons.max(initial=0), 1))  # space above the bars for the label of the line
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(_grouped)
    _scale_sizes(axes, edges, by_ratio)
    _draw_k(axes, k)


def loss_per_column(axes: Axes, per_column: Mapping[str, float]) -> None:
    """Draw the share of detail lost in each quasi-identifier, the largest first."""
    shown, rest = largest_first(per_column)
    _frame(axes, "How much detail is lost?", "0 %: unchanged; 100 %: nothing left" if shown else "no columns")
    losses = [100 * loss for _name, loss in shown]
    slots = len(shown) + bool(rest)
    small = 9 if slots <= 15 else 8
    after_bar: dict[str, Any] = {"xytext": (4, 0), "textcoords": "offset points", "va": "center_baseline", "fontsize": small}
    axes.barh(range(len(shown)), losses, height=0.7, **RIGHT)
    for slot, (_name, loss) in enumerate(shown):
        axes.annotate(percent(loss), (100 * loss, slot), **after_bar)
    families = _families()
    names = _drawable([name for name, _loss in shown], families)
    # Without parse_math and usetex, names are plain text: $ and _ have no special meaning.
    as_text: dict[str, Any] = {"parse_math": False, "usetex": False, "fontfamily": families, "fontsize": small}
    axes.set_yticks(range(len(shown)), names, **as_text)
    axes.tick_params(axis="y", length=0)
    if rest:
        axes.annotate(left_out(rest), (0, slots - 1), **after_bar)
    axes.set_ylim(max(slots, FEWEST_SLOTS) - 0.4, -0.6)
    axes.set_xlim(0, 120)  # space for the figure after a full bar
    axes.set_xticks(range(0, 101, 25))
    axes.set_xlabel("detail lost, mean of all rows (%)")


def largest_first(per_column: Mapping[str, float]) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """Return the columns that lose most, and the others that are not shown."""
    ranked = sorted(per_column.items(), key=lambda column: -column[1])
    return ranked[:MOST_COLUMNS], ranked[MOST_COLUMNS:]


def left_out(rest: list[tuple[str, float]]) -> str:
    """Return a text about the columns that are not shown."""
    return f"and {len(rest):,} more, at most {percent(rest[0][1])} each"


def _frame(axes: Axes, title: str, below_it: str) -> None:
    axes.set_title(title, loc="left", fontweight="bold", pad=22)
    axes.annotate(below_it, (0, 1), xycoords="axes fraction", xytext=(0, 7), textcoords="offset points", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def _finding(sizes: NDArray[np.int64], k: int) -> str:
    """Return the title of the chart of group sizes."""
    too_small = int(np.count_nonzero(sizes < k))
    if not too_small:
        return f"No group is smaller than k = {k:,}" if len(sizes) else "There are no groups"
    return f"{too_small:,} {'group is' if too_small == 1 else 'groups are'} smaller than k = {k:,}"


def _in_words(sizes: NDArray[np.int64], counted_in: str) -> str:
    if not len(sizes):
        return "the release has no rows"
    least, most = int(sizes.min()), int(sizes.max())
    text = f"{len(sizes):,} {'group' if len(sizes) == 1 else 'groups'} of {least:,}"
    one = {"rows": "row", "people": "person"}[counted_in]
    return text + (f" to {most:,} {counted_in}" if most > least else f" {one if most == 1 else counted_in}")


def _first_sizes(sizes: NDArray[np.int64], k: int) -> tuple[NDArray[np.int64], bool]:
    """Return the smallest size of each bar, with k among them and the end of the last bar; and whether bars get wider."""
    least, most = max(int(sizes.min(initial=k)), 1), int(sizes.max(initial=k))
    span = most - least + 1
    by_ratio = span > MOST_SINGLE_BARS and most >= WIDE * least
    fewest = 1 if by_ratio or span <= MOST_SINGLE_BARS else math.ceil(span / MOST_SHARED_BARS)
    # The bar at k covers at least two sizes. Bars of one, two and three sizes next to each other would look uneven.
    growth = max((most / least) ** (1 / MOST_SHARED_BARS) - 1, min(2 / k, 1)) if by_ratio else 0

    def width(first: int) -> int:
        return max(fewest, int(growth * first))

    firsts = [k]
    while firsts[-1] <= most:
        firsts.append(firsts[-1] + width(firsts[-1]))
    while firsts[0] > least:
        firsts.insert(0, max(1, firsts[0] - width(firsts[0])))
    return np.array(firsts), by_ratio


def _scale_sizes(axes: Axes, edges: NDArray[np.floating[Any]], by_ratio: bool) -> None:
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    first, last = float(edges[0]), float(edges[-1])
    if by_ratio:
        axes.set_xscale("log")
        axes.set_xlim(first / 1.25, last)
        few_decades = last < 200 * first
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few_decades else (1,), numticks=12))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        margin = max(1, 0.03 * (last - first))
        axes.set_xlim(first - margin, max(last, first + 7) + margin)  # so that a single bar does not fill the chart
        longest = len(_grouped(last))
        axes.xaxis.set_major_locator(MaxNLocator(min(10, 35 // longest), integer=True))
    axes.xaxis.set_major_formatter(_grouped)


def _draw_k(axes: Axes, k: int) -> None:
    """Draw a line between the bars of k - 1 and k. Groups to the left of the line are too small."""
    from matplotlib import rcParams

    axes.axvline(k - 0.5, color=rcParams["text.color"], linestyle="--", linewidth=1.2)
    across = axes.transAxes.inverted().transform(axes.transData.transform((k - 0.5, 0)))[0]
    away, aligned = (5, "left") if across < 0.5 else (-5, "right")  # towards the middle, where there is space
    at: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "xytext": (away, -2), "textcoords": "offset points"}
    axes.annotate(f"k = {k:,}", (k - 0.5, 1), **at, ha=aligned, va="top")


def _grouped(value: float, _position: float = 0) -> str:
    return f"{value:,.0f}" if value >= 1 or value == 0 else ""  # a tick at 0.5 must not be labelled 0


def _families() -> list[str]:
    from matplotlib import rcParams
    from matplotlib.font_manager import fontManager

    installed = set(fontManager.get_font_names())
    return [*rcParams["font.family"], *(family for family in FAMILIES_OF_OTHER_SCRIPTS if family in installed)]


def _drawable(names: Iterable[str], families: Iterable[str]) -> list[str]:
    """Return each name on one line, shortened, with `?` for letters that no font has (matplotlib would warn about each)."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    fonts = [get_font(findfont(FontProperties(family=[family]))) for family in families]

    def letter(sign: str) -> str:
        if unicodedata.category(sign).startswith("C") or "\ufe00" <= sign <= "\ufe0f":
            return ""  # joiners, direction marks and variant selectors are invisible
        return sign if any(font.get_char_index(ord(sign)) for font in fonts) else "?"

    lines = ("".join(map(letter, " ".join(name.split()))) or "(no name)" for name in names)
    # Cut the middle, because long names often have the same beginning and differ at the end.
    tail = MOST_LETTERS // 3
    return [line if len(line) <= MOST_LETTERS else f"{line[: MOST_LETTERS - tail - 1]}…{line[-tail:]}" for line in lines]
