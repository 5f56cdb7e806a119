"""The advice on the page of a comparison."""

from __future__ import annotations

from kohort.report.comparison_page import advise
from kohort.report.comparison_rows import Entry
from tests.report.comparison_entries import entry


def test_advice_recommends_the_smallest_loss_and_names_a_faster_method():
    advice = advise([entry("slow", 5, 0.1, 9.0), entry("quick", 5, 0.2, 0.1), entry("bad", 5, 0.9, 0.01)])
    assert advice is not None
    assert advice.method == "slow"
    assert any("quick took 0.10 CPU seconds" in reason and "2.0 times as much detail" in reason for reason in advice.reasons)
    near = advise([entry("one", 5, 0.1, error=0.3), entry("other", 5, 0.103, error=0.2)])
    assert near is not None
    assert near.method == "other"
    assert advise([Entry("one", 5, refused="no")]) is None
    usual = advise([entry("auto", 5, 0.104), entry("merge", 5, 0.1, 0.5)])
    assert usual is not None
    assert usual.method == "auto"  # the default, because it is nearly as good
    partly = advise([entry("one", 5, 0.1), Entry("one", 9, refused="no"), entry("two", 5, 0.2), entry("two", 9, 0.2)])
    assert partly is not None
    assert partly.method == "two"
