"""What a notebook shows: charts and HTML that hold for the smallest and the largest release and for every name."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kohort.auditor import Check, Evidence
from kohort.report import notebook
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
CHECKS = (
    Check("k", 5, 7, "pass", "smallest class"),
    Check("wildcard", 5, None, "not run", "too many <classes>"),
    Check("cells", 0, 1234, "fail", "cells & values"),
)
LOSS = SimpleNamespace(leaf=0.125, per_column={"age": 0.25, "sex": 0.0})
VOID = {"br", "hr", "img", "input", "link", "meta"}


def axes() -> Any:
    return Figure().subplots()


def evidence(*checks: Check) -> Evidence:
    return Evidence(rows=12_000, classes=1500, k=7, dm=100_000, checks=checks, columns={"q1": "age"})


def release(loss=LOSS, *, checks=CHECKS[:2], output=None) -> str:
    return notebook.release_html(evidence(*checks), loss, {"age": "numbers, 70 distinct"}, output=output, method="mondrian", k=5)


def words(drawn: Any) -> list[str]:
    return [text.get_text() for text in drawn.texts]


def persons(drawn: Any) -> int:
    return sum(int(bar.get_height()) for bar in drawn.patches)


class Page(HTMLParser):
    """The text of each element, if every element is closed where it should be."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


# --- charts


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_every_person_is_in_a_bar(sizes):
    drawn = axes()
    charts.class_sizes(drawn, sizes, 5)
    assert persons(drawn) == sizes.sum()
    assert len(drawn.patches) <= charts.MOST_SINGLE_BARS
    assert drawn.get_title(loc="left") == "How many persons look alike"
    assert drawn.get_xlabel()
    assert drawn.get_ylabel()
    drawn.figure.draw_without_rendering()


@settings(deadline=None, max_examples=200)
@given(st.lists(st.integers(1, 10**6), max_size=20), st.integers(1, 10**5))
def test_no_bar_stands_on_both_sides_of_k(sizes, k):
    firsts, _by_ratio = charts._first_sizes(np.array(sizes, np.int64), k)
    assert k in firsts
    assert (np.diff(firsts) > 0).all()
    assert firsts[0] >= 1
    assert all(firsts[0] <= size < firsts[-1] for size in sizes)


def test_the_line_of_k():
    drawn = axes()
    charts.class_sizes(drawn, SIZES["typical"], 5)
    assert "k = 5" in words(drawn)
    assert [list(line.get_xdata()) for line in drawn.lines] == [[4.5, 4.5]]


def test_classes_below_k_look_different_without_colour():
    drawn = axes()
    charts.class_sizes(drawn, np.array([3, 5]), 5)
    assert {bar.get_x() + 0.5: bool(bar.get_hatch()) for bar in drawn.patches if bar.get_height()} == {3: True, 5: False}
    assert "2 classes of 3 to 5 persons; 3 persons below k" in words(drawn)


def test_sizes_far_apart_are_compared_by_ratio():
    scales = {}
    for name in ("typical", "middling", "far apart"):
        drawn = axes()
        charts.class_sizes(drawn, SIZES[name], 5 if name != "middling" else 50)
        scales[name] = drawn.get_xscale()
    assert scales == {"typical": "linear", "middling": "linear", "far apart": "log"}


def test_the_largest_loss_comes_first():
    drawn = axes()
    charts.loss_per_column(drawn, {"low": 0.1, "all": 1.0, "none": 0.0})
    assert [label.get_text() for label in drawn.get_yticklabels()] == ["all", "low", "none"]
    assert [bar.get_width() for bar in drawn.patches] == [100, 10, 0]
    assert {"100 %", "10.0 %", "0 %"} <= set(words(drawn))
    assert drawn.yaxis_inverted()
    assert drawn.get_title(loc="left") == "How much of each column is lost"
    assert "%" in drawn.get_xlabel()


def test_many_columns_are_counted_not_drawn():
    drawn = axes()
    charts.loss_per_column(drawn, {f"c{number}": number / 200 for number in range(200)})
    assert len(drawn.patches) == charts.MOST_COLUMNS
    assert "and 170 more, at most 84.5 % each" in words(drawn)


