"""Curves of homogeneity."""

from __future__ import annotations

import pyarrow as pa
import pytest

import kohort as kh
from kohort.report import homogeneity_chart as curves
from tests.homogeneity_tables import fits_the_page


def release_of(rows: int, k: int, *kinds: int) -> kh.Evidence:
    """An audited table of classes of k, with columns of so many values."""
    columns = {f"s{number}": [str(n % values) for n in range(rows)] for number, values in enumerate(kinds)}
    table = pa.table({"q": [str(n // k) for n in range(rows)], **columns})
    return kh.audit(table, quasi="q", sensitive=list(columns), k=2)


@pytest.mark.parametrize(
    ("rows", "k", "kinds"), [(12, 4, [3]), (600, 5, [2, 3, 50]), (400, 400, [7]), (20, 1, [1]), (90, 3, [4] * 9)]
)
def test_the_curves_are_those_of_the_formula(rows, k, kinds):
    left, right = panels = release_of(rows, k, *kinds).curves()
    assert fits_the_page(panels)
    values = min(kinds)
    for place, se in zip(*left.lines[0].get_data(), strict=True):
        assert se == pytest.approx(values ** (1 - k) * place / k)
    for place, se in zip(*right.lines[0].get_data(), strict=True):
        assert se == pytest.approx(float(values) ** (1 - place) * rows / place, rel=1e-6)
    assert left.get_xlabel().startswith("n ")
    assert right.get_xlabel().startswith("k ")
    assert len([line for line in left.lines if len(line.get_xdata()) > 2]) == min(len(kinds), 6) + (len(kinds) > 1)


def test_log_scales_where_they_help():
    assert [axes.get_yscale() for axes in release_of(12, 4, 3).curves()] == ["linear", "log"]
    assert [axes.get_yscale() for axes in release_of(600, 5, 2, 50).curves()] == ["log", "log"]
    assert [axes.get_yscale() for axes in release_of(12, 4, 1).curves()] == ["linear", "linear"]


def test_an_se_too_small_to_draw_is_not_drawn():
    left, right = panels = release_of(3000, 1500, 9).curves()
    assert fits_the_page(panels)
    assert "far to the right" in " ".join(text.get_text() for text in right.texts)
    assert left.get_yscale() == "linear"
    assert curves.Line("", [9], {}).se(3000, 1500) == 0
