"""Charts of a comparison, as in the papers: each measure by k, loss by time, and the groups on two columns as rectangles."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from kohort.report.comparison_rows import Entry

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The colours of Okabe and Ito can be distinguished with any colour vision, the marks also in black and white. Other methods are
# grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKS = ("o", "s", "^", "D", "v", "P")
GREY = "#b5b5b5"
PALE = (0.0, 0.447, 0.698, 0.15)
Box = tuple[float, float, float, float]
"""Left, right, bottom, top."""
Ticks = Mapping[float, str]

MANY = 200  # from this number of boxes on, thick edges would hide them
WIDE = 15  # if the largest figure is more than this times the smallest one, the axis is logarithmic

MEASURES: tuple[tuple[str, str, Callable[[Entry], float]], ...] = (
    ("How much detail is lost?", "detail lost (%)", lambda entry: 100 * entry.loss["leaf"]),
    ("How long does it take?", "CPU seconds", lambda entry: max(entry.seconds, 0.001)),
    ("How large are the groups?", "mean group size / k (C_AVG)", lambda entry: entry.loss["cavg"]),
    ("How similar are the rows of a group?", "square error of clusters", lambda entry: entry.loss["square_error"]),
    ("How wrong are the answers to queries?", "mean error of an answer (%)", lambda entry: 100 * entry.query_error),
)


def shown_in_colour(entries: Sequence[Entry], first: str) -> list[str]:
    """Return the methods to draw in colour: `first`, then those that lose least. `mondrian` is always among them."""
    losses: dict[str, list[float]] = {}
    for entry in entries:
        if not entry.refused:
            losses.setdefault(entry.method, []).append(entry.loss["leaf"])
    ranked = sorted(losses, key=lambda method: (method != first, sum(losses[method]) / len(losses[method])))
    usual = [method for method in ("mondrian",) if method in losses and method not in ranked[: len(COLOURS)]]
    return [*ranked[: len(COLOURS) - len(usual)], *usual]


def measures_by_k(entries: Sequence[Entry], coloured: Sequence[str]) -> list[tuple[str, str]]:
    """Return (title, SVG) of each measure by k."""
    return [(title, _svg(_lines(entries, coloured, label, value))) for title, label, value in MEASURES]


def models_by_k(entries: Sequence[Entry], coloured: Sequence[str]) -> list[tuple[str, str]]:
    """Return (title, SVG) of each model by k, compared with a model trained on the original and with no model."""
    mined = [entry for entry in entries if entry.models]
    measure = "accuracy" if mined and "accuracy" in mined[0].models["majority"] else "r2"  # type: ignore[index]
    drawn = []
    for model in mined[0].models["models"] if mined else ():  # type: ignore[index]
        label = "correct predictions (%)" if measure == "accuracy" else "R2"
        figure = _lines(mined, coloured, label, partial(_score, model=model, data="release", measure=measure))
        axes, is_upright = figure.axes[0], len({entry.k for entry in mined}) > 1
        original = sum(_score(entry, model, "original", measure) for entry in mined) / len(mined)
        without = sum(_shown((entry.models or {})["majority"], measure) for entry in mined) / len(mined)
        for at, text in ((original, "trained on the original"), (without, "no model")):
            (axes.axhline if is_upright else axes.axvline)(at, color="#555555", linewidth=1, linestyle=":", zorder=0)
            place, where = ((0, at), axes.get_yaxis_transform()) if is_upright else ((at, 1), axes.get_xaxis_transform())
            side = "left" if at == max(original, without) else "right"  # so that the labels of close lines do not overlap
            look: dict[str, Any] = {"fontsize": 7, "color": "#555555"} | ({} if is_upright else {"ha": side})
            axes.annotate(text, place, xycoords=where, xytext=(2, 2), textcoords="offset points", **look)
        axes.autoscale(axis="y" if is_upright else "x")  # not from 0: the interesting differences are a few per cent
        drawn.append((f"How well does a model predict? ({model}; the scale does not start at 0)", _svg(figure)))
    return drawn


def _score(entry: Entry, model: str, data: str, measure: str) -> float:
    return _shown((entry.models or {})["models"][model][data], measure)


def _shown(scores: Mapping[str, Any], measure: str) -> float:
    """Return the mean of a measure as drawn: accuracy in per cent."""
    return float(scores[measure]["mean"]) * (100 if measure == "accuracy" else 1)


def _lines(entries: Sequence[Entry], coloured: Sequence[str], label: str, value: Callable[[Entry], float]) -> Figure:
    ks = sorted({entry.k for entry in entries})
    if len(ks) == 1:
        return _dots([entry for entry in entries if not entry.refused], coloured, label, value)
    figure, axes = _new(6.4, 3.4)
    place = {k: at for at, k in enumerate(ks)}  # evenly spaced, so that large and small steps of k are readable
    for method in dict.fromkeys(entry.method for entry in entries):
        points = [(place[entry.k], value(entry)) for entry in entries if entry.method == method and not entry.refused]
        points = [point for point in points if math.isfinite(point[1])]
        if points:
            axes.plot(*zip(*sorted(points), strict=True), **_look(method, coloured))
    axes.set_xticks(range(len(ks)), [f"{k:,}" for k in ks])
    axes.set_xlabel("k (smallest group allowed)")
    axes.set_ylabel(label)
    _scale(axes, [value(entry) for entry in entries if not entry.refused])
    _legend(axes, entries, coloured)
    return figure


def _dots(entries: Sequence[Entry], coloured: Sequence[str], label: str, value: Callable[[Entry], float]) -> Figure:
    """Draw one dot for each method on a line of its own, the smallest figure on top. Used if there is only one k."""
    known = sorted((entry for entry in entries if math.isfinite(value(entry))), key=value, reverse=True)
    figure, axes = _new(6.4, 0.9 + 0.22 * len(known))
    for height, entry in enumerate(known):
        axes.plot(value(entry), height, **{**_look(entry.method, coloured), "linestyle": "", "markersize": 6})
    axes.set_yticks(range(len(known)), [entry.method for entry in known])
    axes.tick_params(axis="y", labelsize=8, length=0)
    axes.margins(y=0.8 / max(len(known), 1))
    axes.set_xlabel(label)
    _scale(axes, [value(entry) for entry in known], "x")
    return figure


def _scale(axes: Axes, figures: Sequence[float], along: str = "y") -> None:
    """Use a logarithmic axis if the largest figure is much larger than the smallest one, otherwise start at 0."""
    known = [figure for figure in figures if math.isfinite(figure)]
    if known and min(known) > 0 and max(known) > WIDE * min(known):
        axes.set(**{f"{along}scale": "log"})
        _plain_ticks(axes, along)
    else:
        axes.set(**{f"{along}lim": (0, None)})


def _plain_ticks(axes: Axes, along: str) -> None:
    """Label the ticks of a logarithmic axis as 0.1 and 1,000, without powers of 10."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis = axes.yaxis if along == "y" else axes.xaxis
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1,) if high > 100 * low else (1, 2, 5), numticks=12))
    axis.set_major_formatter(lambda value, _position: f"{value:,.12g}")
    axis.set_minor_formatter(NullFormatter())


