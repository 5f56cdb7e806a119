"""Curves of the expected number of groups with a single value."""

from __future__ import annotations

import pyarrow as pa
import pytest

import kohort as kh
from kohort.report import homogeneity_chart as curves
from tests.homogeneity_tables import fits_the_page


def release_of(rows: int, k: int, *distinct: int) -> kh.Evidence:
    """Audit a table of groups of k rows. Its sensitive columns have these numbers of distinct values."""
    columns = {f"s{number}": [str(n % values) for n in range(rows)] for number, values in enumerate(distinct)}
    table = pa.table({"q": [str(n // k) for n in range(rows)], **columns})
    return kh.audit(table, quasi="q", sensitive=list(columns), k=2)


@pytest.mark.parametrize(
    ("rows", "k", "distinct"), [(12, 4, [3]), (600, 5, [2, 3, 50]), (400, 400, [7]), (20, 1, [1]), (90, 3, [4] * 9)]
)
def test_curves_match_the_formula(rows, k, distinct):
    left, right = panels = release_of(rows, k, *distinct).curves()
    assert fits_the_page(panels)
    values = min(distinct)
    for point, se in zip(*left.lines[0].get_data(), strict=True):
        assert se == pytest.approx(values ** (1 - k) * point / k)
    for point, se in zip(*right.lines[0].get_data(), strict=True):
        assert se == pytest.approx(float(values) ** (1 - point) * rows / point, rel=1e-6)
    assert left.get_xlabel().startswith("n ")
    assert right.get_xlabel().startswith("k ")
    assert len([line for line in left.lines if len(line.get_xdata()) > 2]) == min(len(distinct), 6) + (len(distinct) > 1)


def test_axis_is_logarithmic_for_large_ratios():
    assert [axes.get_yscale() for axes in release_of(12, 4, 3).curves()] == ["linear", "log"]
    assert [axes.get_yscale() for axes in release_of(600, 5, 2, 50).curves()] == ["log", "log"]
    assert [axes.get_yscale() for axes in release_of(12, 4, 1).curves()] == ["linear", "linear"]


def test_negligible_numbers_are_drawn_as_zero():
    left, right = panels = release_of(3000, 1500, 9).curves()
    assert fits_the_page(panels)
    assert "far to the right" in " ".join(text.get_text() for text in right.texts)
    assert left.get_yscale() == "linear"
    assert curves.Line("", [9], {}).se(3000, 1500) == 0
