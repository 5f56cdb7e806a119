"""The chart of the graph of values and groups."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import kohort as kh
from kohort.errors import RequestError
from kohort.report.graph_chart import MOST_CLASSES
from tests.homogeneity_tables import TABLE_2, fits_the_page, graph_of

ROLES: dict[str, Any] = {"quasi": ["PID", "STATE", "AGE"], "sensitive": "DISEASE"}


ODD = ["<b>&amp;</b>", "a]]>b", "\x00\x1b[31m", "two\r\nlines", "😀", '"quoted"', "(missing)", None, "held by fewer than 2", "￾"]


def overlapping(texts: list[Any]) -> list[tuple[str, str]]:
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    pairs = ((one, other) for place, one in enumerate(boxes) for other in boxes[place + 1 :])
    return [(one, other) for (one, box), (other, below) in pairs if box.overlaps(below)]


@pytest.mark.parametrize("groups", [3, *(pytest.param(many, marks=pytest.mark.slow) for many in (1, MOST_CLASSES))])
@pytest.mark.parametrize("names", [["a"], ["Brain Cancer", "$x_1^2$", "W" * 70, "two\nlines", None], ODD])
def test_texts_fit_the_page_and_do_not_overlap(names, groups):
    rows = 4 * len(names) * groups
    table = pa.table({"zip": [f"E{n % groups}" * 9 for n in range(rows)], "s": (names * (rows // len(names)))})
    panels = kh.audit(table, quasi="zip", sensitive="s", k=2).graph()
    assert fits_the_page(panels)
    assert overlapping(panels[0].texts) == []
    assert panels._repr_png_() is not None


def test_graph_of_table_2_shows_its_weights(tmp_path):
    evidence = kh.audit(pa.table(TABLE_2), **ROLES, k=3, graph=tmp_path / "g.svg", curves=tmp_path / "c.svg")
    (axes,) = evidence.graph()
    texts = [text.get_text() for text in axes.texts]
    assert sorted(text for text in texts if text in ("25 %", "50 %", "100 %")) == ["25 %"] * 4 + ["50 %"] * 4
    assert {"Brain Cancer", "E1", "E3", "DISEASE: no group reveals the value"} <= set(texts)
    for name in ("g", "c"):
        assert ET.parse(tmp_path / f"{name}.svg").getroot().tag.endswith("svg")  # noqa: S314 - we wrote it
    before = (tmp_path / "g.svg").read_bytes()
    assert b"Malaria" in before  # proves that a search for a name in a picture can succeed
    kh.audit(pa.table(TABLE_2), **ROLES, k=3, graph=tmp_path / "g.svg", force=True)
    assert (tmp_path / "g.svg").read_bytes() == before


def test_group_with_a_single_value_is_orange():
    table = pa.table({"q": ["x"] * 4 + ["y"] * 4, "s": ["a"] * 4 + ["a", "b"] * 2})
    (axes,) = kh.audit(table, quasi="q", sensitive="s", k=2).graph()
    colours = Counter(line.get_color() for line in axes.lines if len(line.get_xdata()) == 2 and line.get_linestyle() == "-")
    assert sorted(colours.values()) == [1, 2]
    assert any("orange" in text.get_text() for text in axes.texts)


def test_graph_too_large_for_a_picture_is_an_error(tmp_path):
    table = pa.table({"q": [str(n // 2) for n in range(200)], "s": ["a", "b"] * 100})
    with pytest.raises(RequestError, match=r"2 values and 100 groups .* 20 values and 20 groups.*\.graphml"):
        kh.audit(table, quasi="q", sensitive="s", k=2, graph=tmp_path / "g.svg", curves=tmp_path / "c.svg")
    assert list(tmp_path.iterdir()) == []
    kh.audit(table, quasi="q", sensitive="s", k=2, graph=tmp_path / "g.graphml")
    assert len(graph_of(tmp_path / "g.graphml")[1]) == 200