def loss_by_time(entries: Sequence[Entry], coloured: Sequence[str], k: int) -> str:
    """Draw every method at one k, with the front: the methods that no other method beats in both loss and time."""
    figure, axes = _new(6.4, 3.8)
    here = [entry for entry in entries if entry.k == k and not entry.refused]
    for entry in here:
        look = {**_look(entry.method, coloured), "linestyle": "", "markersize": 6}
        axes.plot(max(entry.seconds, 0.001), 100 * entry.loss["leaf"], **look)
    best = front(here)
    if len(best) > 1:
        axes.plot(
            [max(entry.seconds, 0.001) for entry in best], [100 * entry.loss["leaf"] for entry in best],
            color="#555555", linewidth=1, linestyle="--", zorder=0,
        )  # fmt: skip
    for entry in best:
        if entry.method in coloured:  # it is in the legend
            continue
        at = max(entry.seconds, 0.001), 100 * entry.loss["leaf"]
        axes.annotate(entry.method, at, xytext=(5, 5), textcoords="offset points", fontsize=8)
    axes.set_xscale("log")
    _plain_ticks(axes, "x")
    _scale(axes, [100 * entry.loss["leaf"] for entry in here])
    axes.set_xlabel("CPU seconds")
    axes.set_ylabel("detail lost (%)")
    _legend(axes, here, coloured)
    return _svg(figure)