def test_names_are_drawn_as_they_are():
    """Drawn, not only set: matplotlib reads mathematics and warns of missing letters when it draws."""
    panels = charts.release_figure(SIZES["typical"], 5, dict.fromkeys(NAMES, 0.5))
    assert panels._repr_png_() is not None
    labels = panels[1].get_yticklabels()
    texts = [label.get_text() for label in labels]
    assert texts[:5] == ["$x_1^2$", "a_b", "$", "\\frac{1}{2}$", "two lines"]
    assert not any(label.get_parse_math() for label in labels)
    assert all(0 < len(text) <= charts.MOST_LETTERS for text in texts)


def test_long_names_keep_their_ends():
    names = charts._drawable([f"{'question ' * 20}{number}" for number in (1, 2)], ["sans-serif"])
    assert [name[-1] for name in names] == ["1", "2"]


@pytest.mark.parametrize("columns", [0, 1, 200])
@pytest.mark.parametrize("name", ["none", "one", "far apart"])
def test_a_figure_is_shown_and_leaves_nothing_behind(name, columns):
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


def test_a_part_of_a_figure_is_still_shown():
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


def test_reading_the_html_part_loads_no_matplotlib():
    code = "import sys, kohort.report.notebook; print('matplotlib' in sys.modules, 'kohort.methods' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False False\n"


# --- HTML


@pytest.mark.parametrize("checks", [CHECKS, CHECKS[:2], ()])
def test_html_is_well_formed_and_has_no_script(checks):
    for html in (notebook.evidence_html(evidence(*checks)), release(checks=checks)):
        page = Page(html)
        assert not {"script", "style", "link", "img"} & set(page.tags)
        assert set(page.attributes) <= {"style", "class", "scope", "open"}


def test_the_verdict_comes_first_and_in_words():
    assert Page(notebook.evidence_html(evidence(*CHECKS[:2]))).texts[0] == "Audit passed"
    failed = Page(notebook.evidence_html(evidence(*CHECKS))).texts
    assert failed[:2] == ["Audit FAILED", ": cells. Do not publish this table."]
    warned = evidence(*CHECKS[:2], Check("undeclared", 0, 1, "warn", "columns without a role"))
    assert Page(notebook.evidence_html(warned)).texts[0] == "Audit passed with 1 warning"


def test_evidence_tells_its_figures_and_checks():
    texts = Page(notebook.evidence_html(evidence(*CHECKS))).texts
    assert {"k found", "7", "rows", "12,000", "classes", "1,500"} <= set(texts)
    rows = [texts[texts.index(name) - 1 :][:5] for name in ("wildcard", "cells")]
    assert rows == [["not run", "wildcard", "5", "-", "too many <classes>"], ["FAIL", "cells", "0", "1,234", "cells & values"]]


def test_a_release_tells_what_it_cost():
    page = Page(release(output="out/<release>.csv"))
    told = ["7", "12,000", "1,500", "5", "12.5 %", "mondrian", "out/<release>.csv"]
    first = page.texts.index(told[0])
    assert page.texts[first : first + len(told)] == told
    first = page.texts.index("age")
    assert page.texts[first : first + 5] == ["age", "25.0 %", "numbers, 70 distinct", "sex", "0 %"]
    assert "no file" in Page(release()).texts


def test_checks_are_unfolded_where_something_is_wrong():
    assert "open" not in Page(release()).attributes
    assert "open" in Page(release(checks=CHECKS)).attributes


def test_names_are_escaped():
    names = ["<b>bold</b>", "<script>alert(1)</script>", "a&b", '"quoted"', "$x$"]
    html = release(SimpleNamespace(leaf=0.5, per_column=dict.fromkeys(names, 0.5)))
    page = Page(html)
    assert set(names) <= set(page.texts)
    assert not {"b", "script"} & set(page.tags)
    assert "mathjax_ignore" in html


def test_many_columns_are_counted_not_listed():
    texts = Page(release(SimpleNamespace(leaf=0.5, per_column={f"c{number}": number / 200 for number in range(200)}))).texts
    assert "and 170 more, at most 84.5 % each" in texts
    assert "c170" in texts
    assert "c169" not in texts


@pytest.mark.parametrize("share", [-0.1, 0, 1e-9, 0.5, 1, 1.0000001])
def test_bars_stay_in_their_cells(share):
    width = float(notebook._bar(share).rsplit(" ", 1)[1].rstrip("%)"))
    assert 0 <= width <= 100
