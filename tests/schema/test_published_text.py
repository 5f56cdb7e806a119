"""Published text, parsed as the auditor does."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from kohort.schema import published_text as published
from kohort.schema.published_text import days
from tests import oracles
from tests.published_partitions import partitions, publish, trees

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), database=None)


# --- any box


@QUICK
@given(made=partitions())
def test_published_text_covers_all_values_of_its_group(made):
    columns, _measures, labels = made
    release, _ = publish(columns, labels, hierarchy=trees(columns))
    above = {row[0]: set(row) for row in oracles.TREE}
    for name, column in columns.items():
        for value, text in zip(column, release[name].to_pylist(), strict=True):
            if name in ("tree", "text"):
                allowed = above[value] if name == "tree" and value else {value, "*"}
                assert text in allowed
            elif text is None or value is None:
                assert text in ((None, "*") if value is None else ())
            else:
                span = published.interval(text)
                assert span is not None
                assert span.low <= value <= span.high


@pytest.mark.parametrize(
    "text", ["", "[1 - 0]", "[1-2]", "[1 - 2", "1 - 2", "[ - ]", "nan", "inf", "[1 - *]", "1,5", "\u0661\u0662x"]
)
def test_other_texts_are_not_parsed_as_intervals(text):
    assert published.interval(text) is None


@pytest.mark.parametrize("text", ["[2019-03 - 2018-01]", "2019-13", "[2019 - ]", "2019-3", "march", "[37 - 42]"])
def test_other_texts_are_not_parsed_as_dates(text):
    assert days(text) is None