def front(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries that no other one beats in both loss and time, the fastest first."""
    best: list[Entry] = []
    for entry in sorted(entries, key=lambda one: (one.seconds, one.loss["leaf"])):
        if not best or entry.loss["leaf"] < best[-1].loss["leaf"]:
            best.append(entry)
    return best


def boxes(drawn: Mapping[str, Sequence[Box]], names: tuple[str, str], ticks: tuple[Ticks, Ticks]) -> str:
    """Draw the groups of several methods on two columns as rectangles, one picture for each method.

    Like figure 1 of Murthy, Srinivas.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    figure = Figure(figsize=(3.4 * len(drawn), 3.4), layout="constrained")
    for number, (method, rectangles) in enumerate(drawn.items()):
        axes = figure.add_subplot(1, len(drawn), number + 1)
        for left, right, bottom, top in rectangles:
            axes.add_patch(
                Rectangle(
                    (left - 0.4, bottom - 0.4), right - left + 0.8, top - bottom + 0.8,
                    facecolor=PALE, edgecolor=COLOURS[0], linewidth=0.7 if len(rectangles) < MANY else 0.25,
                )
            )  # fmt: skip
        axes.set_xlim(min(box[0] for box in rectangles) - 1, max(box[1] for box in rectangles) + 1)
        axes.set_ylim(min(box[2] for box in rectangles) - 1, max(box[3] for box in rectangles) + 1)
        many = f"{len(rectangles):,} groups" if len(rectangles) > 1 else "1 group"
        axes.set_title(f"{method}: {many}", fontsize=9, loc="left")
        for axis, tick in zip((axes.xaxis, axes.yaxis), ticks, strict=True):
            axis.set_ticks(list(tick), list(tick.values()))
        axes.tick_params(labelsize=7)
        axes.set_xlabel(names[0], fontsize=8, parse_math=False)
        if number == 0:
            axes.set_ylabel(names[1], fontsize=8, parse_math=False)
        axes.spines[["top", "right"]].set_visible(False)
    return _svg(figure)


def _new(width: float, height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    return figure, axes


def _look(method: str, coloured: Sequence[str]) -> dict[str, Any]:
    if method not in coloured:
        return {"color": GREY, "linewidth": 1, "marker": ".", "markersize": 3, "zorder": 1}
    at = list(coloured).index(method)
    look: dict[str, Any] = {"color": COLOURS[at], "marker": MARKS[at], "markersize": 5, "zorder": 3, "label": method}
    return {**look, "linewidth": 2.2 if at == 0 else 1.4}


def _legend(axes: Axes, entries: Sequence[Entry], coloured: Sequence[str]) -> None:
    others = {entry.method for entry in entries if not entry.refused} - set(coloured)
    if others:
        axes.plot(
            [],
            [],
            color=GREY,
            linewidth=1,
            marker=".",
            markersize=3,
            label="1 other method" if len(others) == 1 else f"{len(others)} other methods",
        )
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8, frameon=False)


def _svg(figure: Figure) -> str:
    """Return the picture as SVG text for an HTML page, without date and creator."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :]
