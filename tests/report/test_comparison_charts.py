"""Charts of a comparison."""

from __future__ import annotations

from kohort.report.comparison_charts import front, shown_in_colour
from tests.report.comparison_entries import entry


def test_front_has_the_methods_that_no_other_beats():
    entries = [entry("a", 5, 0.5, 1), entry("b", 5, 0.3, 2), entry("c", 5, 0.4, 3), entry("d", 5, 0.1, 9)]
    assert [one.method for one in front(entries)] == ["a", "b", "d"]
    assert shown_in_colour(entries, "c")[0] == "c"
