"""Charts of a release: every row is counted, nothing is cut off."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kohort.report import release_charts as charts

mpl.use("Agg")

RNG = np.random.default_rng(7)
SIZES = {
    "none": np.array([], np.int64),
    "one": np.array([5]),
    "one large": np.array([100_000]),
    "typical": RNG.integers(5, 10, 1000),
    "equal": np.full(20, 5),
    "middling": RNG.integers(50, 120, 500),
    "far apart": np.minimum(5 * (1 + RNG.pareto(1, 300_000)), 100_000).astype(np.int64),
    "too small": np.array([1, 2, 3, 3, 4]),
    "some too small": np.concatenate([np.arange(1, 50), [5000]]),
}
NAMES = ["$x_1^2$", "a_b", "$", "\\frac{1}{2}$", "two\nlines", "😀 🧬 👩\u200d⚕\ufe0f", "年齢", "%", "", "\x00", "n" * 500]


def axes() -> Any:
    return Figure().subplots()


def words(drawn: Any) -> list[str]:
    return [text.get_text() for text in drawn.texts]


def total(drawn: Any) -> int:
    return sum(int(bar.get_height()) for bar in drawn.patches)


# --- charts


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_every_row_is_in_a_bar(sizes):
    drawn = axes()
    charts.group_sizes(drawn, sizes, 5)
    assert total(drawn) == sizes.sum()
    assert len(drawn.patches) <= charts.MOST_SINGLE_BARS
    assert drawn.get_title(loc="left") in ("No group is smaller than k = 5", "There are no groups") or (sizes < 5).any()
    assert drawn.get_xlabel()
    assert drawn.get_ylabel()
    drawn.figure.draw_without_rendering()


@settings(deadline=None, max_examples=200)
@given(st.lists(st.integers(1, 10**6), max_size=20), st.integers(1, 10**5))
def test_no_bar_covers_sizes_below_and_above_k(sizes, k):
    firsts, _by_ratio = charts._first_sizes(np.array(sizes, np.int64), k)
    assert k in firsts
    assert (np.diff(firsts) > 0).all()
    assert firsts[0] >= 1
    assert all(firsts[0] <= size < firsts[-1] for size in sizes)


def test_line_marks_k():
    drawn = axes()
    charts.group_sizes(drawn, SIZES["typical"], 5)
    assert "k = 5" in words(drawn)
    assert [list(line.get_xdata()) for line in drawn.lines] == [[4.5, 4.5]]


def test_groups_below_k_are_hatched():
    drawn = axes()
    charts.group_sizes(drawn, np.array([3, 5]), 5)
    assert {bar.get_x() + 0.5: bool(bar.get_hatch()) for bar in drawn.patches if bar.get_height()} == {3: True, 5: False}
    assert "2 groups of 3 to 5 rows" in words(drawn)
    assert drawn.get_title(loc="left") == "1 group is smaller than k = 5"
    charts.group_sizes(people := axes(), np.array([1]), 5, "people")
    assert "1 group of 1 person" in words(people)
    assert people.get_xlabel() == "size of the group (people)"


def test_axis_is_logarithmic_for_very_different_sizes():
    scales = {}
    for name in ("typical", "middling", "far apart"):
        drawn = axes()
        charts.group_sizes(drawn, SIZES[name], 5 if name != "middling" else 50)
        scales[name] = drawn.get_xscale()
    assert scales == {"typical": "linear", "middling": "linear", "far apart": "log"}


def test_columns_with_most_loss_come_first():
    drawn = axes()
    charts.loss_per_column(drawn, {"low": 0.1, "all": 1.0, "none": 0.0})
    assert [label.get_text() for label in drawn.get_yticklabels()] == ["all", "low", "none"]
    assert [bar.get_width() for bar in drawn.patches] == [100, 10, 0]
    assert {"100 %", "10.0 %", "0 %"} <= set(words(drawn))
    assert drawn.yaxis_inverted()
    assert drawn.get_title(loc="left") == "How much detail is lost?"
    assert "%" in drawn.get_xlabel()


def test_only_the_columns_with_most_loss_are_drawn():
    drawn = axes()
    charts.loss_per_column(drawn, {f"c{number}": number / 200 for number in range(200)})
    assert len(drawn.patches) == charts.MOST_COLUMNS
    assert "and 170 more, at most 84.5 % each" in words(drawn)


def test_names_are_drawn_as_plain_text():
    """Draw the picture, because matplotlib parses mathematics and warns about missing letters only then."""
    panels = charts.release_figure(SIZES["typical"], 5, dict.fromkeys(NAMES, 0.5))
    assert panels._repr_png_() is not None
    labels = panels[1].get_yticklabels()
    texts = [label.get_text() for label in labels]
    assert texts[:5] == ["$x_1^2$", "a_b", "$", "\\frac{1}{2}$", "two lines"]
    assert not any(label.get_parse_math() for label in labels)
    assert all(0 < len(text) <= charts.MOST_LETTERS for text in texts)


def test_long_names_are_cut_in_the_middle():
    names = charts._drawable([f"{'question ' * 20}{number}" for number in (1, 2)], ["sans-serif"])
    assert [name[-1] for name in names] == ["1", "2"]


@pytest.mark.parametrize("columns", [0, 1, 200])
@pytest.mark.parametrize("name", ["none", "one", "far apart"])
def test_figure_is_shown_and_not_kept_by_pyplot(name, columns):
    import matplotlib.pyplot as plt

    panels = charts.release_figure(SIZES[name], 5, {f"column {number}": 0.5 for number in range(columns)})
    assert isinstance(panels, np.ndarray)
    assert panels.shape == (2,)
    assert all(isinstance(drawn, Axes) for drawn in panels)
    shown = panels._repr_png_()
    assert shown is not None
    png, size = shown
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20], "big") == pytest.approx(2 * size["width"], abs=2)
    assert plt.get_fignums() == []


def test_part_of_the_panels_is_shown():
    panels: Any = charts.release_figure(SIZES["one"], 5, {"age": 0.5})
    assert panels[:1]._repr_png_() is not None
    assert panels[:0]._repr_png_() is None


@pytest.mark.parametrize("name", ["i", "W" * 40])
def test_nothing_is_cut_off(name):
    panels = charts.release_figure(SIZES["some too small"], 5, {name: 1.0, "x": 0.99999})
    figure = panels[0].figure
    figure.draw_without_rendering()
    page = figure.bbox
    for drawn in panels:
        box = drawn.get_tightbbox()
        assert page.x0 <= box.x0 < box.x1 <= page.x1
        assert page.y0 <= box.y0 < box.y1 <= page.y1
